/** Plan mode, acceptance rows N1 to N3: the model says that it wants to plan. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { alreadyPlanning, entered } from "../../src/plan/texts.ts"
import { inOrder } from "../support/ScriptedModel.ts"
import { allowAll, call, codes, enter, GUIDANCE, isGuided, noticesIn, plan, play } from "../support/Story.ts"
import { log, ofType, results, select, world } from "../support/World.ts"

it.effect("PM N1: entering is a selection by the model; later calls of the batch that change something are refused", () => {
  const w = world({
    script: inOrder({ calls: [call("change", "before"), enter, call("change", "after"), call("look")] }, {
      text: "ok"
    }),
    planSection: GUIDANCE,
    ...allowAll
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("go")
      const events = yield* log(agent.session)
      assert.deepStrictEqual(ofType(events, "plan/selected").map((e) => e.data), [{ active: true, by: "model" }])
      assert.deepStrictEqual(codes(results(events)), ["ok", "ok", "plan_gate", "ok"])
      assert.strictEqual(results(events)[1]!.content, entered)
      assert.deepStrictEqual(w.ran, ["change:before", "look"])
      assert.isTrue(isGuided(w.model.requests[1]!))
      // The tool result has said it: no notice repeats it.
      assert.deepStrictEqual(noticesIn(w.model.requests[1]!), [])
    }))
})

it.effect("PM N1: the journal says who entered (case 31)", () => {
  const w = world({ script: inOrder({ calls: [enter] }, { text: "ok" }), planSection: GUIDANCE })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("go")
      yield* select(agent, false)
      yield* agent.prompt("go on")
      yield* select(agent, true)
      const by = ofType(yield* log(agent.session), "plan/selected").map((event) => event.data.by)
      assert.deepStrictEqual(by, ["model", "user", "user"])
    }))
})

for (const [what, inForce] of [["active", true], ["pending", false]] as const) {
  it.effect(`PM N2: entering while plan mode is ${what} changes nothing and is no error`, () => {
    const w = world({
      script: inOrder(...(inForce ? [] : [{ calls: [enter, enter] }]), { calls: [enter] }, { text: "ok" }),
      planSection: GUIDANCE
    })
    return play(w, (agent) =>
      Effect.gen(function*() {
        if (inForce) yield* select(agent, true)
        const end = yield* agent.prompt("go")
        assert.strictEqual(end.reason, "completed")
        const events = yield* log(agent.session)
        assert.strictEqual(ofType(events, "plan/selected").length, 1)
        assert.strictEqual(results(events).at(-1)!.content, alreadyPlanning)
        assert.isTrue(results(events).every((result) => result.outcome === "ok"))
        assert.deepStrictEqual(yield* plan(agent), { active: true })
      }))
  })
}

const faults: ReadonlyArray<readonly [what: string, args: unknown]> = [
  ["no reason", {}],
  ["a reason that is no text", { reason: 7 }],
  ["a list", "[1]"],
  ["arguments that are not JSON", "{\"reason\": \"un"]
]

for (const [what, args] of faults) {
  it.effect(`PM N3: entering with ${what} is an error and no transition`, () => {
    const w = world({ script: inOrder({ calls: [["enter_plan_mode", args]] }, { text: "ok" }), planSection: GUIDANCE })
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* agent.prompt("go")
        const events = yield* log(agent.session)
        assert.strictEqual(results(events)[0]!.outcome, "error")
        assert.deepStrictEqual(ofType(events, "plan/selected"), [])
        assert.deepStrictEqual(yield* plan(agent), { active: false })
      }))
  })
}
