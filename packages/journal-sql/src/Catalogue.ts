/** Listing and deleting sessions, in SQL that both databases read the same way. */
import { SessionId, type SessionSummary } from "@holdfast/core"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { Text } from "./Text.ts"

interface SummaryRow {
  readonly session: string
  readonly created_at: number
  readonly seq: number | bigint
  readonly at: number
}

/** One step down the unique key for each session; no event is read but the last one of each. */
export const listSessions = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<SessionSummary>, SqlError.SqlError> =>
  sql<SummaryRow>`SELECT s.session, s.created_at, e.seq, e.at FROM holdfast_sessions s
JOIN holdfast_events e ON e.session_id = s.id
  AND e.seq = (SELECT max(l.seq) FROM holdfast_events l WHERE l.session_id = s.id)
ORDER BY e.position DESC`.withoutTransform.pipe(
    Effect.map((rows) =>
      rows.map((row): SessionSummary => ({
        session: SessionId.make(Text.decode(row.session)),
        events: Number(row.seq) + 1,
        createdAt: row.created_at,
        updatedAt: row.at
      }))
    )
  )

/** The events go with their session: a foreign key or a trigger sees to it. */
export const removeSession = (
  sql: SqlClient.SqlClient,
  session: string
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`DELETE FROM holdfast_sessions WHERE session = ${session}`)
