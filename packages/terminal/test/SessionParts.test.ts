/** The screen, the keys, the input line and the scripted person over a terminal in memory. */
import { choose, dismiss, Interaction, say } from "@holdfast/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Option, type Terminal } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { editLine, emptyLine, lineText } from "../src/LineEditor.ts"
import { InputHistory, readLine } from "../src/ReadLine.ts"
import { Screen } from "../src/Screen.ts"
import { consent, makeScriptedPerson, ScriptedPerson } from "../src/ScriptedPerson.ts"
import { TerminalInteraction } from "../src/TerminalInteraction.ts"
import { initialKeys, stepKeys, TerminalKeys } from "../src/TerminalKeys.ts"
import { TerminalUi } from "../src/TerminalUi.ts"
import { commandApproval, editApproval, openQuestion, planReview } from "./support/questions.ts"
import { type ScriptedTerminal, scriptedTerminal } from "./support/ScriptedTerminal.ts"

const key = (name: string, more: Partial<Terminal.Key> & { readonly text?: string } = {}): Terminal.UserInput => ({
  input: Option.fromUndefinedOr(more.text),
  key: { name, ctrl: more.ctrl ?? false, meta: more.meta ?? false, shift: more.shift ?? false }
})

const app = (terminal: ScriptedTerminal) =>
  TerminalInteraction.layer().pipe(Layer.provideMerge(TerminalUi.layer), Layer.provide(terminal.layer))

describe("the line editor", () => {
  it("moves and deletes by what a person sees", () => {
    let state = emptyLine
    const send = (...inputs: ReadonlyArray<Terminal.UserInput>) => {
      for (const one of inputs) {
        const next = editLine(state, one)
        if (next !== undefined && next !== "submit") state = next
      }
    }
    for (const text of ["a", "👩", "\u200d", "👩", "测", " ", "b"]) send(key("", { text }))
    assert.strictEqual(lineText(state), "a👩\u200d👩测 b")
    send(key("left"), key("left"), key("left"), key("backspace"))
    assert.strictEqual(lineText(state), "a测 b")
    send(key("end"), key("w", { ctrl: true }), key("home"), key("delete"))
    assert.strictEqual(lineText(state), "测 ")
    send(key("f1", { text: "\u001bOP" }), key("x", { text: "x", meta: true }), key("", { text: "\u0001" }))
    assert.strictEqual(lineText(state), "测 ")
  })
})

describe("TerminalKeys", () => {
  const ctrlC = key("c", { ctrl: true })
  const at = (now: number, running = true) => ({ now, running, window: 2000 })
  it("interrupts first, and exits on the second Ctrl-C within the time", () => {
    const [armed, first] = stepKeys(initialKeys, ctrlC, at(1000))
    assert.strictEqual(first, "interrupt")
    assert.strictEqual(stepKeys(armed, ctrlC, at(2999))[1], "exit")
    assert.strictEqual(stepKeys(armed, ctrlC, at(3000))[1], "interrupt")
    assert.strictEqual(stepKeys(armed, ctrlC, at(3000, false))[1], "warn")
    const [disarmed] = stepKeys(armed, key("x"), at(1500))
    assert.strictEqual(stepKeys(disarmed, ctrlC, at(1600))[1], "interrupt")
    const [gone] = stepKeys(armed, ctrlC, at(1100))
    assert.strictEqual(stepKeys(gone, ctrlC, at(1200))[1], undefined)
    assert.strictEqual(stepKeys(initialKeys, key("tab", { shift: true }), at(0))[1], "toggle-plan")
    assert.strictEqual(stepKeys(initialKeys, key("tab"), at(0))[1], undefined)
  })

  it.effect("runs one toggle after the other, and hears Ctrl-C while an interruption takes its time", () => {
    const terminal = scriptedTerminal()
    return Effect.gen(function*() {
      const log: Array<string> = []
      yield* TerminalKeys.install({
        onInterrupt: Effect.andThen(Effect.sync(() => void log.push("interrupt")), Effect.never),
        onExit: Effect.sync(() => void log.push("exit")),
        onTogglePlan: Effect.gen(function*() {
          log.push("toggle")
          yield* Effect.sleep(100)
          log.push("toggled")
        })
      })
      yield* terminal.press({ name: "tab", shift: true }, { name: "tab", shift: true })
      yield* TestClock.adjust(100)
      yield* TestClock.adjust(100)
      yield* terminal.press({ name: "c", ctrl: true }, { name: "c", ctrl: true })
      assert.deepStrictEqual(log, ["toggle", "toggled", "toggle", "toggled", "interrupt", "exit"])
      assert.strictEqual(terminal.readers(), 0, "after that Ctrl-C is a signal again")
    }).pipe(Effect.scoped, Effect.provide(app(terminal)))
  })
})

describe("readLine", () => {
  it.effect("keeps a draft while the history is looked through", () => {
    const terminal = scriptedTerminal()
    const history = new InputHistory(["one", "two"])
    return Effect.gen(function*() {
      const line = yield* Effect.forkChild(readLine({ history }), { startImmediately: true })
      yield* terminal.press("d", "up", "up", "up", "down", "down", "!", "return")
      assert.strictEqual(yield* Fiber.join(line), "d!")
      assert.deepStrictEqual(history.entries, ["one", "two", "d!"])
      const next = yield* Effect.forkChild(Effect.exit(readLine({ history })), { startImmediately: true })
      yield* terminal.press({ name: "c", ctrl: true })
      const exit = yield* Fiber.join(next)
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(yield* terminal.text, "› d!")
    }).pipe(Effect.provide(app(terminal)))
  })
})

