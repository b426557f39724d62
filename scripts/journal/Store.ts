/** Which journal a command works on, from its options. */
import { type Journal, JournalUnavailable } from "@holdfast/core"
import { JournalFile } from "@holdfast/journal-file"
import { JournalSql } from "@holdfast/journal-sql"
import { Effect, Layer, Redacted } from "effect"

/** `sqlite:FILE`, `file:FOLDER` or a `postgres://` address. */
export const openJournal = (where: string): Layer.Layer<Journal, JournalUnavailable> => {
  if (where.startsWith("sqlite:")) return JournalSql.layerSqlite({ filename: where.slice("sqlite:".length) })
  if (where.startsWith("file:")) return JournalFile.layer({ directory: where.slice("file:".length) })
  if (where.startsWith("postgres:") || where.startsWith("postgresql:")) {
    return JournalSql.layerPostgres({ url: Redacted.make(where) })
  }
  return Layer.unwrap(Effect.fail(
    new JournalUnavailable({
      operation: "open",
      detail: `"${where}" is no journal; write sqlite:FILE, file:FOLDER or postgres://…`,
      unsure: false
    })
  ))
}
