/** One cell: the process that `main.ts` starts for each measurement. KIND, address, rounds, file of the head. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Head } from "./byHand.ts"

const [kind = "", url = "", rounds = "", head = ""] = process.argv.slice(2)
if (kind === "by-hand") {
  // Neither side loads what only the other needs.
  const { byHand } = await import("./byHand.ts")
  console.log(JSON.stringify(await byHand(url, Number(rounds), JSON.parse(readFileSync(head, "utf8")) as Head)))
} else {
  const { holdfast } = await import("./holdfast.ts")
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  try {
    console.log(JSON.stringify(await holdfast(kind, url, Number(rounds), folder)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
