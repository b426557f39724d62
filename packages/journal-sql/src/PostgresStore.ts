/** The events of all sessions in a PostgreSQL database. */
import { JournalConflict, type JournalUnavailable } from "@holdfast/core"
import { Effect } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { listSessions, removeSession } from "./Catalogue.ts"
import { type EventRow, type EventStore, gap, PAGE } from "./EventStore.ts"
import { unavailable } from "./Failure.ts"
import type { Append, Appended, Batch } from "./GroupCommit.ts"
import { Migrations } from "./Migrations.ts"
import { Text } from "./Text.ts"

/** PostgreSQL's protocol counts the parameters of a statement in 16 bits; an event takes 7 of them, a session 4. */
const STATEMENT_EVENTS = 8000
const STATEMENT_SESSIONS = 2000

/** Errors by which the server says that it has undone the statement. After any other, nobody knows. */
const undone: ReadonlySet<string> = new Set([
  "AuthenticationError",
  "AuthorizationError",
  "ConstraintError",
  "DeadlockError",
  "LockTimeoutError",
  "SerializationError",
  "SqlSyntaxError",
  "StatementTimeoutError",
  "UniqueViolation"
])

/** Classes of SQLSTATE by which the server says the same: data, read-only transaction, resources (a full disk), limits. */
const undoneClass = /^(?:22|25|53|54)/

const stateOf = (cause: unknown): string => {
  if (typeof cause !== "object" || cause === null) return ""
  if ("code" in cause && typeof cause.code === "string") return cause.code
  return "fields" in cause ? stateOf(cause.fields) : ""
}

const isUnsure = ({ reason }: SqlError.SqlError): boolean => {
  if (undone.has(reason._tag) || undoneClass.test(stateOf(reason.cause))) return false
  return !(reason._tag === "ConnectionError" && reason.operation === "connect")
}

const isConflict = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "UniqueViolation" || reason._tag === "ConstraintError"

const tuples = (rows: number, types: ReadonlyArray<string>, first: number): string =>
  Array.from({ length: rows }, (_, row) =>
    `(${types.map((type, i) => `$${first + row * types.length + i}::${type}`).join(",")})`).join(",")

const sessionTypes = ["int", "text", "bigint", "float8"]
const eventTypes = ["int", "bigint", "float8", "text", "int", "boolean", "text"]

/**
 * One statement, and so one round trip and one flush. A session takes part if its log has the length that its writer
 * expects; the primary key catches the writer who was faster, the foreign key the session that is being deleted.
 */
const appendText = (sessions: number, events: number, durable: string): string => `WITH
input (n, session, expected, at) AS (VALUES ${tuples(sessions, sessionTypes, 1)}),
created AS (
  INSERT INTO holdfast_sessions (session, created_at) SELECT session, at FROM input WHERE expected = 0
  ON CONFLICT (session) DO NOTHING RETURNING id, session
),
target AS (
  SELECT n, id FROM created JOIN input USING (session)
  UNION ALL
  SELECT n, s.id FROM input JOIN holdfast_sessions s USING (session) WHERE expected > 0
    AND (SELECT max(e.seq) FROM holdfast_events e WHERE e.session_id = s.id) = expected - 1
),
written AS (
  INSERT INTO holdfast_events (session_id, seq, at, type, version, ignorable, data)
  SELECT id, seq, at, type, version, ignorable, data
  FROM (VALUES ${tuples(events, eventTypes, 1 + sessions * sessionTypes.length)})
    AS event (n, seq, at, type, version, ignorable, data)
  JOIN target USING (n)
)
SELECT n${durable} FROM target`

const pageText = `SELECT seq, at, type, version, ignorable, data FROM (
  SELECT *, sum(size) OVER (ORDER BY seq) - size AS before FROM (
    SELECT seq, at, type, version, ignorable, data, octet_length(data) AS size FROM holdfast_events
    WHERE session_id = $1::bigint AND seq >= $2::bigint AND seq < $3::bigint ORDER BY seq LIMIT ${PAGE.events}
  ) some
) page WHERE before < ${PAGE.bytes} ORDER BY seq`

const extentText = `SELECT id, (SELECT max(seq) + 1 FROM holdfast_events WHERE session_id = id) AS length
FROM holdfast_sessions WHERE session = $1::text`