describe("ScriptedPerson", () => {
  it.effect("answers by intent and in order, says so, and has no answer for the rest", () => {
    const terminal = scriptedTerminal({ capabilities: { canPrompt: false, canAnimate: false } })
    return Effect.gen(function*() {
      const { ask } = yield* Interaction
      assert.deepStrictEqual(yield* ask(commandApproval("npm test")), choose("once"))
      assert.deepStrictEqual(yield* ask(planReview("# Plan\n\u001b[2J")), say("smaller"))
      assert.deepStrictEqual(yield* ask(planReview("# Plan")), choose("approve"))
      assert.strictEqual((yield* Effect.flip(ask(planReview("# Plan"))))._tag, "InteractionUnavailable")
      const out = terminal.output()
      assert.strictEqual(
        out,
        "? child agent research › docs asks for permission\n  Run a command\nruns this command line\n│ npm test\n" +
          "in the folder /srv/project\n" +
          "  possible answers: Yes, once / Yes, for the rest of the session / No / a text\n" +
          "✔ answered by a script, not by a person: Yes, once\n" +
          "? the agent asks for a review of its plan\n  Plan: add tests\n│ # Plan\n│ <U+001B>[2J\n" +
          "1 character that a terminal would act on or hide is shown as <U+XXXX>.\n" +
          "  possible answers: Approve / Keep planning / a text\n" +
          "✔ answered by a script, not by a person: \"smaller\"\n" +
          "? the agent asks for a review of its plan\n  Plan: add tests\n│ # Plan\n" +
          "  possible answers: Approve / Keep planning / a text\n" +
          "✔ answered by a script, not by a person: Approve\n" +
          "? the agent asks for a review of its plan\n  Plan: add tests\n│ # Plan\n" +
          "  possible answers: Approve / Keep planning / a text\n✗ the script has no answer for this question\n"
      )
      assert.notMatch(out.replaceAll("\n", ""), /\p{Cc}/u)
    }).pipe(Effect.provide(
      ScriptedPerson.layer([
        { when: "plan-review", answer: say("smaller") },
        { when: "approval", answer: consent, times: 2 },
        { when: (question) => question.detail === "# Plan", answer: consent }
      ]).pipe(Layer.provideMerge(TerminalUi.layer), Layer.provide(terminal.layer))
    ))
  })

  it.effect("shows an edit as its diff and keeps long lines whole", () => {
    const terminal = scriptedTerminal({ capabilities: { canPrompt: false, canAnimate: false } })
    const long = "x".repeat(300)
    return Effect.gen(function*() {
      yield* (yield* Interaction).ask(editApproval(`@@ -1 +1 @@\n-a\n+${long}\n`))
      assert.include(terminal.output(), `file src/a.ts\n│ @@ -1 +1 @@\n│ -a\n│ +${long}\n│\n`)
    }).pipe(Effect.provide(
      ScriptedPerson.layer(consent).pipe(Layer.provideMerge(TerminalUi.layer), Layer.provide(terminal.layer))
    ))
  })

  it.effect("answers by a function", () =>
    Effect.gen(function*() {
      const person = makeScriptedPerson((question) => question.options.length > 2 ? dismiss : undefined, () =>
        Effect.void)
      assert.deepStrictEqual(yield* person.ask(openQuestion()), dismiss)
    }))
})

describe("the screen", () => {
  it("holds what was printed and, below it, what is live, in whatever order they come", async () => {
    const row = fc.constantFrom("", "a", "测试 wide", "x".repeat(39), "👩‍👩‍👧 family")
    const command = fc.oneof(
      fc.record({ kind: fc.constant("print" as const), text: row }),
      fc.record({
        kind: fc.constant("set" as const),
        part: fc.constantFrom("progress", "input", "question"),
        rows: fc.option(fc.array(row, { minLength: 1, maxLength: 3 })),
        cursor: fc.boolean()
      })
    )
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 15 }), async (commands) => {
        const terminal = scriptedTerminal({ columns: 40, rows: 12 })
        const printed: Array<string> = []
        const live = new Map<string, ReadonlyArray<string>>()
        await Effect.runPromise(
          Effect.gen(function*() {
            const screen = yield* Screen
            const parts = {
              progress: yield* screen.live("progress"),
              input: yield* screen.live("input"),
              question: yield* screen.live("question")
            }
            for (const one of commands) {
              if (one.kind === "print") {
                printed.push(one.text)
                yield* screen.print(one.text === "" ? "\n" : one.text)
              } else {
                const part = parts[one.part as keyof typeof parts]
                if (one.rows === null) live.delete(one.part)
                else live.set(one.part, one.rows)
                yield* part.set(
                  one.rows === null
                    ? undefined
                    : { rows: one.rows, ...(one.cursor && { cursor: { row: 0, column: 1 } }) }
                )
              }
            }
            const shown = live.has("question")
              ? live.get("question") ?? []
              : [...live.get("progress") ?? [], ...live.get("input") ?? []]
            assert.strictEqual(yield* terminal.text, [...printed, ...shown].join("\n").trimEnd())
          }).pipe(Effect.scoped, Effect.provide(TerminalUi.layer.pipe(Layer.provide(terminal.layer))))
        )
        assert.strictEqual(await Effect.runPromise(terminal.text), printed.join("\n").trimEnd(), "nothing live stays")
      }),
      { numRuns: 200 }
    )
  })
})
