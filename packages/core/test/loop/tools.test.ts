import { assert, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Tool, Toolkit } from "effect/ai"
import { ToolCatalog, ToolDeadline, ToolHooks, ToolOutputLimit } from "../../src/index.ts"
import { inOrder } from "../support/ScriptedModel.ts"
import { log, ofType, results, start, world } from "../support/World.ts"

const done = { text: "done" }

/** Runs one reply with these calls, and returns the results that the model got. */
const outcomes = (
  calls: ReadonlyArray<readonly [string, unknown]>,
  options: Partial<Parameters<typeof world>[0]> = {},
  layer: Layer.Layer<never> = Layer.empty
) => {
  const w = world({ script: inOrder({ calls }, done), approval: { policy: () => "allow" }, ...options })
  return Effect.gen(function*() {
    const agent = yield* start()
    const end = yield* agent.prompt("go")
    const events = yield* log(agent.session)
    return { end, events, results: results(events), w }
  }).pipe(Effect.provide(w.layer.pipe(Layer.provide(layer))), Effect.scoped)
}

it.effect("a tool that throws gives an error result, and the turn goes on", () =>
  Effect.gen(function*() {
    const { end, results } = yield* outcomes([["look", {}]], { body: () => Effect.die(new Error("boom with secrets")) })
    assert.strictEqual(end.reason, "completed")
    assert.strictEqual(results[0]?.code, "tool_defect")
    assert.notInclude(results[0]?.content ?? "", "secrets")
  }))

it.effect("a tool that fails tells the model its own words", () =>
  Effect.gen(function*() {
    const { results } = yield* outcomes([["change", {}]], { body: () => Effect.fail("the disk is full") })
    assert.deepStrictEqual([results[0]?.outcome, results[0]?.content], ["error", "the disk is full"])
  }))

const Rubbish = Toolkit.make(
  Tool.make("rubbish", { success: Schema.Struct({ n: Schema.Number }) }).annotate(Tool.Readonly, true)
)

it.effect("a tool that returns something else than it declared gives an error result", () =>
  Effect.gen(function*() {
    const extra = ToolCatalog.add(Rubbish).pipe(
      Layer.provide(
        Rubbish.toLayer({ rubbish: () => Effect.succeed({ n: "not a number" } as never) })
      ),
      Layer.orDie
    )
    const { end, results } = yield* outcomes([["rubbish", {}]], { extra })
    assert.strictEqual(end.reason, "completed")
    assert.strictEqual(results[0]?.outcome, "error")
  }))

it.effect("a tool that hangs is stopped at the deadline and its result says so", () => {
  const w = world({ script: inOrder({ calls: [["look", {}]] }, done), body: () => Effect.never })
  return Effect.gen(function*() {
    const agent = yield* start()
    const turn = yield* Effect.forkChild(agent.prompt("go"), { startImmediately: true })
    for (let i = 0; i < 50; i++) yield* Effect.yieldNow
    yield* TestClock.adjust("1 minute")
    const end = yield* Fiber.join(turn)
    const [result] = results(yield* log(agent.session))
    assert.strictEqual(end.reason, "completed")
    assert.strictEqual(result?.code, "tool_timeout")
  }).pipe(
    Effect.provide(w.layer.pipe(Layer.provide(Layer.succeed(ToolDeadline, Duration.seconds(30))))),
    Effect.scoped
  )
})

it.effect("a tool that floods is cut at both ends, and the model is told how much is missing", () =>
  Effect.gen(function*() {
    const flood = `head${"x".repeat(200_000)}tail`
    const { results } = yield* outcomes(
      [["look", {}]],
      { body: () => Effect.succeed(flood) },
      ToolOutputLimit.layer({ characters: 1000 })
    )
    const content = results[0]?.content ?? ""
    assert.isBelow(content.length, 1200)
    assert.isTrue(content.startsWith("head") && content.endsWith("tail"))
    assert.match(content, /\d+ of 200008 characters are left out/)
  }))

it.effect("a cut never splits a surrogate pair", () =>
  Effect.gen(function*() {
    for (let shift = 0; shift < 4; shift++) {
      const { results } = yield* outcomes(
        [["look", {}]],
        { body: () => Effect.succeed("a".repeat(shift) + "😀".repeat(500)) },
        ToolOutputLimit.layer({ characters: 101 })
      )
      // It throws for half of a surrogate pair.
      assert.doesNotThrow(() => encodeURIComponent(results[0]?.content ?? ""))
    }
  }))

it.effect("case 154: one bad call among three gets an error, the others run, the turn goes on", () =>
  Effect.gen(function*() {
    const { end, results, w } = yield* outcomes([["look", { note: "a" }], ["look", "{\"note\": \"b"], ["look", {
      note: "c"
    }]])
    assert.strictEqual(end.reason, "completed")
    assert.deepStrictEqual(results.map((result) => result.outcome), ["ok", "error", "ok"])
    assert.deepStrictEqual(w.ran, ["look:a", "look:c"])
  }))

