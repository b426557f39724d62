/** The program as a process, and a person who answers in its folder: feedback first, then consent, and everything that follows. */
import { assert, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { fillIn, questionsIn } from "./FolderReader.ts"

const program = fileURLToPath(new URL("../src/main.ts", import.meta.url))

it("plans, is sent back, is approved and builds, all by files", { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-folder-program-"))
  const child = spawn(process.execPath, ["--conditions=source", program, folder], { stdio: ["ignore", "pipe", "pipe"] })
  try {
    let out = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (out += text))
    const ended = new Promise<number | null>((resolve) => child.on("close", resolve))
    const titles: Array<string> = []
    const answered = new Set<string>()
    while (child.exitCode === null && child.signalCode === null) {
      for (const { id, path, text } of await questionsIn(folder)) {
        if (answered.has(id)) continue
        answered.add(id)
        titles.push(/^# (.*)$/m.exec(text)?.[1] ?? "")
        // The first plan is sent back, everything else gets the first answer.
        const first = titles.length === 1
        await writeFile(path, first ? fillIn(text, [], "Please add a test.") : fillIn(text, [0], ""))
      }
      await sleep(20)
    }
    assert.strictEqual(await ended, 0, out)
    assert.deepStrictEqual(titles, [
      "Fix the dropped last field",
      "Fix the dropped last field and cover the empty line",
      "edit_file src/csv.ts",
      "edit_file test/csv.test.ts",
      "run_command node --test"
    ])
    assert.include(out, "The person did not approve the plan and answered: Please add a test.")
    assert.include(out, "3 tests, 3 passed, 0 failed")
    const kept = await readdir(join(folder, "answered"))
    assert.strictEqual(kept.length, 5)
    const edit = kept.find((name) => name.startsWith("edit-file-src")) ?? ""
    assert.include(await readFile(join(folder, "answered", edit), "utf8"), "+  fields.push(field)")
    assert.deepStrictEqual(await questionsIn(folder), [])
    const project = /^Project: (.*)$/m.exec(out)?.[1]
    if (project !== undefined) await rm(project, { recursive: true })
  } finally {
    child.kill("SIGKILL")
    await rm(folder, { recursive: true, force: true })
  }
})
