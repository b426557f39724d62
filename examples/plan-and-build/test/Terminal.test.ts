/** The program in a real pseudo-terminal, with a person at the keys. */
import { assert, describe, it } from "@effect/vitest"
import { rm } from "node:fs/promises"
import { Pty } from "../../../packages/terminal/test/support/Pty.ts"
import { environment, folderIn, ofType, program, readEvents, sessionIn, workplace } from "./support.ts"

const start = (...args: ReadonlyArray<string>): Pty =>
  Pty.node(program, args, { columns: 120, rows: 40, env: environment, timeout: 120_000 })

/** Waits until a question of this title is shown and takes keys. */
const question = (pty: Pty, title: string): Promise<void> =>
  pty.waitForScreen(new RegExp(`\\? the agent asks for[^\\n]*\\n {2}${title}\\n[^?]*Enter chooses`))

/** A second Ctrl-C exits if it comes soon enough; on a loaded machine it may take another try. */
const exitByKeys = async (pty: Pty): Promise<void> => {
  const hints = () => pty.text().split("Ctrl-C again within").length
  while (!pty.text().includes("Exiting.")) {
    const before = hints()
    pty.press("ctrl-c")
    await pty.waitUntil("an answer to Ctrl-C", () => hints() > before || pty.text().includes("Exiting."))
  }
}

describe("in a terminal", { timeout: 600_000 }, () => {
  it("is answered with keys, and builds what was approved", async () => {
    await using place = await workplace()
    await using pty = start("--journal", place.journal)
    await question(pty, "Fix the dropped last field")
    pty.press("up", "enter")
    await pty.waitForScreen("Enter sends")
    pty.type("Also test the empty line.")
    pty.press("enter")
    await question(pty, "Fix the dropped last field and cover the empty line")
    pty.press("enter")
    await question(pty, "edit_file src/csv.ts")
    pty.press("enter")
    await question(pty, "edit_file test/csv.test.ts")
    pty.press("enter")
    await question(pty, "run_command node --test")
    pty.press("enter")
    assert.deepStrictEqual(await pty.exit(), { code: 0, signal: 0 })
    const text = pty.text()
    assert.include(text, "✔ answered: Also test the empty line.")
    assert.include(text, "✔ answered: Approve")
    assert.include(text, "✓ run_command node --test: 3 tests, 3 passed, 0 failed")
    assert.include(text, "+  fields.push(field)")
    assert.isTrue(pty.cursorVisible())
    await rm(folderIn(text), { recursive: true })
  })

  it("PM C12: Shift+Tab selects plan mode and takes it back, and the input line tells which it is", async () => {
    await using place = await workplace()
    await using pty = start("--chat", "--journal", place.journal)
    await pty.waitForScreen(/Ctrl-D leaves\.\n›/)
    pty.press("shift-tab")
    await pty.waitForScreen(/^plan ›/m)
    pty.press("shift-tab")
    await pty.waitForScreen(/^›/m)
    pty.press("shift-tab")
    await pty.waitForScreen(/^plan ›/m)
    pty.type("/plan off")
    pty.press("enter")
    await pty.waitFor("Entering plan mode was cancelled.")
    pty.press("ctrl-d")
    assert.deepStrictEqual(await pty.exit(), { code: 0, signal: 0 })
    const text = pty.text()
    const events = await readEvents(place.journal, sessionIn(text))
    assert.deepStrictEqual(ofType(events, "plan/selected").map(({ data }) => [data.active, data.by]), [
      [true, "user"],
      [false, "user"],
      [true, "user"],
      [false, "user"]
    ])
    assert.deepStrictEqual(ofType(events, "plan/mode"), [], "nothing came into force")
    await rm(folderIn(text), { recursive: true })
  })

  it("is interrupted by Ctrl-C, left by a second one, and finished by --resume", async () => {
    await using place = await workplace()
    await using first = start("--journal", place.journal)
    await question(first, "Fix the dropped last field")
    first.press("ctrl-c")
    await first.waitFor("■ turn ended: interrupted")
    await first.waitForScreen(/■ turn ended: interrupted\nWorking in .*\nplan ›/)
    await exitByKeys(first)
    assert.deepStrictEqual(await first.exit(), { code: 0, signal: 0 })
    const text = first.text()
    const [session, root] = [sessionIn(text), folderIn(text)]
    assert.include(text, "Interrupting. Ctrl-C again within 2 s exits.")
    assert.include(text, "✗ withdrawn: Fix the dropped last field")
    assert.include(
      text,
      `Go on with this session: npx -y pnpm@12.21.0 demo --journal ${place.journal} --resume ${session}`
    )
    assert.notInclude(text, "What changed in the folder")
    const before = await readEvents(place.journal, session)
    assert.deepStrictEqual(ofType(before, "review/answered").map(({ data }) => data.outcome), ["withdrawn"])

    await using second = start("--journal", place.journal, "--resume", session)
    await second.waitFor("Go on with the task.")
    await question(second, "Fix the dropped last field")
    second.press("enter")
    for (const title of ["edit_file src/csv.ts", "edit_file test/csv.test.ts", "run_command node --test"]) {
      await question(second, title)
      second.press("enter")
    }
    assert.deepStrictEqual(await second.exit(), { code: 0, signal: 0 })
    assert.include(second.text(), "■ turn ended: completed")
    assert.include(second.text(), "+  fields.push(field)")
    const after = await readEvents(place.journal, session)
    assert.deepStrictEqual(after.slice(0, before.length), before)
    const ids = ofType(after, "review/asked").map(({ data }) => data.request)
    assert.strictEqual(new Set(ids).size, ids.length, "no request id is used twice")
    await rm(root, { recursive: true })
  })
})