it.effect("case 152: arguments that are cut at any byte never run", () =>
  Effect.gen(function*() {
    const whole = JSON.stringify({ note: "x{y}" })
    for (let end = 0; end < whole.length; end++) {
      const { events, results, w } = yield* outcomes([["look", whole.slice(0, end)]])
      assert.deepStrictEqual([results[0]?.code, w.ran.length], ["invalid_json", 0], whole.slice(0, end))
      // What is replayed to the provider is valid JSON; what the model sent is kept.
      const [call] = ofType(events, "message/assistant")[0]?.data.calls ?? []
      assert.strictEqual(call?.arguments, "{}")
      assert.strictEqual(call?.received?.arguments, whole.slice(0, end))
    }
  }))

it.effect("case 153: truncated arguments of a tool without required fields are not replaced by {}", () =>
  Effect.gen(function*() {
    const { results, w } = yield* outcomes([["plain", "{"]])
    assert.deepStrictEqual([results[0]?.code, w.ran], ["invalid_json", []])
  }))

it.effect("case 155: arguments of the wrong shape name the path, and neither the tool nor the person is bothered", () =>
  Effect.gen(function*() {
    const { results, w } = yield* outcomes([["change", { note: ["a"] }]], { approval: { policy: "ask" } })
    assert.strictEqual(results[0]?.code, "invalid_arguments")
    assert.include(results[0]?.content ?? "", "note")
    assert.deepStrictEqual([w.ran, w.person.seen], [[], []])
  }))

it.effect("an unknown tool gets a result that names the tools there are", () =>
  Effect.gen(function*() {
    const { end, results } = yield* outcomes([["format_disk", {}]])
    assert.strictEqual(end.reason, "completed")
    assert.strictEqual(results[0]?.code, "unknown_tool")
    assert.include(results[0]?.content ?? "", "look")
  }))

it.effect("case 146: calls with equal, empty or missing provider ids each run once under ids of the harness", () =>
  Effect.gen(function*() {
    const { events, results, w } = yield* outcomes([["look", { note: "a" }], ["look", { note: "a" }], ["look", {
      note: "a"
    }]])
    const ids = ofType(events, "message/assistant")[0]?.data.calls.map((call) => call.id) ?? []
    assert.strictEqual(new Set(ids).size, 3)
    assert.deepStrictEqual(results.map((result) => result.call), ids)
    assert.strictEqual(w.ran.length, 3)
  }))

it.effect("reading calls in a row run together, and their results stand in call order", () =>
  Effect.gen(function*() {
    const running = new Set<string>()
    let most = 0
    const { events } = yield* outcomes([["look", { note: "slow" }], ["look", { note: "fast" }], ["change", {}]], {
      body: (tool, note) =>
        Effect.gen(function*() {
          running.add(note ?? tool)
          most = Math.max(most, running.size)
          for (let i = 0; i < (note === "slow" ? 20 : 1); i++) yield* Effect.yieldNow
          running.delete(note ?? tool)
          return note ?? tool
        })
    })
    assert.strictEqual(most, 2)
    assert.deepStrictEqual(results(events).map((result) => result.content), ["slow", "fast", "change"])
  }))

it.effect("a hook may change arguments, refuse, or change what the model sees; what it made of them is what is approved", () => {
  const hook = ToolHooks.add({
    name: "rewrite",
    before: ({ arguments: args, tool }) =>
      Effect.succeed(
        tool === "wreck" ? { refuse: "not on a Friday" } : { arguments: { ...(args as object), note: "rewritten" } }
      ),
    after: (_, outcome) => Effect.succeed({ ...outcome, content: `${outcome.content}!` })
  })
  const w = world({ script: inOrder({ calls: [["change", { note: "raw" }], ["wreck", {}]] }, done) })
  return Effect.gen(function*() {
    const agent = yield* start()
    const turn = yield* Effect.forkChild(agent.prompt("go"))
    const question = yield* w.person.answer({ _tag: "Answered", selected: ["once"] })
    yield* Fiber.join(turn)
    const events = yield* log(agent.session)
    assert.include(question.detail, "rewritten")
    assert.deepStrictEqual(w.ran, ["change:rewritten"])
    assert.deepStrictEqual(results(events).map((result) => result.code ?? result.content), [
      "change done!",
      "hook_refused"
    ])
    assert.strictEqual(ofType(events, "tool/started")[0]?.data.arguments, "{\"note\":\"rewritten\"}")
  }).pipe(Effect.provide(hook.pipe(Layer.provideMerge(w.layer))), Effect.scoped)
})
