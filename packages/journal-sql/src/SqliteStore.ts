/** The events of all sessions in one SQLite file. */
import { JournalConflict, type JournalUnavailable } from "@holdfast/core"
import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { listSessions, removeSession } from "./Catalogue.ts"
import type { EventRow, EventStore } from "./EventStore.ts"
import { gap, PAGE } from "./EventStore.ts"
import { describe, isBusy, isConstraint, unavailable } from "./Failure.ts"
import { filePresence } from "./FilePresence.ts"
import type { Append, Appended, Batch } from "./GroupCommit.ts"
import { Migrations } from "./Migrations.ts"
import { retryBusy, SqliteClient, step } from "./SqliteClient.ts"
import { Text } from "./Text.ts"

export interface SqliteOptions {
  /** The database file; it and its folder are made when they are missing. `:memory:` keeps nothing. */
  readonly filename: string
  /** How long to wait for another process's write lock, in milliseconds. Default 5000, SQLite's own customary value. */
  readonly busyTimeout?: number
}

/** Thrown by a commit that may have taken although it failed. */
class CommitFailed extends Error {}

const conflict = ({ events, session }: Batch, detail: string): Appended =>
  Effect.fail(new JournalConflict({ session, seq: events[0]!.seq, detail }))

const make = Effect.fnUntraced(function*(
  options: SqliteOptions
): Effect.fn.Return<EventStore, JournalUnavailable, Scope.Scope> {
  const { filename, busyTimeout = 5000 } = options
  const { db, sql } = yield* SqliteClient.make(filename, busyTimeout)
  const migrated = Effect.provideService(Migrations.run, SqlClient.SqlClient, sql)
  yield* Effect.mapError(retryBusy(busyTimeout, migrated), unavailable("open", false))

  const begin = db.prepare("BEGIN IMMEDIATE")
  const commit = db.prepare("COMMIT")
  const rollback = db.prepare("ROLLBACK")
  const find = db.prepare("SELECT id FROM holdfast_sessions WHERE session = ?")
  const length = db.prepare("SELECT ifnull(max(seq) + 1, 0) AS length FROM holdfast_events WHERE session_id = ?")
  const create = db.prepare("INSERT INTO holdfast_sessions (session, created_at) VALUES (?, ?)")
  const insert = db.prepare(
    "INSERT INTO holdfast_events (session_id, seq, at, type, version, ignorable, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
  )
  const select = db.prepare(
    "SELECT seq, at, type, version, ignorable, data FROM holdfast_events " +
      "WHERE session_id = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ?"
  )
  const present = filename === ":memory:" ? () => {} : filePresence([filename, `${filename}-wal`])

  const idOf = (session: string): number | undefined => find.get(session)?.["id"] as number | undefined
  const lengthOf = (id: number | undefined): number => id === undefined ? 0 : length.get(id)?.["length"] as number

  /** Inside the transaction. Returns the key of the session, or what to tell the writer instead. */
  const write = (batch: Batch): number | Appended => {
    const broken = gap(batch)
    if (broken !== undefined) return conflict(batch, broken)
    const { bodies, events } = batch
    // The key that the writer remembers is void if the session was deleted and begins again.
    let id = (events[0]!.seq > 0 ? batch.key.id : undefined) ?? idOf(Text.encode(batch.session))
    const has = lengthOf(id)
    if (has !== events[0]!.seq) return conflict(batch, `the log has ${has} events`)
    id ??= Number(create.run(Text.encode(batch.session), events[0]!.at).lastInsertRowid)
    for (let i = 0; i < events.length; i++) {
      const { at, ignorable, seq, type, version } = events[i]!
      insert.run(id, seq, at, Text.encode(type), version, ignorable === true ? 1 : 0, bodies[i]!)
    }
    return id
  }

  const undo = () => {
    if (db.isTransaction) rollback.run()
  }

  /** One transaction for all of them; an answer for each. Throws when it did not take. */
  const transact = (batches: ReadonlyArray<Batch>): ReadonlyArray<Appended> => {
    present()
    undo()
    begin.run()
    let results: ReadonlyArray<number | Appended>
    try {
      results = batches.map(write)
    } catch (cause) {
      undo()
      throw cause
    }
    try {
      commit.run()
    } catch (cause) {
      undo()
      throw isBusy(cause) ? cause : new CommitFailed(describe(cause), { cause })
    }
    return results.map((result, i) => {
      if (typeof result !== "number") return result
      batches[i]!.key.id = result
      return Effect.void
    })
  }

  const refusal = (batch: Batch, cause: unknown): Appended =>
    isConstraint(cause)
      ? conflict(batch, describe(cause))
      : Effect.fail(unavailable("append", cause instanceof CommitFailed)(cause))

  const commitAll = (appends: ReadonlyArray<Append>): Effect.Effect<void> =>
    Effect.matchEffect(retryBusy(busyTimeout, step(() => transact(appends))), {
      onSuccess: (results) => Effect.sync(() => appends.forEach((append, i) => append.settle(results[i]!))),
      onFailure: (cause) => {
        // One of several is to blame; alone, each gets its own answer. A commit that may have taken is not repeated.
        const final = appends.length === 1 || cause instanceof CommitFailed || isBusy(cause)
        if (final) return Effect.sync(() => appends.forEach((append) => append.settle(refusal(append, cause))))
        return Effect.forEach(appends, (append) => commitAll([append]), { discard: true })
      }
    })

  const commitNow = (batch: Batch): Appended | undefined => {
    try {
      return transact([batch])[0]
    } catch (cause) {
      return isBusy(cause) ? undefined : refusal(batch, cause)
    }
  }

  const page = (id: number, from: number, end: number): ReadonlyArray<EventRow> => {
    const rows: Array<EventRow> = []
    let bytes = 0
    for (const row of select.iterate(id, from, end, PAGE.events)) {
      rows.push({ ...row, ignorable: row["ignorable"] === 1 } as EventRow)
      bytes += (row["data"] as string).length
      if (bytes >= PAGE.bytes) break
    }
    return rows
  }

  const read = <A>(run: () => A) => Effect.mapError(retryBusy(busyTimeout, step(run)), unavailable("read", false))

  return {
    commit: commitAll,
    commitNow,
    extent: (session) =>
      read(() => {
        const id = idOf(session)
        return id === undefined ? undefined : { id, length: lengthOf(id) }
      }),
    page: (id, from, end) => read(() => page(id, from, end)),
    list: Effect.mapError(retryBusy(busyTimeout, listSessions(sql)), unavailable("list", false)),
    remove: (session) =>
      Effect.mapError(retryBusy(busyTimeout, removeSession(sql, session)), unavailable("remove", false))
  }
})

export const SqliteStore = { make }
