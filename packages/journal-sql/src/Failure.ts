/** What a database reports, as what the journal promises to report. */
import { JournalUnavailable } from "@holdfast/core"
import { Migrator, SqlError } from "effect/sql"

/** The result code of SQLite without its extension, or `undefined` when the failure is not SQLite's. */
export const sqliteCode = (cause: unknown): number | undefined => {
  const code = typeof cause === "object" && cause !== null && "errcode" in cause ? cause.errcode : undefined
  return typeof code === "number" ? code & 0xff : undefined
}

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_PROTOCOL = 15
const SQLITE_CONSTRAINT = 19

/** Another process holds the lock that this step needs. Nothing was written; the step can be repeated. */
export const isBusy = (cause: unknown): boolean => {
  if (SqlError.isSqlError(cause)) return cause.reason._tag === "LockTimeoutError"
  if (cause instanceof Migrator.MigrationError) return isBusy(cause.cause)
  const code = sqliteCode(cause)
  return code === SQLITE_BUSY || code === SQLITE_LOCKED || code === SQLITE_PROTOCOL
}

/** A key was there already: SQLite says so with one code for primary keys, unique indexes and foreign keys. */
export const isConstraint = (cause: unknown): boolean => sqliteCode(cause) === SQLITE_CONSTRAINT

/** The text of a failure with that of its causes, for the `detail` of an error. */
export const describe = (failure: unknown): string => {
  const texts: Array<string> = []
  for (let cause = failure; cause !== undefined && cause !== null;) {
    const text = cause instanceof Error ? cause.message : String(cause)
    if (text !== "" && !texts.some((known) => known.includes(text))) texts.push(text)
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return texts.join(": ")
}

export const unavailable = (operation: string, unsure: boolean) => (cause: unknown): JournalUnavailable =>
  new JournalUnavailable({ operation, detail: describe(cause), unsure })
