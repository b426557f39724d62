/** The journal in a SQL database. */
import { Journal, type JournalUnavailable } from "@holdfast/core"
import { Effect, Layer } from "effect"
import { EventStore } from "./EventStore.ts"
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

/** Layers of `Journal`. */
export const JournalSql = { layerSqlite }
