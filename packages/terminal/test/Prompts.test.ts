/** The prompts over a terminal in memory: what must hold whatever a person does. */
import { choose, dismiss, Interaction, say } from "@holdfast/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, type Terminal } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { page } from "../src/Pager.ts"
import { initialPrompt, promptFrame, promptModel, ready, stepPrompt } from "../src/QuestionPrompt.ts"
import { plainStyle } from "../src/Style.ts"
import { TerminalInteraction } from "../src/TerminalInteraction.ts"
import { TerminalKeys } from "../src/TerminalKeys.ts"
import { TerminalUi } from "../src/TerminalUi.ts"
import { displayWidth } from "../src/Width.ts"
import { commandApproval, openQuestion, planReview } from "./support/questions.ts"
import { type ScriptedTerminal, scriptedTerminal } from "./support/ScriptedTerminal.ts"

const key = (name: string, more: Partial<Terminal.Key> & { readonly text?: string } = {}): Terminal.UserInput => ({
  input: Option.fromUndefinedOr(more.text),
  key: { name, ctrl: more.ctrl ?? false, meta: more.meta ?? false, shift: more.shift ?? false }
})

const app = (terminal: ScriptedTerminal) =>
  TerminalInteraction.layer().pipe(Layer.provideMerge(TerminalUi.layer), Layer.provide(terminal.layer))

const settle = Effect.andThen(TestClock.adjust(300), Effect.yieldNow)

describe("TerminalInteraction", () => {
  it.effect("ends its reading with the question, answered or withdrawn", () => {
    const terminal = scriptedTerminal()
    return Effect.gen(function*() {
      const { ask } = yield* Interaction
      const asked = yield* Effect.forkChild(ask(planReview("# Plan")), { startImmediately: true })
      yield* settle
      assert.strictEqual(terminal.readers(), 1)
      yield* terminal.press("return")
      assert.deepStrictEqual(yield* Fiber.join(asked), choose("approve"))
      assert.strictEqual(terminal.readers(), 0)

      const withdrawn = yield* Effect.forkChild(ask(planReview("# Plan")), { startImmediately: true })
      yield* settle
      yield* Fiber.interrupt(withdrawn)
      assert.strictEqual(terminal.readers(), 0)
      assert.isTrue((yield* terminal.text).endsWith("│ # Plan\n✗ withdrawn: Plan: add tests"))
      assert.isTrue(terminal.output().lastIndexOf("\u001b[?25h") > terminal.output().lastIndexOf("\u001b[?25l"))

      const again = yield* Effect.forkChild(ask(planReview("# Plan")), { startImmediately: true })
      yield* settle
      yield* terminal.press("down", "return")
      assert.deepStrictEqual(yield* Fiber.join(again), choose("keep"))
    }).pipe(Effect.provide(app(terminal)))
  })

  it.effect("also over a terminal whose reader ends at Escape", () => {
    const terminal = scriptedTerminal({ quits: true })
    return Effect.gen(function*() {
      const { ask } = yield* Interaction
      const asked = yield* Effect.forkChild(ask(planReview("# Plan")), { startImmediately: true })
      yield* settle
      yield* terminal.press("up", "return", "x", "escape", "up", "return")
      assert.deepStrictEqual(yield* Fiber.join(asked), choose("keep"))
    }).pipe(Effect.provide(app(terminal)))
  })

  it.effect("is unavailable when the input ends, and without a terminal", () => {
    const terminal = scriptedTerminal()
    const none = scriptedTerminal({ capabilities: { canPrompt: false } })
    return Effect.gen(function*() {
      const asked = yield* Effect.forkChild(
        Effect.flip(Interaction.use(({ ask }) => ask(planReview("# Plan")))).pipe(Effect.provide(app(terminal))),
        { startImmediately: true }
      )
      yield* settle
      yield* terminal.end
      assert.strictEqual((yield* Fiber.join(asked))._tag, "InteractionUnavailable")
      const failure = yield* Effect.flip(Interaction.use(({ ask }) => ask(planReview("# Plan")))).pipe(
        Effect.provide(app(none))
      )
      assert.strictEqual(failure._tag, "InteractionUnavailable")
      assert.strictEqual(none.output(), "")
      assert.strictEqual(none.readers(), 0)
    })
  })

  it.effect("lets nobody answer who has not stopped typing", () => {
    const terminal = scriptedTerminal()
    return Effect.gen(function*() {
      const { ask } = yield* Interaction
      const asked = yield* Effect.forkChild(ask(planReview("# Plan")), { startImmediately: true })
      for (let index = 0; index < 5; index++) {
        yield* TestClock.adjust(200)
        yield* terminal.press("return")
      }
      assert.isUndefined(asked.pollUnsafe())
      yield* settle
      yield* terminal.press("return")
      assert.deepStrictEqual(yield* Fiber.join(asked), choose("approve"))
    }).pipe(Effect.provide(app(terminal)))
  })

  it.effect("passes Ctrl-C on, and closes the question if nothing comes of it", () => {
    const terminal = scriptedTerminal()
    return Effect.gen(function*() {
      const { ask } = yield* Interaction
      let interrupted = 0
      yield* TerminalKeys.install({ onInterrupt: Effect.sync(() => void interrupted++), onExit: Effect.void })
      const asked = yield* Effect.forkChild(ask(planReview("# Plan")), { startImmediately: true })
      yield* settle
      yield* terminal.press({ name: "c", ctrl: true })
      assert.strictEqual(interrupted, 1)
      assert.isUndefined(asked.pollUnsafe())
      yield* TestClock.adjust(400)
      assert.deepStrictEqual(yield* Fiber.join(asked), dismiss)
      assert.strictEqual(terminal.readers(), 1, "the keys of the session stay")
    }).pipe(Effect.scoped, Effect.provide(app(terminal)))
  })
})