/** Splits what waits into groups in which each session occurs once and which fit a statement. */
const groups = (appends: ReadonlyArray<Append>): ReadonlyArray<ReadonlyArray<Append>> => {
  const result: Array<Array<Append>> = []
  let seen = new Set<string>()
  let events = 0
  for (const append of appends) {
    const full = events + append.events.length > STATEMENT_EVENTS || seen.size === STATEMENT_SESSIONS
    if (result.length === 0 || full || seen.has(append.session)) {
      result.push([])
      seen = new Set()
      events = 0
    }
    result.at(-1)!.push(append)
    seen.add(append.session)
    events += append.events.length
  }
  return result
}

interface PageRow extends Omit<EventRow, "seq"> {
  readonly seq: bigint
}

const make = Effect.fnUntraced(function*(): Effect.fn.Return<EventStore, JournalUnavailable, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const run = <Row extends object>(text: string, parameters: ReadonlyArray<unknown>) =>
    sql.unsafe<Row>(text, parameters).withoutTransform
  const setting = run<{ readonly mode: string }>("SELECT current_setting('synchronous_commit') AS mode", [])
  const rows = yield* Effect.mapError(Effect.andThen(Migrations.run, setting), unavailable("open", false))
  // A server may be set to acknowledge before it flushes; a stronger setting than a local flush is left alone.
  const durable = rows[0]?.mode === "off" ? ", set_config('synchronous_commit', 'on', true)" : ""

  const refuse = (append: Append, error: SqlError.SqlError): Appended => {
    const { events, session } = append
    if (!isConflict(error)) return Effect.fail(unavailable("append", isUnsure(error))(error))
    return Effect.fail(new JournalConflict({ session, seq: events[0]!.seq, detail: "another writer was faster" }))
  }

  const parameters = (batches: ReadonlyArray<Batch>): ReadonlyArray<unknown> => [
    ...batches.flatMap(({ events, session }, n) => [n, Text.encode(session), events[0]!.seq, events[0]!.at]),
    ...batches.flatMap(({ bodies, events }, n) =>
      events.flatMap(({ at, ignorable, seq, type, version }, i) =>
        [n, seq, at, Text.encode(type), version, ignorable === true, bodies[i]!]
      )
    )
  ]

  const commitGroup = (appends: ReadonlyArray<Append>): Effect.Effect<void> => {
    const events = appends.reduce((total, append) => total + append.events.length, 0)
    const text = appendText(appends.length, events, durable)
    return Effect.matchEffect(run<{ readonly n: number }>(text, parameters(appends)), {
      onSuccess: (accepted) =>
        Effect.sync(() => {
          const taken = new Set(accepted.map(({ n }) => n))
          for (const [n, { events: batch, session, settle }] of appends.entries()) {
            const detail = `the log does not have ${batch[0]!.seq} events`
            settle(taken.has(n) ? Effect.void : Effect.fail(new JournalConflict({ session, seq: batch[0]!.seq, detail })))
          }
        }),
      onFailure: (error) => {
        // One of several is to blame; alone, each gets its own answer. What may have taken is not repeated.
        if (appends.length > 1 && !isUnsure(error)) {
          return Effect.forEach(appends, (append) => commitGroup([append]), { discard: true })
        }
        return Effect.sync(() => appends.forEach((append) => append.settle(refuse(append, error))))
      }
    })
  }

  const commit = (appends: ReadonlyArray<Append>): Effect.Effect<void> => {
    const whole = appends.filter((append) => {
      const detail = gap(append)
      if (detail === undefined) return true
      const { events, session, settle } = append
      settle(Effect.fail(new JournalConflict({ session, seq: events[0]!.seq, detail })))
      return false
    })
    return Effect.forEach(groups(whole), commitGroup, { discard: true })
  }

  return {
    commit: (appends) => Effect.withTracerEnabled(commit(appends), false),
    commitNow: () => undefined,
    extent: (session) =>
      run<{ readonly id: bigint; readonly length: bigint }>(extentText, [Text.encode(session)]).pipe(
        Effect.map(([row]) => row && { id: Number(row.id), length: Number(row.length) }),
        Effect.mapError(unavailable("read", false))
      ),
    page: (id, from, end) =>
      run<PageRow>(pageText, [id, from, end]).pipe(
        Effect.map((page) => page.map((row): EventRow => ({ ...row, seq: Number(row.seq) }))),
        Effect.mapError(unavailable("read", false))
      ),
    list: Effect.mapError(listSessions(sql), unavailable("list", false)),
    remove: (session) => Effect.mapError(removeSession(sql, session), unavailable("remove", false))
  }
})

export const PostgresStore = { make }
