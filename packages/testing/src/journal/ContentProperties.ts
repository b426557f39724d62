/** That every event comes back as it was. */
import { SessionId, type StoredEvent } from "@holdfast/core"
import { Effect } from "effect"
import {
  batch,
  freshSession,
  type JournalProperty,
  type JournalUnderTest,
  readAll,
  same,
  withJournal,
  writing
} from "./Property.ts"

/** Any string of JavaScript is legal in an event, also one that UTF-8 or a database's text type cannot hold as it is. */
const texts = {
  empty: "",
  ascii: "\"quotes\" \\ backslash / slash ' ; -- $1 ? %s",
  controls: "\u0001\u0008\t\n\r\u001f\u007f\u0085",
  nul: "a\0b\0",
  astral: "\u{1f680} \u{10ffff} \u{1d54f}",
  combining: "e\u0301 \u1100\u1161\u11a8 \u202eright to left\u202c \ufeff",
  separators: "\u2028\u2029",
  loneHigh: "a\ud83d",
  loneLow: "\ude80b",
  swapped: "\ude80\ud83d",
  replacement: "\ufffd",
  jsonLike: "\"a\"",
  noncharacter: "\uffff\ufdd0"
}

const values: StoredEvent["data"] = {
  texts,
  numbers: [0, 1, -1, 0.1, 1e308, 5e-324, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 1e21],
  others: [null, true, false, [], {}, [[[]]], ""],
  keys: { "": 1, "a\0b": 2, "\ud800": 3, "2": 4, "1": 5, constructor: 6 }
}

const roundTrip = (test: JournalUnderTest, name: string, events: (session: SessionId) => ReadonlyArray<StoredEvent>) =>
  withJournal(name, test, (journal) =>
    Effect.gen(function*() {
      const session = freshSession()
      const expected = events(session)
      yield* writing(journal, session, (writer) => writer.append(expected))
      const found = yield* readAll(journal, session)
      yield* same(found.length, expected.length, "as many events")
      for (let i = 0; i < expected.length; i++) yield* same(found[i], expected[i], `event ${i}`)
    }))

export const contentProperties = (test: JournalUnderTest): ReadonlyArray<JournalProperty> => [
  roundTrip(
    test,
    "payloads of every kind of JSON come back unchanged",
    (session) => batch(session, 0, 1, () => values)
  ),

  roundTrip(
    test,
    "any string comes back unchanged, with NUL and lone surrogates, as a payload and as a type",
    (session) =>
      Object.values(texts).map((text, seq) => ({ session, seq, at: seq, type: `x-${text}`, version: 1, data: text }))
  ),

  roundTrip(
    test,
    "a key named __proto__ is a key",
    (session) => batch(session, 0, 1, () => JSON.parse("{\"__proto__\":{\"a\":1}}"))
  ),

  roundTrip(test, "version, ignorable and time come back unchanged, also when the clock goes back", (session) => [
    { session, seq: 0, at: 1_700_000_000_000, type: "x-a", version: 1, data: 0 },
    { session, seq: 1, at: 1_600_000_000_000, type: "x-a", version: 7, ignorable: true, data: 1 },
    { session, seq: 2, at: 0, type: "x-a", version: 0, data: 2 }
  ]),

  roundTrip(
    test,
    "events of 5 MB come back unchanged",
    (session) => batch(session, 0, 3, (seq) => seq === 1 ? "small" : `${seq}${"\u{1f680}0123456789ab".repeat(327_680)}`)
  ),

  withJournal(
    "sessions with similar and with strange names are different sessions",
    test,
    (journal) =>
      Effect.gen(function*() {
        const base = freshSession()
        const endings = [
          "",
          " ",
          ".",
          "/",
          "/../x",
          "\\",
          "A",
          "a",
          "%2F",
          "%",
          "\0",
          "\ud83d",
          "\ude80",
          "\ufffd",
          "\u00e9",
          "e\u0301",
          "*?:<>|",
          "\n",
          "-".repeat(1000)
        ]
        const ids = endings.map((ending) => SessionId.make(base + ending))
        for (const [i, id] of ids.entries()) {
          yield* writing(journal, id, (writer) => writer.append(batch(id, 0, 1, () => i)))
        }
        for (const [i, id] of ids.entries()) {
          yield* same(yield* readAll(journal, id), batch(id, 0, 1, () => i), `the session ${JSON.stringify(id)}`)
        }
        const listed = (yield* journal.list).filter(({ session }) => session.startsWith(base))
        yield* same(
          new Set(listed.map(({ session }) => session)),
          new Set(ids),
          "all of them are listed by their names"
        )
        yield* Effect.forEach(ids, (id) => journal.remove(id))
      })
  )
]
