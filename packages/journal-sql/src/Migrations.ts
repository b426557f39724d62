/** The schema of a SQL journal and the steps that lead to it. A step that was released is never changed. */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"

const table = "holdfast_migrations"

/**
 * `position` orders all events of a database by when they were written, whatever the clock said. The metadata of a
 * session is its row and its last event, which the unique key finds in one step, so an append touches no other row.
 */
const events = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.onDialectOrElse({
    pg: () =>
      sql`CREATE TABLE holdfast_sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session text NOT NULL UNIQUE,
  created_at double precision NOT NULL
)`,
    orElse: () =>
      sql`CREATE TABLE holdfast_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT NOT NULL UNIQUE,
  created_at REAL NOT NULL
) STRICT`
  })
  yield* sql.onDialectOrElse({
    pg: () =>
      sql`CREATE TABLE holdfast_events (
  position bigint GENERATED ALWAYS AS IDENTITY,
  session_id bigint NOT NULL REFERENCES holdfast_sessions (id) ON DELETE CASCADE,
  seq bigint NOT NULL,
  at double precision NOT NULL,
  type text NOT NULL,
  version integer NOT NULL,
  ignorable boolean NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (session_id, seq)
)`,
    orElse: () =>
      sql`CREATE TABLE holdfast_events (
  position INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at REAL NOT NULL,
  type TEXT NOT NULL,
  version INTEGER NOT NULL,
  ignorable INTEGER NOT NULL,
  data TEXT NOT NULL,
  UNIQUE (session_id, seq)
) STRICT`
  })
  // A foreign key would look up the session at every insert. SQLite has one writer at a time, which has just done so.
  yield* sql.onDialectOrElse({
    pg: () => Effect.void,
    orElse: () =>
      sql`CREATE TRIGGER holdfast_sessions_removed AFTER DELETE ON holdfast_sessions
BEGIN DELETE FROM holdfast_events WHERE session_id = old.id; END`
  })
})

const steps: Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>> = { "0001_events": events }

/** The version of the schema that this program writes. */
const version = Object.keys(steps).length

/** Brings the database to {@link version}. A database that a newer program has changed is refused, not guessed at. */
const run = Effect.gen(function*() {
  yield* Migrator.make({})({ loader: Migrator.fromRecord(steps), table })
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly version: number | null }>`SELECT max(migration_id) AS version FROM ${sql(table)}`
  const found = rows[0]?.version ?? 0
  if (found > version) {
    return yield* new Migrator.MigrationError({
      kind: "BadState",
      message: `the schema has version ${found}, this program knows ${version}; use the program that wrote it`
    })
  }
})

export const Migrations = { run, version }
