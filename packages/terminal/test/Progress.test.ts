import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { initialProgress, type ProgressEvent, type ProgressState, render, status } from "../src/Progress.ts"
import { ProgressView } from "../src/ProgressView.ts"
import { plainStyle } from "../src/Style.ts"
import { TerminalUi } from "../src/TerminalUi.ts"
import { scriptedTerminal } from "./support/ScriptedTerminal.ts"

const run = (events: ReadonlyArray<ProgressEvent>, columns?: number): readonly [ProgressState, string] => {
  let state = initialProgress
  let out = ""
  for (const event of events) {
    const [next, text] = render(state, event, columns === undefined ? {} : { columns })
    state = next
    out += text
  }
  return [state, out]
}

const turn: ReadonlyArray<ProgressEvent> = [
  { _tag: "PlanMode", active: true },
  { _tag: "Thinking", text: "Let me " },
  { _tag: "Thinking", text: "look." },
  { _tag: "Text", text: "I read\nthe fi" },
  { _tag: "Text", text: "les.\r" },
  { _tag: "Text", text: "\nDone" },
  { _tag: "ToolStarted", title: "read_file a.ts" },
  { _tag: "Tokens", count: 1234 },
  { _tag: "ToolFinished", title: "read_file a.ts", outcome: "ok", summary: "12 lines" },
  { _tag: "ToolStarted", title: "edit_file a.ts" },
  { _tag: "ToolFinished", title: "edit_file a.ts", outcome: "refused", summary: "plan mode" },
  { _tag: "Waiting", title: "Plan: tests", asker: "the agent" },
  { _tag: "Retrying", inMillis: 2500, reason: "429" },
  { _tag: "Notice", text: "a\u001b[2Jb", from: "child" },
  { _tag: "PlanMode", active: false },
  { _tag: "TurnEnded", reason: "done", detail: "3 steps" }
]

const expected = `◆ plan mode is on: nothing will be changed
thought (12 characters)
  I read
  the files.
  Done
▸ read_file a.ts
✓ read_file a.ts: 12 lines
▸ edit_file a.ts
⊘ edit_file a.ts: plan mode
… the agent waits for a person: Plan: tests
↻ trying again in 2.5 s: 429
[child] · a<U+001B>[2Jb
◇ plan mode is off
■ turn ended: done (3 steps)
`

describe("progress", () => {
  it("is plain lines", () => {
    const [state, out] = run(turn)
    assert.strictEqual(out, expected)
    assert.deepStrictEqual(state, initialProgress)
  })

  it("does not depend on how text is cut into deltas, and lets no control character through", () => {
    const text = fc.array(fc.constantFrom("a", "测", "\n", "\r\n", "\u001b[1m", " ", "👩‍👩‍👧", "\t"), { maxLength: 30 })
      .map((parts) => parts.join(""))
    fc.assert(
      fc.property(text, text, fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1 }), (thought, said, sizes) => {
        const cut = (_tag: "Text" | "Thinking", whole: string): ReadonlyArray<ProgressEvent> => {
          const out: Array<ProgressEvent> = []
          for (let at = 0, index = 0; at < whole.length; index++) {
            const size = sizes[index % sizes.length] ?? 1
            out.push({ _tag, text: whole.slice(at, at + size) })
            at += size
          }
          return out
        }
        const end: ProgressEvent = { _tag: "TurnEnded", reason: "done" }
        const [, whole] = run([{ _tag: "Thinking", text: thought }, { _tag: "Text", text: said }, end])
        const [, pieces] = run([...cut("Thinking", thought), ...cut("Text", said), end])
        assert.strictEqual(pieces, whole)
        assert.notMatch(pieces.replaceAll("\n", ""), /\p{Cc}/u)
      })
    )
  })

  it("finishes an unfinished line when the reply ends, so that a question stands below it", () => {
    const reply: ReadonlyArray<ProgressEvent> = [{ _tag: "Text", text: "I will ask" }, { _tag: "ReplyEnded" }]
    assert.strictEqual(run(reply)[1], "  I will ask\n")
    assert.strictEqual(run([...reply, { _tag: "ReplyEnded" }])[1], "  I will ask\n", "once")
  })

  it("keeps what a model writes apart from what the program writes, also when it wraps", () => {
    const [, out] = run([{ _tag: "Text", text: `✓ run_command rm: ok ${"x".repeat(50)}\n` }], 20)
    for (const line of out.trimEnd().split("\n")) assert.match(line, /^ {2}/)
  })

  it("shows what is going on, and nothing when nothing is", () => {
    const moment = { elapsedMillis: 3200, frame: 0, columns: 60, rows: 20, style: plainStyle }
    assert.deepStrictEqual(status(initialProgress, moment), [])
    const [thinking] = run([{ _tag: "Tokens", count: 1500 }, {
      _tag: "Thinking",
      text: "so first I need\nto see the code"
    }])
    assert.deepStrictEqual(status(thinking, moment), ["⠋ thinking 3 s · 1.5k tokens · first I need to see the code"])
    const [tools] = run([{ _tag: "ToolStarted", title: "a" }, { _tag: "ToolStarted", title: "b" }])
    assert.deepStrictEqual(status(tools, moment), ["⠋ b (+1) 3 s"])
    const [text] = run([{ _tag: "Text", text: "half a line" }])
    assert.deepStrictEqual(status(text, moment), ["  half a line", "⠋ thinking 3 s"])
  })

  it.effect("prints the same lines without a terminal", () => {
    const terminal = scriptedTerminal({ capabilities: { canPrompt: false, canAnimate: false, canColor: true } })
    return Effect.gen(function*() {
      yield* ProgressView.run(Stream.fromIterable(turn))
      assert.strictEqual(terminal.output(), expected)
    }).pipe(Effect.provide(TerminalUi.layer.pipe(Layer.provide(terminal.layer))))
  })

  it.effect("shows the unfinished line at a fixed pace, and leaves only finished ones", () => {
    const terminal = scriptedTerminal()
    return Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const view = yield* ProgressView.make()
        for (const word of ["one ", "two ", "three"]) yield* view.show({ _tag: "Text", text: word })
        assert.strictEqual(yield* terminal.text, "", "nothing is painted before the next tick")
        yield* TestClock.adjust(100)
        assert.match(yield* terminal.text, /^ {2}one two three\n. thinking 0 s$/)
        yield* TestClock.adjust(2000)
        assert.match(yield* terminal.text, /^ {2}one two three\n. thinking 2 s$/)
        for (const event of turn.slice(6)) yield* view.show(event)
      }))
      assert.strictEqual(yield* terminal.text, `  one two three\n${expected.slice(expected.indexOf("▸")).trimEnd()}`)
      assert.isTrue(terminal.output().endsWith("\u001b[?25h") || !terminal.output().includes("\u001b[?25l"))
    }).pipe(Effect.provide(TerminalUi.layer.pipe(Layer.provide(terminal.layer))))
  })
})
