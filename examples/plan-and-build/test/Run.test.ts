/** The program without a terminal, as a process; and the requests that it makes. */
import { Agent, foldPlanMode, Interaction, SessionId, Sessions } from "@holdfast/core"
import { DeepSeekLocal } from "@holdfast/deepseek-local"
import { JournalSql } from "@holdfast/journal-sql"
import { makeScriptedPerson } from "@holdfast/terminal"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { rm } from "node:fs/promises"
import { app, overLocal } from "../src/App.ts"
import { scriptedAnswer } from "../src/Person.ts"
import { changes, defaultTask, makeProject } from "../src/Project.ts"
import { requestRows } from "../src/Report.ts"
import { story } from "../src/Story.ts"
import { summarise } from "../src/View.ts"
import {
  assertMissesOnlyWhatIsNew,
  assertStable,
  folderIn,
  ofType,
  readEvents,
  run,
  sessionIn,
  takeApart,
  workplace
} from "./support.ts"

/** The texts stand in the output, in this order. */
const assertInOrder = (out: string, texts: ReadonlyArray<string>): void => {
  let from = 0
  for (const text of texts) {
    const at = out.indexOf(text, from)
    assert.isAtLeast(at, 0, `not found, or not after what should stand before it: ${text}\n${out}`)
    from = at + text.length
  }
}

describe("without a terminal", { timeout: 300_000 }, () => {
  it("plans, is refused, is sent back, is approved, builds, tests and reports", async () => {
    await using place = await workplace()
    const { code, err, out } = await run("--journal", place.journal)
    assert.strictEqual(err, "")
    assert.strictEqual(code, 0)
    assertInOrder(out, [
      "person   no terminal, so a script answers: first with feedback, then with consent",
      `task     ${defaultTask}`,
      "  I will look at the parser and its tests first.",
      "◆ plan mode is on: nothing will be changed",
      "✓ list_dir .: .git/  AGENTS.md  README.md  package.json  src/  test/",
      "✓ read_file src/csv.ts: 14 lines",
      "⊘ edit_file src/csv.ts: edit_file was not run: this is the read-only planning phase.",
      // The whole plan, behind the bar, and who answered.
      "? the agent asks for a review of its plan\n  Fix the dropped last field\n│ # Fix the dropped last field\n│\n│ 1. ",
      "  possible answers: Approve / Keep planning / a text\n" +
      "✔ answered by a script, not by a person: \"Please also add a test for the empty line.\"",
      "⊘ exit_plan_mode: The person did not approve the plan and answered: Please also add a test for the empty line.",
      "│ # Fix the dropped last field and cover the empty line\n│\n│ 1. ",
      "│ 3. Run `node --test` and look at the result.\n│\n│ Nothing else changes; `parseLine` keeps its signature.\n",
      "✔ answered by a script, not by a person: Approve",
      "◇ plan mode is off",
      // Each edit with its diff, the process with its command line and folder.
      "file src/csv.ts\n│ --- a/src/csv.ts\n│ +++ b/src/csv.ts\n│ @@ -10,5 +10,6 @@\n",
      "│ +  fields.push(field)\n",
      "✔ answered by a script, not by a person: Yes, once",
      "✓ edit_file src/csv.ts: Edited \"src/csv.ts\" at line 13.",
      "│ +test(\"an empty line is one empty field\", () => {\n",
      `runs this command line\n│ node --test\nin the folder ${folderIn(out)}\n`,
      "✓ run_command node --test: 3 tests, 3 passed, 0 failed",
      "■ turn ended: completed",
      "\nWhat changed in the folder\n",
      "+  fields.push(field)\n",
      "+test(\"an empty line is one empty field\", () => {\n",
      "\nThe journal: every fact of the session, in order\n",
      "plan mode selected on by the model",
      "edit_file: refused [plan_gate]",
      "answered: feedback \"Please also add a test for the empty line.\"",
      "answered: approved",
      "plan mode selected off by the review",
      "edit_file starts, approved by the person",
      "\nThe requests, in tokens",
      "request  planning  prompt  from cache  read anew  hit rate  reply\n",
      "    all ",
      `--journal ${place.journal} --resume ${sessionIn(out)}\n`
    ])
    assert.notMatch(out.replaceAll("\n", ""), /\p{Cc}/u, "nothing in it acts on a terminal")
    await rm(folderIn(out), { recursive: true })
  })

  it("PM C12: lists sessions, goes on with the last one, and starts in plan mode when it is told to", async () => {
    await using place = await workplace()
    const journal = ["--journal", place.journal]
    assert.deepStrictEqual(await run(...journal, "--list"), { code: 0, out: "There are no sessions.\n", err: "" })
    const none = await run(...journal, "--resume", "last")
    assert.deepStrictEqual([none.code, none.out, none.err], [1, "", `There are no sessions in ${place.journal}.\n`])

    const first = await run(...journal, "--plan")
    assert.strictEqual(first.code, 0, first.out + first.err)
    const session = sessionIn(first.out)
    const events = await readEvents(place.journal, session)
    assert.deepStrictEqual(
      events.slice(0, 5).map((event) => event.type),
      ["session/created", "plan/selected", "turn/start", "input/received", "plan/mode"]
    )
    assert.deepInclude(events[1]?.data, { active: true, by: "user" })
    const opened = ofType(events, "step/open")
    assert.isTrue(opened[0]?.data.planActive, "the first request is one of planning")
    assert.isFalse(opened.at(-1)?.data.planActive)
    assert.notInclude(first.out, "enter_plan_mode", "there is nothing to enter")
    assert.include(first.out, "⊘ edit_file src/csv.ts")

    const listed = await run(...journal, "--list")
    assert.match(listed.out, new RegExp(`^${session} {2}\\S+ {2}${events.length} events\n$`))

    const resumed = await run(...journal, "--resume", "last")
    assert.strictEqual(resumed.code, 0, resumed.out + resumed.err)
    assert.strictEqual(sessionIn(resumed.out), session)
    assert.strictEqual(folderIn(resumed.out), folderIn(first.out))
    assert.include(resumed.out, "+  fields.push(field)")
    assert.deepStrictEqual(
      await readEvents(place.journal, session),
      events,
      "a finished session has nothing to go on with"
    )

    const unknown = await run(...journal, "--resume", "nobody")
    assert.deepStrictEqual([unknown.code, unknown.out], [1, ""])
    assert.strictEqual(
      unknown.err,
      `There is no session "nobody" in ${place.journal}; --list shows those that there are.\n`
    )

    await rm(folderIn(first.out), { recursive: true })
    const gone = await run(...journal, "--resume", session)
    assert.deepStrictEqual([gone.code, gone.out], [1, ""])
    assert.include(gone.err, "is not there any more")
  })
})

