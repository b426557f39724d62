/** The events of all sessions in a PostgreSQL database. */
import { JournalConflict, type JournalUnavailable } from "@holdfast/core"
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { listSessions, removeSession } from "./Catalogue.ts"
import { type EventRow, type EventStore, gap, PAGE } from "./EventStore.ts"
import { unavailable } from "./Failure.ts"
import type { Append, Appended, Batch } from "./GroupCommit.ts"
import { Migrations } from "./Migrations.ts"
import { Text } from "./Text.ts"

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

/**
 * One statement, and so one round trip and one flush. A session takes part if its log has the length that its writer
 * expects; the primary key catches the writer who was faster, the foreign key the session that is being deleted. Every
 * column comes as an array of texts, so that the statement is the same for one event and for many.
 */
const appendText = (durable: string): string =>
  `WITH
input AS (
  SELECT n, session, expected::bigint, at::float8
  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS t (session, expected, at, n)
),
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
  SELECT id, seq::bigint, at::float8, type, version::integer, ignorable, data
  FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[], $10::text[])
    AS e (owner, seq, at, type, version, ignorable, data)
  JOIN target ON target.n = e.owner::bigint
)
SELECT n${durable} FROM target`

const pageText = `SELECT seq, at, type, version, ignorable, data FROM (
  SELECT *, sum(size) OVER (ORDER BY seq) - size AS before FROM (
    SELECT seq, at, type, version, ignorable, data, octet_length(data) AS size FROM holdfast_events
    WHERE session_id = $1::bigint AND seq >= $2::bigint AND seq < $3::bigint ORDER BY seq LIMIT ${PAGE.events}
  ) sized
) page WHERE before < ${PAGE.bytes} ORDER BY seq`

const extentText = `SELECT id, (SELECT max(seq) + 1 FROM holdfast_events WHERE session_id = id) AS length
FROM holdfast_sessions WHERE session = $1::text`

/** Splits what waits into groups in which each session occurs once: a later append of a session needs the earlier one. */
const groups = (appends: ReadonlyArray<Append>): ReadonlyArray<ReadonlyArray<Append>> => {
  const result: Array<Array<Append>> = []
  let seen = new Set<string>()
  for (const append of appends) {
    if (result.length === 0 || seen.has(append.session)) {
      result.push([])
      seen = new Set()
    }
    result.at(-1)!.push(append)
    seen.add(append.session)
  }
  return result
}

/** Column by column, numbers as text: the client wants every element of an array to have one type. */
const parameters = (batches: ReadonlyArray<Batch>): ReadonlyArray<unknown> => {
  const all = batches.flatMap(({ bodies, events }, n) =>
    events.map((event, i) => ({ event, owner: String(n + 1), body: bodies[i]! }))
  )
  return [
    batches.map(({ session }) => Text.encode(session)),
    batches.map(({ events }) => String(events[0]!.seq)),
    batches.map(({ events }) => String(events[0]!.at)),
    all.map(({ owner }) => owner),
    all.map(({ event }) => String(event.seq)),
    all.map(({ event }) => String(event.at)),
    all.map(({ event }) => Text.encode(event.type)),
    all.map(({ event }) => String(event.version)),
    all.map(({ event }) => event.ignorable === true),
    all.map(({ body }) => body)
  ]
}

interface PageRow extends Omit<EventRow, "seq"> {
  readonly seq: bigint
}

const make = Effect.fnUntraced(function*(): Effect.fn.Return<EventStore, JournalUnavailable, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const run = <Row extends object>(query: string, values: ReadonlyArray<unknown>) =>
    sql.unsafe<Row>(query, values).withoutTransform
  const setting = run<{ readonly mode: string }>("SELECT current_setting('synchronous_commit') AS mode", [])
  const rows = yield* Effect.mapError(Effect.andThen(Migrations.run, setting), unavailable("open", false))
  // A server may be set to acknowledge before it flushes; a stronger setting than a local flush is left alone.
  const text = appendText(rows[0]?.mode === "off" ? ", set_config('synchronous_commit', 'on', true)" : "")

  const refuse = (append: Append, error: SqlError.SqlError): Appended => {
    const { events, session } = append
    if (!isConflict(error)) return Effect.fail(unavailable("append", isUnsure(error))(error))
    return Effect.fail(new JournalConflict({ session, seq: events[0]!.seq, detail: "another writer was faster" }))
  }

  const commitGroup = (appends: ReadonlyArray<Append>): Effect.Effect<void> => {
    return Effect.matchEffect(run<{ readonly n: bigint }>(text, parameters(appends)), {
      onSuccess: (accepted) =>
        Effect.sync(() => {
          const taken = new Set(accepted.map(({ n }) => Number(n) - 1))
          for (const [n, { events: batch, session, settle }] of appends.entries()) {
            const detail = `the log does not have ${batch[0]!.seq} events`
            settle(
              taken.has(n) ? Effect.void : Effect.fail(new JournalConflict({ session, seq: batch[0]!.seq, detail }))
            )
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
      run<{ readonly id: bigint; readonly length: bigint }>(extentText, [session]).pipe(
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
