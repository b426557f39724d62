/**
 * One connection to a SQLite file through `node:sqlite`, as a raw handle for the hot path and as a `SqlClient` for
 * everything else.
 */
import type { JournalUnavailable } from "@holdfast/core"
import { Effect, type Scope, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { closeSync, mkdirSync, openSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { isBusy, sqliteCode, unavailable } from "./Failure.ts"

export interface SqliteClient {
  readonly db: DatabaseSync
  readonly sql: SqlClient.SqlClient
}

const sqlError = (operation: string) => (cause: unknown) => {
  const errno = sqliteCode(cause)
  const named = errno === undefined ? cause : Object.assign(new Error(String(cause), { cause }), { errno })
  const message = `could not ${operation}: ${cause instanceof Error ? cause.message : String(cause)}`
  return new SqlError.SqlError({ reason: SqlError.classifySqliteError(named, { message, operation }) })
}

const pause = (millis: number) =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })

/**
 * Repeats a step that another process's lock kept from beginning, after waits of 1 to 32 ms, at most `limit` ms in all.
 * Real time, whatever the `Clock` says: it is another process that is waited for. SQLite's own busy timeout is zero,
 * because it would stop this whole program.
 */
export const retryBusy = <A, E>(limit: number, step: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const began = performance.now()
    const attempt = (wait: number): Effect.Effect<A, E> =>
      Effect.catch(step, (error) =>
        !isBusy(error) || performance.now() - began > limit
          ? Effect.fail(error)
          : Effect.andThen(pause(wait), Effect.suspend(() => attempt(Math.min(wait * 2, 32)))))
    return attempt(1)
  })

/** A synchronous step that fails with whatever it throws. */
export const step = <A>(run: () => A): Effect.Effect<A, unknown> => Effect.try({ try: run, catch: (cause) => cause })

const open = (filename: string): DatabaseSync => {
  if (filename !== ":memory:") {
    mkdirSync(dirname(resolve(filename)), { recursive: true, mode: 0o700 })
    // SQLite gives its other files the mode of this one. What a session says is its owner's business.
    closeSync(openSync(filename, "a", 0o600))
  }
  return new DatabaseSync(filename, { timeout: 0 })
}

const configure = (db: DatabaseSync) => {
  const mode = db.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"]
  if (mode !== "wal" && mode !== "memory") throw new Error(`the file system does not support WAL (mode ${mode})`)
  db.exec("PRAGMA synchronous = FULL")
}

const connect = (db: DatabaseSync): SqlConnection.Connection => {
  const cache = new Map<string, StatementSync>()
  const prepare = (sql: string) => {
    const known = cache.get(sql)
    if (known !== undefined) return known
    const statement = db.prepare(sql)
    cache.set(sql, statement)
    return statement
  }
  type Mode = "rows" | "raw" | "values"
  const run = (sql: string, params: ReadonlyArray<unknown>, mode: Mode) =>
    Effect.try({
      try: () => {
        const statement = mode === "values" ? db.prepare(sql) : prepare(sql)
        const bound = params as ReadonlyArray<SQLInputValue>
        if (statement.columns().length === 0) {
          const result = statement.run(...bound)
          return mode === "raw" ? result : []
        }
        if (mode === "values") statement.setReturnArrays(true)
        return statement.all(...bound)
      },
      catch: sqlError("execute a statement")
    })
  const rows: SqlConnection.Connection["execute"] = (sql, params, transform) =>
    Effect.map(run(sql, params, "rows"), (result) => {
      const list = result as unknown as ReadonlyArray<object>
      return transform === undefined ? list : transform(list)
    })
  const values = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.map(run(sql, params, "values"), (result) => result as unknown as ReadonlyArray<ReadonlyArray<unknown>>)
  return {
    execute: rows,
    executeUnprepared: rows,
    executeRaw: (sql, params) => run(sql, params, "raw"),
    executeValues: values,
    executeValuesUnprepared: values,
    executeStream: (sql, params, transform) =>
      Stream.unwrap(Effect.map(rows(sql, params, transform), (list) => Stream.fromIterable(list)))
  }
}

/** Opens the file, which is made when it is missing, in WAL mode with a flush at every commit. */
const make = Effect.fnUntraced(function*(
  filename: string,
  busyTimeout: number
): Effect.fn.Return<SqliteClient, JournalUnavailable, Scope.Scope> {
  const db = yield* Effect.acquireRelease(
    Effect.mapError(step(() => open(filename)), unavailable("open", false)),
    (opened) => Effect.sync(() => opened.close())
  )
  yield* Effect.mapError(retryBusy(busyTimeout, step(() => configure(db))), unavailable("open", false))
  const sql = yield* SqlClient.make({
    ...SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connect(db)),
      semaphore: yield* Semaphore.make(1),
      isTransaction: () => db.isTransaction
    }),
    compiler: Statement.makeCompilerSqlite(),
    beginTransaction: "BEGIN IMMEDIATE",
    driver: "sqlite",
    spanAttributes: [["db.system.name", "sqlite"]]
  }).pipe(Effect.provide(Reactivity.layer))
  return { db, sql }
})

export const SqliteClient = { make }