describe("the question prompt", () => {
  const names = [
    "up",
    "down",
    "tab",
    "space",
    "return",
    "escape",
    "v",
    "q",
    "1",
    "3",
    "paste-start",
    "paste-end",
    "x",
    "backspace"
  ]
  const input = fc.constantFrom(...names).map((name) => key(name, [...name].length === 1 ? { text: name } : {}))

  it("consents only by Enter on the option that is marked as current on the screen, outside of a paste", () => {
    fc.assert(
      fc.property(fc.array(input, { maxLength: 30 }), fc.boolean(), fc.boolean(), (inputs, long, late) => {
        const question = commandApproval("npm test")
        const model = promptModel(question, Array.from({ length: 50 }, String), long)
        const size = { columns: 60, rows: 16 }
        let state = initialPrompt(model)
        if (!late) state = { ...state, ready: true }
        for (const pressed of inputs) {
          const frame = promptFrame(model, state, plainStyle, size)
          assert.isBelow(frame.rows.length, size.rows)
          for (const row of frame.rows) assert.isBelow(displayWidth(row), size.columns)
          const step = stepPrompt(model, state, pressed, size)
          if (step._tag === "Next") {
            state = step.state
            continue
          }
          assert.isFalse(late, "nothing is answered before keys count")
          if (step.answer._tag === "Answered" && step.answer.text === undefined) {
            assert.strictEqual(pressed.key.name, "return")
            const current = frame.rows.find((row) => row.startsWith("❯"))
            const option = question.options.find((one) =>
              one.id === (step.answer._tag === "Answered" && step.answer.selected[0])
            )
            assert.include(current, option?.label)
            const pasting = inputs.slice(0, inputs.indexOf(pressed)).map((one) => one.key.name)
            assert.isFalse(pasting.at(-1) === "paste-start")
          }
          return
        }
      }),
      { numRuns: 1000 }
    )
  })

  it("shows the current option however many there are, and whole labels however long", () => {
    const options = Array.from(
      { length: 40 },
      (_, index) => ({ id: `${index}`, label: `option ${index} ${"long ".repeat(20)}` })
    )
    const model = promptModel(openQuestion({ options, multiple: false }), [], false)
    const size = { columns: 40, rows: 12 }
    for (let at = 0; at < 40; at++) {
      const frame = promptFrame(model, { ...initialPrompt(model), ready: true, at }, plainStyle, size)
      assert.include(frame.rows.join("\n"), `❯ ${at + 1}. option ${at} `)
      assert.isBelow(frame.rows.length, size.rows)
    }
  })

  it("writes at once when there is nothing to choose, and does not send what is blank", () => {
    const model = promptModel(openQuestion({ options: [] }), [], false)
    const size = { columns: 40, rows: 12 }
    let step = stepPrompt(model, initialPrompt(model), key(ready), size)
    for (const pressed of [key("space", { text: " " }), key("return"), key("x", { text: "x" }), key("return")]) {
      if (step._tag === "Next") step = stepPrompt(model, step.state, pressed, size)
    }
    assert.deepStrictEqual(step, { _tag: "Done", answer: say(" x"), label: "answered:  x" })
  })

  it("escapes labels", () => {
    const model = promptModel(openQuestion({ options: [{ id: "a", label: "a\u001b[2Jb\nc" }] }), [], false)
    assert.strictEqual(model.choices[0]?.label, "a<U+001B>[2Jb c")
  })

  it("pages within the text", () => {
    let state = { top: 0 }
    for (const name of ["pagedown", "pagedown", "pagedown", "pagedown", "pagedown", "up"]) {
      const next = page(state, key(name).key, 100, 30)
      if (next !== "close") state = next
    }
    assert.deepStrictEqual(state, { top: 69 })
    assert.strictEqual(page(state, key("return").key, 100, 30) === "close", false)
  })
})
