/** The journal in a SQL database. */
import { Journal, type JournalUnavailable } from "@holdfast/core"
import { Effect, Layer, type Redacted } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { EventStore } from "./EventStore.ts"
import { unavailable } from "./Failure.ts"
import { PostgresStore } from "./PostgresStore.ts"
import { type SqliteOptions, SqliteStore } from "./SqliteStore.ts"

/**
 * All sessions in one SQLite file. An append returns when its transaction is flushed to the disk (WAL,
 * `synchronous = FULL`); appends of several sessions that wait at the same time share one. Any number of processes may
 * have the file open; two that write to one session are told so with `JournalConflict`.
 *
 * Fails with `JournalUnavailable` when the file cannot be opened, is no database, or was written by a newer program.
 *
 * @example
 * const journal = JournalSql.layerSqlite({ filename: "sessions.db" })
 */
const layerSqlite = (options: SqliteOptions): Layer.Layer<Journal, JournalUnavailable> =>
  Layer.effect(Journal, Effect.flatMap(SqliteStore.make(options), EventStore.journal))

export interface PostgresOptions {
  /** A connection string; the other options win over it. */
  readonly url?: Redacted.Redacted
  readonly host?: string
  readonly port?: number
  readonly database?: string
  readonly username?: string
  readonly password?: Redacted.Redacted
  readonly ssl?: boolean
  /** How many connections to open at most; one of them writes. Default 4. */
  readonly maxConnections?: number
}

/** The longest message that PostgreSQL can send, in bytes: an event may be as large as its `text` type. */
const LONGEST_MESSAGE = 1024 * 1024 * 1024

/**
 * All sessions in tables of a PostgreSQL database that the program already has a client of, for instance to share its
 * pool. The tables are made when they are missing.
 */
const layerPostgresClient: Layer.Layer<Journal, JournalUnavailable, SqlClient.SqlClient> = Layer.effect(
  Journal,
  Effect.flatMap(PostgresStore.make(), EventStore.journal)
)

/**
 * All sessions in tables of a PostgreSQL database, which are made when they are missing. An append is one statement,
 * committed with `synchronous_commit` at least `on`; appends of several sessions that wait at the same time share one.
 * Needs the package `@effect/sql-pg`.
 *
 * Fails with `JournalUnavailable` when the database cannot be reached or was written by a newer program.
 *
 * @example
 * const journal = JournalSql.layerPostgres({ url: Redacted.make("postgres://user:password@localhost/agents") })
 */
const layerPostgres = (options: PostgresOptions): Layer.Layer<Journal, JournalUnavailable> =>
  Layer.unwrap(Effect.map(
    // Loaded when it is asked for: a program that uses SQLite need not have it installed.
    Effect.tryPromise({ try: () => import("@effect/sql-pg/PgClient"), catch: unavailable("open", false) }),
    (PgClient) => {
      const client = PgClient.layer({ maxConnections: 4, maxMessageSize: LONGEST_MESSAGE, ...options })
      return Layer.provide(layerPostgresClient, connected(client))
    }
  ))

const connected = <A>(client: Layer.Layer<A, SqlError.SqlError>): Layer.Layer<A, JournalUnavailable> =>
  Layer.catch(client, (error) => Layer.effectContext(Effect.fail(unavailable("open", false)(error))))

/** Layers of `Journal`. */
export const JournalSql = { layerSqlite, layerPostgres, layerPostgresClient }
