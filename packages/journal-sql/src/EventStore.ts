/** What a database must be able to do, and the journal that is built on it. */
import { type Journal, JournalCorrupt, JournalUnavailable, type SessionId } from "@holdfast/core"
import type { SessionSummary, StoredEvent } from "@holdfast/core"
import { Effect, Option, type Scope, Stream } from "effect"
import { type Batch, type Commits, GroupCommit } from "./GroupCommit.ts"
import { Text } from "./Text.ts"

/** The most events, and about the most bytes of payload, that a page of a read holds in memory. */
export const PAGE = { events: 256, bytes: 1024 * 1024 } as const

/** A row of the events table. */
export interface EventRow {
  readonly seq: number
  readonly at: number
  readonly type: string
  readonly version: number
  readonly ignorable: boolean
  readonly data: string
}

/** A session as it stood when it was looked up: the database's key of it, and its number of events. */
export interface Extent {
  readonly id: number
  readonly length: number
}

export interface EventStore extends Commits {
  /** `session` is database text here, as everywhere in a store. */
  readonly extent: (session: string) => Effect.Effect<Extent | undefined, JournalUnavailable>
  /** At least one event from `from` on, if there is one before `end`, and at most about a {@link PAGE}. */
  readonly page: (id: number, from: number, end: number) => Effect.Effect<ReadonlyArray<EventRow>, JournalUnavailable>
  readonly list: Effect.Effect<ReadonlyArray<SessionSummary>, JournalUnavailable>
  readonly remove: (session: string) => Effect.Effect<void, JournalUnavailable>
}

/** Why this batch could never be a continuation of a log, or `undefined`. */
export const gap = ({ events }: Batch): string | undefined => {
  const first = events[0]!.seq
  const wrong = events.findIndex((event, i) => event.seq !== first + i)
  return wrong < 0 ? undefined : `the batch has event ${events[wrong]!.seq} where ${first + wrong} belongs`
}

const decode = (session: SessionId, row: EventRow): StoredEvent => ({
  session,
  seq: row.seq,
  at: row.at,
  type: Text.decode(row.type),
  version: row.version,
  ...(row.ignorable ? { ignorable: true as const } : {}),
  data: JSON.parse(row.data)
})

/** The events of a page up to the first that is missing or cannot be read. */
const decodePage = (session: SessionId, from: number, rows: ReadonlyArray<EventRow>) => {
  const events: Array<StoredEvent> = []
  for (const row of rows) {
    const seq = from + events.length
    if (row.seq !== seq) return { events, fault: { seq, type: row.type, detail: `event ${seq} is missing` } }
    try {
      events.push(decode(session, row))
    } catch {
      return { events, fault: { seq, type: row.type, detail: "its payload is not JSON" } }
    }
  }
  return { events, fault: undefined }
}

/** The log as it stood when the read began: what is appended later is not part of it. */
const readFrom = (store: EventStore, session: SessionId, from: number) =>
  Stream.unwrap(Effect.map(store.extent(Text.encode(session)), (extent) => {
    if (extent === undefined || from >= extent.length) return Stream.empty
    const { id, length: end } = extent
    type Next = number | JournalCorrupt | JournalUnavailable
    return Stream.paginate(from as Next, (next) => {
      if (typeof next !== "number") return Effect.fail(next)
      return Effect.flatMap(store.page(id, next, end), (rows) => {
        const { events, fault } = decodePage(session, next, rows)
        const reached = next + events.length
        const done = (following: Option.Option<Next>) => Effect.succeed([events, following] as const)
        if (fault === undefined && rows.length > 0) return done(reached === end ? Option.none() : Option.some(reached))
        // Missing rows are damage only if the session is still the one that was asked for.
        return Effect.flatMap(store.extent(Text.encode(session)), (now) =>
          done(Option.some(
            now?.id === id
              ? new JournalCorrupt({ session, ...(fault ?? { seq: reached, type: "", detail: "the rest is missing" }) })
              : new JournalUnavailable({
                operation: "read",
                detail: `session ${session} was deleted while it was read`,
                unsure: false
              })
          )))
      })
    })
  }))

/** Builds the journal. Closing the scope waits for the appends that are under way. */
const journal = Effect.fnUntraced(function*(
  store: EventStore
): Effect.fn.Return<Journal["Service"], never, Scope.Scope> {
  const commits = yield* GroupCommit.make(store)
  return {
    writer: commits.writer,
    read: (session, from = 0) => readFrom(store, session, from),
    list: store.list,
    remove: (session) => store.remove(Text.encode(session))
  }
})

export const EventStore = { journal }
