/** Listing, deleting and paging. */
import type { SessionId } from "@holdfast/core"
import { Effect, Stream } from "effect"
import {
  batch,
  freshSession,
  type JournalProperty,
  type JournalUnderTest,
  readAll,
  same,
  tagOf,
  withJournal,
  writing
} from "./Property.ts"

export const catalogueProperties = (test: JournalUnderTest): ReadonlyArray<JournalProperty> => [
  withJournal(
    "a session that does not exist has no events, and deleting it does nothing",
    test,
    (journal) =>
      Effect.gen(function*() {
        const session = freshSession()
        yield* same(yield* readAll(journal, session), [], "no events")
        yield* journal.remove(session)
      })
  ),

  withJournal("a read begins at any seq", test, (journal) =>
    Effect.gen(function*() {
      const session = freshSession()
      const all = batch(session, 0, 1200)
      yield* writing(journal, session, (writer) =>
        Effect.andThen(writer.append(all.slice(0, 700)), writer.append(all.slice(700))))
      for (const from of [0, 1, 255, 256, 257, 511, 512, 513, 699, 700, 1199, 1200, 5000]) {
        yield* same(yield* readAll(journal, session, from), all.slice(from), `from ${from}`)
      }
      const few = yield* Stream.runCollect(Stream.take(journal.read(session, 10), 3))
      yield* same(few, all.slice(10, 13), "a reader may stop early")
    })),

  withJournal(
    "sessions are listed with their lengths and times, the one written to last first",
    test,
    (journal) =>
      Effect.gen(function*() {
        const [a, b, c] = [freshSession("a"), freshSession("b"), freshSession("c")]
        yield* writing(journal, a, (writer) => writer.append(batch(a, 0, 2)))
        yield* writing(journal, b, (writer) => writer.append(batch(b, 0, 7)))
        yield* writing(journal, c, (writer) => writer.append(batch(c, 0, 4)))
        yield* writing(journal, a, (writer) => writer.append(batch(a, 2, 20)))
        const mine = (yield* journal.list).filter(({ session }) => [a, b, c].includes(session))
        const summary = (session: SessionId, events: number) => {
          const [first, last] = [batch(session, 0)[0]!, batch(session, events - 1)[0]!]
          return { session, events, createdAt: first.at, updatedAt: last.at }
        }
        const found = [...mine].sort((x, y) => x.session.at(-1)! < y.session.at(-1)! ? -1 : 1)
        yield* same(found, [summary(a, 22), summary(b, 7), summary(c, 4)], "lengths and times")
        yield* same(mine[0]?.session, a, "the last written first")
      })
  ),

  withJournal(
    "a deleted session is gone, the others stay, and its name is free",
    test,
    (journal) =>
      Effect.gen(function*() {
        const [gone, kept] = [freshSession(), freshSession()]
        yield* writing(journal, gone, (writer) => writer.append(batch(gone, 0, 3)))
        yield* writing(journal, kept, (writer) => writer.append(batch(kept, 0, 3)))
        yield* journal.remove(gone)
        yield* same(yield* readAll(journal, gone), [], "no events")
        yield* same((yield* journal.list).some(({ session }) => session === gone), false, "it is not listed")
        yield* same(yield* readAll(journal, kept), batch(kept, 0, 3), "the other session is as it was")
        const tag = yield* tagOf(writing(journal, gone, (writer) => writer.append(batch(gone, 3))))
        yield* same(tag, "JournalConflict", "nobody goes on where it ended")
        yield* writing(journal, gone, (writer) => writer.append(batch(gone, 0, 2, () => "again")))
        yield* same(yield* readAll(journal, gone), batch(gone, 0, 2, () => "again"), "it begins again")
      })
  )
]
