/** Runs one cell and prints its numbers as JSON: the process that `main.ts` starts for each measurement. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { append, planRead, planWalk, read } from "./cells.ts"

const [what, kind = "", ...numbers] = process.argv.slice(2)
const [a = 0, b = 1, c = 1] = numbers.map(Number)
const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
try {
  const measured = what === "append"
    ? await append(kind, folder, { count: a, batch: b, sessions: c })
    : what === "read"
    ? await read(kind, folder, a)
    : kind === "fold"
    ? await planRead(a)
    : await planWalk(a)
  console.log(JSON.stringify(measured))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
