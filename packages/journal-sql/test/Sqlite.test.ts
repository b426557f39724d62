import { journalConformance } from "@holdfast/testing"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "vitest"
import { JournalSql } from "../src/index.ts"

const folder = mkdtempSync(join(tmpdir(), "holdfast-sqlite-"))

journalConformance(test, "SQLite", { layer: JournalSql.layerSqlite({ filename: join(folder, "sessions.db") }) })
journalConformance(test, "SQLite in memory", {
  layer: JournalSql.layerSqlite({ filename: ":memory:" }),
  persistent: false
})
