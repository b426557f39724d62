import { journalConformance } from "@holdfast/testing"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "vitest"
import { JournalFile } from "../src/index.ts"

const directory = mkdtempSync(join(tmpdir(), "holdfast-file-"))

journalConformance(test, "file", { layer: JournalFile.layer({ directory: join(directory, "sessions") }) })
