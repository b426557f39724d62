import { assert, it } from "@effect/vitest"
import { SessionEvent, SessionId, Sessions } from "@holdfast/core"
import { JournalFile } from "@holdfast/journal-file"
import { Effect, Layer } from "effect"
import { execFile } from "node:child_process"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

const run = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    execFile(
      process.execPath,
      ["--conditions=source", join(import.meta.dirname, "../journal/main.ts"), ...args],
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : 0, output: stdout + stderr })
    )
  })

/** A session in a file journal: a turn with one answered message. */
const written = (directory: string) =>
  Effect.runPromise(
    Effect.scoped(Effect.gen(function*() {
      const session = yield* (yield* Sessions).create({ id: SessionId.make("s1") })
      yield* session.transact(() => ({
        events: [
          SessionEvent.event("turn/start", { turn: 1 }),
          SessionEvent.event("message/user", { text: "hello", source: { kind: "user" } })
        ],
        value: undefined
      }))
      yield* session.transact(() => ({
        events: [
          SessionEvent.event("message/assistant", { step: 1, text: "hi", reasoning: "", calls: [], finish: "stop" }),
          SessionEvent.event("turn/end", { turn: 1, reason: "completed" })
        ],
        value: undefined
      }))
    })).pipe(Effect.provide(Sessions.layer.pipe(Layer.provideMerge(JournalFile.layer({ directory })))))
  )

it("sessions are listed, shown, exported, imported into another kind of journal, verified and repaired", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-journal-"))
  try {
    const files = join(folder, "files")
    await written(files)
    const from = `file:${files}`
    const sqlite = `sqlite:${join(folder, "copy.db")}`
    const lines = join(folder, "events.jsonl")

    assert.match((await run("list", from)).output, /^s1 .* 5 events/)
    assert.match((await run("show", from, "s1")).output, /user: hello[\s\S]*model: hi[\s\S]*turn 1 ends: completed/)
    assert.include((await run("export", from, lines)).output, "5 events exported")
    assert.include((await run("import", sqlite, lines)).output, "s1: 5 events")
    const again = await run("import", sqlite, lines)
    assert.strictEqual(again.code, 1)
    assert.include(again.output, "not written")
    assert.include((await run("verify", sqlite)).output, "s1: 5 events, sound")

    // Break a line in the middle: the prefix stays, and the copy has it.
    const [name] = await readdir(files)
    const log = join(files, name ?? "", "events.jsonl")
    const text = await readFile(log, "utf8")
    const broken = text.replace("\"hello\"", "\"hello")
    assert.notStrictEqual(broken, text)
    await writeFile(log, broken)
    const verdict = await run("verify", from)
    assert.strictEqual(verdict.code, 1)
    assert.match(verdict.output, /corrupt at event/)
    const repaired = `sqlite:${join(folder, "repaired.db")}`
    assert.match((await run("repair", from, "s1", repaired)).output, /The copy ends before event/)
    assert.include((await run("verify", repaired)).output, "sound")
    assert.strictEqual(await readFile(log, "utf8"), broken)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}, 120_000)

it("a journal that cannot be named is a clear error", async () => {
  const { code, output } = await run("list", "nonsense")
  assert.notStrictEqual(code, 0)
  assert.include(output, "sqlite:FILE")
})
