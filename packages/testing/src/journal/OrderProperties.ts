/** Order, atomicity, and who may write. */
import { Effect } from "effect"
import {
  batch,
  freshSession,
  holds,
  type JournalProperty,
  type JournalUnderTest,
  readAll,
  same,
  tagOf,
  withJournal,
  writing
} from "./Property.ts"

export const orderProperties = (test: JournalUnderTest): ReadonlyArray<JournalProperty> => [
  withJournal("events are read in the order in which they were appended", test, (journal) =>
    Effect.gen(function*() {
      const session = freshSession()
      yield* writing(journal, session, (writer) =>
        Effect.gen(function*() {
          yield* writer.append(batch(session, 0))
          yield* writer.append(batch(session, 1, 5))
          yield* writer.append(batch(session, 6, 2))
        }))
      yield* same(yield* readAll(journal, session), batch(session, 0, 8), "what was read is what was appended")
    })),

  withJournal("an empty batch changes nothing", test, (journal) =>
    Effect.gen(function*() {
      const session = freshSession()
      yield* writing(journal, session, (writer) => writer.append([]))
      yield* same(yield* readAll(journal, session), [], "the session has no events")
      const listed = (yield* journal.list).some((summary) => summary.session === session)
      yield* holds(!listed, "a session without events is not listed")
    })),

  withJournal(
    "an append at any other seq than the next is a conflict and writes nothing",
    test,
    (journal) =>
      Effect.gen(function*() {
        const session = freshSession()
        const refused = (seq: number, count: number) =>
          writing(journal, session, (writer) =>
            Effect.gen(function*() {
              const tag = yield* tagOf(writer.append(batch(session, seq, count)))
              yield* same(tag, "JournalConflict", `${count} events at ${seq}`)
            }))
        yield* refused(1, 1)
        yield* refused(7, 3)
        yield* same(yield* readAll(journal, session), [], "nothing was written to the empty log")
        yield* writing(journal, session, (writer) => writer.append(batch(session, 0, 3)))
        yield* refused(0, 1)
        yield* refused(2, 2)
        yield* refused(4, 2)
        yield* same(yield* readAll(journal, session), batch(session, 0, 3), "the log is as it was")
        yield* writing(journal, session, (writer) => writer.append(batch(session, 3)))
        yield* same(yield* readAll(journal, session), batch(session, 0, 4), "the next event is still welcome")
      })
  ),

  withJournal("a batch with a gap or a repetition inside is refused whole", test, (journal) =>
    Effect.gen(function*() {
      const session = freshSession()
      const [a, b, c] = batch(session, 0, 3)
      for (const wrong of [[a!, c!], [a!, a!], [a!, c!, b!]]) {
        const tag = yield* tagOf(writing(journal, session, (writer) => writer.append(wrong)))
        yield* same(tag, "JournalConflict", `the seqs ${wrong.map((event) => event.seq).join(", ")}`)
      }
      yield* same(yield* readAll(journal, session), [], "nothing was written")
    })),

  withJournal(
    "of two writers of a session one gets JournalConflict, and the log stays whole",
    test,
    (journal) =>
      Effect.gen(function*() {
        const session = freshSession()
        const second = yield* writing(journal, session, (first) =>
          Effect.gen(function*() {
            yield* first.append(batch(session, 0, 2, () => "first"))
            const tag = yield* tagOf(
              writing(journal, session, (other) => other.append(batch(session, 1, 2, () => "second")))
            )
            yield* first.append(batch(session, 2, 1, () => "first"))
            return tag
          }))
        yield* same(second, "JournalConflict", "the second writer is told, when it opens or when it appends")
        yield* same(yield* readAll(journal, session), batch(session, 0, 3, () => "first"), "only the first has written")
      })
  ),

  withJournal("of many appends at the same place exactly one takes", test, (journal) =>
    Effect.gen(function*() {
      const session = freshSession()
      const tags = yield* writing(journal, session, (writer) =>
        Effect.forEach(
          Array.from({ length: 12 }, (_, i) => i),
          (i) => tagOf(writer.append(batch(session, 0, 2, () => i))),
          { concurrency: "unbounded" }
        ))
      const winners = tags.flatMap((tag, i) => tag === undefined ? [i] : [])
      yield* same(winners.length, 1, "one append succeeds")
      yield* holds(tags.every((tag) => tag === undefined || tag === "JournalConflict"), "the others are conflicts")
      const [winner] = winners
      yield* same(yield* readAll(journal, session), batch(session, 0, 2, () => winner!), "the winner's batch is stored")
    })),

  withJournal("an interrupted append took whole or not at all", test, (journal) =>
    Effect.gen(function*() {
      const session = freshSession()
      yield* writing(journal, session, (writer) =>
        Effect.gen(function*() {
          for (let round = 0; round < 20; round++) {
            const length = (yield* readAll(journal, session)).length
            const append = writer.append(batch(session, length, 3))
            yield* Effect.raceFirst(Effect.ignore(append), Effect.yieldNow)
            // What an interrupted append did is only known from the log; an append that is still under way has the right
            // of way, so a conflict here means that it took.
            yield* Effect.ignore(writer.append(batch(session, length, 3)))
          }
        }))
      const events = yield* readAll(journal, session)
      yield* same(events, batch(session, 0, events.length), "the log has no gaps")
      yield* same(events.length % 3, 0, "no batch was torn")
    })),

  withJournal("a session is written on by the next writer", test, (journal) =>
    Effect.gen(function*() {
      const session = freshSession()
      for (let i = 0; i < 5; i++) {
        yield* writing(journal, session, (writer) => writer.append(batch(session, i * 2, 2)))
      }
      yield* same(yield* readAll(journal, session), batch(session, 0, 10), "five writers, one log")
    }))
]
