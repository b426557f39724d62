/** Killed at random instants. These show ordering, atomicity and repair; that a flush reaches the disk they cannot show. */
import { crashLoop } from "@holdfast/testing"
import { spawn } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, test } from "vitest"
import { JournalFile } from "../src/index.ts"

/** `HOLDFAST_KILLS=500` makes it a long run. */
const kills = Number(process.env["HOLDFAST_KILLS"] ?? 20)
const script = fileURLToPath(new URL("support/writer.ts", import.meta.url))

const loop = (writers: number, count: number) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-crash-"))
  return crashLoop({
    start: (sessions) => spawn(process.execPath, ["--conditions=source", script, directory, ...sessions]),
    layer: JournalFile.layer({ directory }),
    kills: count,
    writers
  })
}

test("a writer that is killed loses nothing that was acknowledged and leaves no half batch", async () => {
  const report = await loop(1, kills)
  assert.isAbove(report.acknowledged, kills, "the writers came to write")
}, 20_000 + kills * 5_000)

test("two writers on the same sessions keep out of each other's way, and so do their successors", async () => {
  const report = await loop(2, Math.ceil(kills / 4))
  assert.isAbove(report.acknowledged, 0, "the writers came to write")
}, 20_000 + kills * 5_000)
