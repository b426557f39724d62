/** What is measured, each in a process of its own: appends, reading back, and reads of plan mode. */
import {
  Journal,
  PlanProjection,
  Projection,
  SessionEvent,
  type SessionEvent as AnyEvent,
  SessionId,
  Sessions,
  type StoredEvent
} from "@holdfast/core"
import { JournalFile } from "@holdfast/journal-file"
import { JournalSql } from "@holdfast/journal-sql"
import { Effect, Layer, Stream } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

/** One measurement: microseconds of wall and of CPU for each unit of work. */
export interface Measured {
  readonly wall: number
  readonly cpu: number
}

const text = "x".repeat(900)

const stored = (session: SessionId, seq: number): StoredEvent => ({
  session,
  seq,
  at: 1_800_000_000_000 + seq,
  type: "message/user",
  version: 1,
  data: { text: `${seq} ${text}`, source: { kind: "user" } }
})

const timed = async (units: number, run: () => Promise<unknown> | unknown): Promise<Measured> => {
  const cpu = process.cpuUsage()
  const begun = process.hrtime.bigint()
  await run()
  const wall = Number(process.hrtime.bigint() - begun) / 1000
  const used = process.cpuUsage(cpu)
  return { wall: wall / units, cpu: (used.user + used.system) / units }
}

/** The hand-written loop: one table, prepared statements, WAL, `synchronous=FULL`, a transaction for each batch. */
const byHand = (folder: string) => {
  const db = new DatabaseSync(join(folder, "hand.db"))
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
  db.exec("CREATE TABLE events (session TEXT, seq INTEGER, body TEXT, PRIMARY KEY (session, seq)) WITHOUT ROWID")
  const insert = db.prepare("INSERT INTO events VALUES (?, ?, ?)")
  const select = db.prepare("SELECT body FROM events WHERE session = ? ORDER BY seq")
  return {
    append: (session: string, events: ReadonlyArray<StoredEvent>) => {
      db.exec("BEGIN IMMEDIATE")
      for (const event of events) insert.run(session, event.seq, JSON.stringify(event))
      db.exec("COMMIT")
    },
    read: (session: string) => select.all(session).map((row) => JSON.parse(String(row["body"])) as StoredEvent)
  }
}

const layers = (kind: string, folder: string): Layer.Layer<Journal, unknown> => {
  switch (kind) {
    case "sqlite":
      return JournalSql.layerSqlite({ filename: join(folder, "holdfast.db") })
    case "file":
      return JournalFile.layer({ directory: join(folder, "files") })
    default:
      return Journal.layerMemory
  }
}

/** Appends `count` events to each of `sessions` sessions at once, `batch` at a time. */
export const append = async (
  kind: string,
  folder: string,
  options: { readonly count: number; readonly batch: number; readonly sessions: number }
): Promise<Measured> => {
  const { batch, count, sessions } = options
  const ids = Array.from({ length: sessions }, (_, i) => SessionId.make(`s${i}`))
  const batches = (id: SessionId) =>
    Array.from(
      { length: Math.ceil(count / batch) },
      (_, i) => Array.from({ length: Math.min(batch, count - i * batch) }, (_, j) => stored(id, i * batch + j))
    )
  if (kind === "hand") {
    const hand = byHand(folder)
    const work = ids.map(batches)
    // One process and one thread: sessions take turns, as they would in any loop of this kind.
    return timed(count * sessions, () => {
      for (let i = 0; i < (work[0]?.length ?? 0); i++) ids.forEach((id, k) => hand.append(id, work[k]![i]!))
    })
  }
  return Effect.runPromise(
    Effect.scoped(Effect.gen(function*() {
      const journal = yield* Journal
      const work = yield* Effect.forEach(
        ids,
        (id) => Effect.map(journal.writer(id), (writer) => ({ writer, batches: batches(id) }))
      )
      return yield* Effect.promise(() =>
        timed(count * sessions, () =>
          Effect.runPromise(
            Effect.forEach(work, ({ batches, writer }) => Effect.forEach(batches, writer.append, { discard: true }), {
              concurrency: "unbounded",
              discard: true
            })
          ))
      )
    })).pipe(Effect.provide(layers(kind, folder)))
  )
}

/** Reads `count` events back: decoded by the harness, or `JSON.parse` of the same bytes. */
export const read = async (kind: string, folder: string, count: number): Promise<Measured> => {
  const id = SessionId.make("s")
  const events = Array.from({ length: count }, (_, i) =>
    i === 0
      ? { ...stored(id, 0), type: "session/created", data: { depth: 0 } }
      : stored(id, i))
  if (kind === "parse") {
    const lines = events.map((event) => JSON.stringify(event))
    return timed(count, () => {
      for (const line of lines) JSON.parse(line)
    })
  }
  if (kind === "hand") {
    const hand = byHand(folder)
    for (let i = 0; i < count; i += 1000) hand.append(id, events.slice(i, i + 1000))
    return timed(count, () => hand.read(id))
  }
  const journal = layers(kind, folder)
  return Effect.runPromise(
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const writer = yield* (yield* Journal).writer(id)
        for (let i = 0; i < count; i += 1000) yield* writer.append(events.slice(i, i + 1000))
      }))
      const sessions = yield* Sessions
      return yield* Effect.promise(() => timed(count, () => Effect.runPromise(Stream.runDrain(sessions.read(id)))))
    }).pipe(Effect.provide(Sessions.layer.pipe(Layer.provideMerge(journal))))
  )
}

/** A read of plan mode from a session of `count` events. */
export const planRead = async (count: number): Promise<Measured> => {
  const id = SessionId.make("s")
  return Effect.runPromise(
    Effect.scoped(Effect.gen(function*() {
      const session = yield* (yield* Sessions).create({ id })
      const filler = SessionEvent.event("input/received", { input: "i", text: "x", source: { kind: "user" } })
      const taken = SessionEvent.event("message/user", { input: "i", text: "x", source: { kind: "user" } })
      for (let i = 0; i < count; i += 1000) {
        yield* session.transact(() => ({
          events: Array.from({ length: Math.min(1000, count - i) }, (_, j) => j % 2 === 0 ? filler : taken),
          value: undefined
        }))
      }
      const reads = 1_000_000
      let active = 0
      return yield* Effect.promise(() =>
        timed(reads, () => {
          for (let i = 0; i < reads; i++) if (session.view().get(PlanProjection).state.active) active++
          return active
        })
      )
    })).pipe(Effect.provide(Sessions.layer.pipe(Layer.provide(Journal.layerMemory))))
  )
}

/** What a walk over the log would cost instead, for one read. */
export const planWalk = (count: number): Promise<Measured> => {
  const events = Array.from({ length: count }, (_, seq): AnyEvent => ({
    ...SessionEvent.event("turn/start", { turn: seq }),
    session: SessionId.make("s"),
    seq,
    at: 0
  }))
  return timed(1, () => Projection.fold(PlanProjection, events))
}
