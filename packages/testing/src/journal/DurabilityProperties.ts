/** Concurrency, closing, reopening, and storage that fails for a while. */
import { Journal } from "@holdfast/core"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import {
  batch,
  freshSession,
  holds,
  type JournalProperty,
  type JournalUnderTest,
  property,
  readAll,
  same,
  tagOf,
  withJournal,
  writing
} from "./Property.ts"

const concurrency = (test: JournalUnderTest): ReadonlyArray<JournalProperty> => [
  withJournal("many sessions are written at once, each in its own order", test, (journal) =>
    Effect.gen(function*() {
      const sessions = Array.from({ length: 16 }, () => freshSession())
      yield* Effect.forEach(sessions, (session) =>
        writing(journal, session, (writer) =>
          Effect.forEach(
            Array.from({ length: 25 }, (_, i) => i),
            (i) => Effect.andThen(writer.append(batch(session, i * 2, 2)), i % 3 === 0 ? Effect.yieldNow : Effect.void)
          )), {
        concurrency: "unbounded"
      })
      for (const session of sessions) {
        yield* same(yield* readAll(journal, session), batch(session, 0, 50), "one session of many")
      }
    })),

  withJournal("a failing session does not take the others with it", test, (journal) =>
    Effect.gen(function*() {
      const sessions = Array.from({ length: 8 }, () => freshSession())
      const tags = yield* Effect.forEach(sessions, (session, i) =>
        tagOf(writing(journal, session, (writer) =>
          writer.append(batch(session, i % 2 === 0 ? 0 : 5, 3)))), {
        concurrency: "unbounded"
      })
      for (const [i, session] of sessions.entries()) {
        const good = i % 2 === 0
        yield* same(tags[i], good ? undefined : "JournalConflict", `session ${i}`)
        yield* same(yield* readAll(journal, session), good ? batch(session, 0, 3) : [], `the log of session ${i}`)
      }
    })),

  withJournal(
    "a reader sees a whole prefix with all that was acknowledged before it began",
    test,
    (journal) =>
      Effect.gen(function*() {
        const session = freshSession()
        const progress = { acknowledged: 0 }
        const write = writing(journal, session, (writer) =>
          Effect.forEach(
            Array.from({ length: 100 }, (_, i) => i),
            (i) =>
              writer.append(batch(session, i * 3, 3)).pipe(
                Effect.andThen(Effect.sync(() => void (progress.acknowledged = i * 3 + 3))),
                Effect.andThen(Effect.yieldNow)
              ),
            { discard: true }
          ))
        const observe = Effect.gen(function*() {
          while (progress.acknowledged < 300) {
            const before = progress.acknowledged
            const events = yield* readAll(journal, session)
            yield* same(events, batch(session, 0, events.length), "a prefix")
            yield* holds(events.length >= before, `${events.length} events read, ${before} were acknowledged`)
            yield* same(events.length % 3, 0, "no half batch is ever seen")
            yield* Effect.yieldNow
          }
        })
        yield* Effect.all([write, observe], { concurrency: "unbounded", discard: true })
        yield* same((yield* readAll(journal, session)).length, 300, "all of them")
      })
  )
]

const closing = (test: JournalUnderTest): ReadonlyArray<JournalProperty> => [
  property(
    "closing waits for the appends under way, and later ones fail",
    Effect.gen(function*() {
      const session = freshSession()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(test.layer, scope)
      const journal = yield* Effect.provide(Journal, context)
      const writer = yield* Scope.provide(journal.writer(session), scope)
      yield* writer.append(batch(session, 0))
      const other = freshSession()
      const pending = yield* Effect.forkChild(
        Effect.exit(writing(journal, other, (second) => second.append(batch(other, 0, 2)))),
        { startImmediately: true }
      )
      yield* Scope.close(scope, Exit.void)
      const late = yield* tagOf(writer.append(batch(session, 1)))
      if (test.persistent === false) return
      yield* holds(late === "JournalUnavailable" || late === "JournalConflict", "an append after the close fails")
      const ended = yield* Fiber.join(pending)
      const [mine, theirs] = yield* Effect.provide(
        Effect.flatMap(Journal, (again) => Effect.all([readAll(again, session), readAll(again, other)])),
        test.layer
      )
      yield* same(mine, batch(session, 0), "what was acknowledged before the close")
      yield* same(theirs, Exit.isSuccess(ended) ? batch(other, 0, 2) : [], "stored if and only if it was acknowledged")
    })
  )
]

const reopening = (test: JournalUnderTest): ReadonlyArray<JournalProperty> =>
  test.persistent === false ? [] : [
    property(
      "what was acknowledged is there when the journal is opened again, and goes on",
      Effect.gen(function*() {
        const session = freshSession()
        for (let round = 0; round < 4; round++) {
          yield* Effect.provide(
            Effect.gen(function*() {
              const journal = yield* Journal
              yield* same(yield* readAll(journal, session), batch(session, 0, round * 5), `before round ${round}`)
              yield* writing(journal, session, (writer) =>
                Effect.andThen(
                  writer.append(batch(session, round * 5, 2)),
                  writer.append(batch(session, round * 5 + 2, 3))
                ))
              const summary = (yield* journal.list).find((entry) => entry.session === session)
              yield* same(summary?.events, round * 5 + 5, "the listed length")
            }),
            test.layer
          )
        }
      })
    )
  ]

const faults = (test: JournalUnderTest): ReadonlyArray<JournalProperty> => {
  const { fault } = test
  return fault === undefined ? [] : [
    withJournal(
      "failing storage is JournalUnavailable, and nothing acknowledged is lost to it",
      test,
      (journal) =>
        Effect.gen(function*() {
          const session = freshSession()
          yield* writing(journal, session, (writer) =>
            Effect.gen(function*() {
              yield* writer.append(batch(session, 0, 2))
              const error = yield* Effect.acquireUseRelease(
                fault.begin,
                () => Effect.flip(writer.append(batch(session, 2, 3))),
                () => Effect.orDie(fault.end)
              )
              yield* same(error._tag, "JournalUnavailable", "the append while the storage fails")
              const tail = yield* readAll(journal, session)
              yield* holds(tail.length === 2 || tail.length === 5, "the batch took whole or not at all")
              const unsure = error._tag === "JournalUnavailable" && error.unsure
              yield* holds(tail.length === 2 || unsure, "a batch that may have taken is reported as unsure")
              yield* same(tail, batch(session, 0, tail.length), "what was acknowledged is there")
              yield* writer.append(batch(session, tail.length, 2))
              yield* same(yield* readAll(journal, session), batch(session, 0, tail.length + 2), "and it goes on")
            }))
        })
    )
  ]
}

export const durabilityProperties = (test: JournalUnderTest): ReadonlyArray<JournalProperty> => [
  ...concurrency(test),
  ...closing(test),
  ...reopening(test),
  ...faults(test)
]