describe("the requests", { timeout: 300_000 }, () => {
  it("PM B9: never change a byte of header or history, and miss only what is new", async () => {
    const root = await Effect.runPromise(makeProject)
    const local = DeepSeekLocal.layer({ scenario: story, tokens: "exact" })
    const person = Layer.succeed(Interaction, makeScriptedPerson(scriptedAnswer, () => Effect.void))
    const program = Effect.gen(function*() {
      const sessions = yield* Sessions
      const session = yield* sessions.create({ id: SessionId.make("requests"), cwd: root })
      const agent = yield* (yield* Agent).open(session)
      const end = yield* agent.prompt(defaultTask)
      assert.strictEqual(end.reason, "completed")
      const events = yield* Stream.runCollect(sessions.read(session.id))
      return { events, requests: [...(yield* DeepSeekLocal).requests] }
    }).pipe(
      Effect.scoped,
      Effect.provide(
        app({ root, artifacts: `${root}.artifacts` }).pipe(
          Layer.provide(person),
          Layer.provide(overLocal),
          Layer.provide(JournalSql.layerSqlite({ filename: ":memory:" })),
          Layer.provideMerge(local)
        )
      )
    )
    const { events, requests } = await Effect.runPromise(program)
    const sent = requests.map((request) => takeApart(Buffer.from(request.body).toString()))
    const rows = requestRows(events)

    assert.strictEqual(sent.length, 9)
    assertStable(sent)
    assert.deepStrictEqual(sent.map(({ tail }) => tail !== undefined), rows.map(({ planning }) => planning))
    assert.deepStrictEqual(rows.map(({ planning }) => planning), [
      false,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      false
    ])
    await assertMissesOnlyWhatIsNew(sent, rows)
    // The report shows what the provider counted.
    assert.deepStrictEqual(
      rows.map(({ completion, hit, miss, prompt }) => [prompt, hit, miss, completion]),
      requests.map(({ usage }) => [
        usage?.prompt_tokens,
        usage?.prompt_cache_hit_tokens,
        usage?.prompt_cache_miss_tokens,
        usage?.completion_tokens
      ])
    )
    assert.isFalse(foldPlanMode(events).active)
    assert.include(await Effect.runPromise(changes(root)), "+  fields.push(field)")
    await rm(root, { recursive: true })
  })
})

describe("a summary", () => {
  it("says what matters of a result on one line", () => {
    const spec =
      "✔ splits (1.4ms)\nℹ tests 3\nℹ suites 0\nℹ pass 2\nℹ fail 1\nℹ duration_ms 9\n(Exit code 1, in under a second.)"
    assert.strictEqual(summarise("run_command", "ok", spec), "3 tests, 2 passed, 1 failed")
    assert.strictEqual(summarise("run_command", "ok", "# tests 1\n# pass 1\n# fail 0\n"), "1 test, 1 passed, 0 failed")
    assert.strictEqual(
      summarise("run_command", "ok", "building\ndone in 3 s\n\n(Exit code 0, in 3 seconds.)"),
      "done in 3 s"
    )
    assert.strictEqual(summarise("run_command", "ok", "(No output.)\n(Exit code 0.)"), "(Exit code 0.)")
    assert.strictEqual(summarise("read_file", "ok", "a\n\nb\n"), "3 lines")
    assert.strictEqual(
      summarise("edit_file", "refused", "It was not run.\n\nBecause of this. And that."),
      "It was not run."
    )
    assert.strictEqual(summarise("edit_file", "ok", "Edited \"a.ts\" at line 3. More."), "Edited \"a.ts\" at line 3.")
    assert.strictEqual(summarise("anything", "ok", "x".repeat(500)).length, 160)
    assert.strictEqual(summarise("grep", "ok", ""), "")
  })
})
