/** `writer.ts <file name or connection string> <session>...`: the writer of the crash tests. */
import { crashWriter } from "@holdfast/testing"
import { Redacted } from "effect"
import { JournalSql } from "../../src/index.ts"

const [place, ...sessions] = process.argv.slice(2)
const layer = place!.startsWith("postgres://")
  ? JournalSql.layerPostgres({ url: Redacted.make(place!) })
  : JournalSql.layerSqlite({ filename: place! })

await crashWriter(layer, sessions)
