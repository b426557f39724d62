/** A conversation in a real pseudo-terminal: in and out of plan mode twice, by commands and by a review. */
import { foldPlanMode, PlanProjection, Projection } from "@holdfast/core"
import { assert, describe, it } from "@effect/vitest"
import { readFile, rm } from "node:fs/promises"
import { expect } from "vitest"
import { Pty } from "../../../packages/terminal/test/support/Pty.ts"
import { requestRows } from "../src/Report.ts"
import {
  assertMissesOnlyWhatIsNew,
  assertStable,
  environment,
  folderIn,
  ofType,
  program,
  readEvents,
  sessionIn,
  takeApart,
  workplace
} from "./support.ts"

const entry = "/plan The parser drops the last field of a line. Fix it."
const message = "The parser drops the last field of a line. Fix it."
const secondEntry = "/plan Would it keep a doubled quote in a quoted field?"
const secondMessage = "Would it keep a doubled quote in a quoted field?"
const last = "Thanks, leave it as it is."

/** What differs between two runs, made the same. Trailing space is none of the text. */
const normalise = (text: string, facts: Readonly<Record<string, string>>): string => {
  let out = text
  for (const [name, value] of Object.entries(facts)) out = out.replaceAll(value, `<${name}>`)
  const table = out.indexOf("request  planning")
  // The tokens of a folder's name differ, and the columns with them.
  const numbers = out.slice(table).replaceAll(/(?<![\w.@])\d+(\.\d+)?(?![\w.])/g, "n").replaceAll(/(?<=\S) +/g, " ")
    .replaceAll(/^ +/gm, "")
  return `${out.slice(0, table).replaceAll(/^ *\d+\.\d\d s /gm, "t s ")}${numbers}`.replaceAll(/[ \t]+$/gm, "")
    .trimEnd() + "\n"
}

describe("a conversation without a key", { timeout: 600_000 }, () => {
  it("PM C2, C3, B2, B9: enters, researches, is refused, reviewed twice, edits, enters again and leaves by command", async () => {
    await using place = await workplace()
    await using pty = Pty.node(program, ["--chat", "--local", "--journal", place.journal, "--record", place.requests], {
      columns: 120,
      rows: 50,
      env: environment,
      timeout: 120_000
    })
    const question = (title: string) =>
      pty.waitForScreen(new RegExp(`\\? the agent asks for[^\\n]*\\n {2}${title}\\n[^?]*Enter chooses`))
    const say = async (line: string) => {
      pty.type(line)
      await pty.waitForScreen(`› ${line}`)
      pty.press("enter")
    }

    await pty.waitFor("Ctrl-D leaves.\n›")
    await say(entry)
    await question("Fix the dropped last field")
    pty.press("up", "enter")
    await pty.waitForScreen("Enter sends")
    pty.type("Please also add a test for the empty line.")
    pty.press("enter")
    for (
      const title of [
        "Fix the dropped last field and cover the empty line",
        "edit_file src/csv.ts",
        "edit_file test/csv.test.ts",
        "run_command node --test"
      ]
    ) {
      await question(title)
      pty.press("enter")
    }
    await pty.waitFor("■ turn ended: completed")
    await say(secondEntry)
    await pty.waitFor("■ turn ended: completed", 2)
    await say("/plan off")
    await pty.waitFor("Leaving plan mode (from the next step).")
    await say(last)
    await pty.waitFor("■ turn ended: completed", 3)
    pty.press("ctrl-d")
    assert.deepStrictEqual(await pty.exit(), { code: 0, signal: 0 })

    const shown = pty.text()
    const session = sessionIn(shown)
    const folder = folderIn(shown)
    const events = await readEvents(place.journal, session)
    const requests = (await readFile(place.requests, "utf8")).trimEnd().split("\n").map(takeApart)

    // What a person saw, reviewed line by line once and compared since.
    await expect(normalise(shown, { session, folder, journal: place.journal }))
      .toMatchFileSnapshot("transcripts/chat.txt")

    // The journal: in, out by the review, in, out by the command.
    const modes = ofType(events, "plan/mode")
    assert.deepStrictEqual(modes.map(({ data }) => data.active), [true, false, true, false])
    assert.deepStrictEqual(
      ofType(events, "plan/selected").map(({ data }) => [data.active, data.by]),
      [[true, "user"], [false, "review"], [true, "user"], [false, "user"]]
    )
    // Each `plan/mode` stands before the request that it changes, and that is the very next one.
    const opened = ofType(events, "step/open")
    for (const mode of modes) {
      const next = opened.find(({ seq }) => seq > mode.seq)
      assert.strictEqual(next?.data.planActive, mode.data.active)
      assert.isFalse(events.slice(mode.seq, next?.seq).some(({ type }) => type === "message/assistant"))
    }
    // A request carries the guidance if and only if the fold at its boundary is active; after an exit none does.
    assert.strictEqual(requests.length, opened.length)
    opened.forEach((open, index) => {
      const { active } = Projection.fold(PlanProjection, events.slice(0, open.seq)).state
      assert.strictEqual(open.data.planActive, active)
      assert.strictEqual(open.data.tail ?? undefined, requests[index]?.tail)
      assert.strictEqual(requests[index]?.tail !== undefined, active, `request ${index + 1}`)
      assert.isFalse(
        requests[index]?.messages.slice(0, active ? -1 : undefined).some(({ content, role }) =>
          role === "user" && content.includes("# Plan mode is on")
        ),
        "the guidance is nowhere else"
      )
    })
    // The messages of the entries are logged under guidance, the one after the exit is not.
    for (const [text, active] of [[message, true], [secondMessage, true], [last, false]] as const) {
      const logged = ofType(events, "message/user").find(({ data }) => data.text === text)
      assert.isDefined(logged, text)
      assert.strictEqual(foldPlanMode(events.slice(0, logged?.seq)).active, active, text)
      assert.strictEqual(opened.find(({ seq }) => seq > (logged?.seq ?? 0))?.data.planActive, active, text)
    }
    // Commands are said to the harness, not to the model.
    assert.isFalse(requests.some(({ body }) => body.includes("/plan")))
    // The one notice tells of the exit that no result had told of.
    const notices = ofType(events, "message/user").filter(({ data }) => data.source.kind === "plugin")
    assert.deepStrictEqual(
      notices.map(({ data }) => data.text),
      [
        "The user switched to plan mode. From this step on, only look and think; submit a plan with exit_plan_mode.",
        "The user left plan mode. You may change things again, as the task needs."
      ]
    )

    // The requests that were really sent.
    assert.strictEqual(ofType(events, "request/header").length, 1)
    assertStable(requests)
    await assertMissesOnlyWhatIsNew(requests, requestRows(events))
    await rm(folder, { recursive: true })
  })
})
