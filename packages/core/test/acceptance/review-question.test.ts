/** Plan mode, acceptance rows E1 to E3, E14, E16, E17, E21: what reaches a person as a plan review, and what does not. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import {
  Agent,
  Approval,
  Attention,
  Boundaries,
  choose,
  Commands,
  Interaction,
  Journal,
  PlanGate,
  PlanMode,
  PromptSections,
  say,
  Sessions,
  ToolCatalog,
  ToolGates,
  ToolHooks,
  ToolRunner
} from "../../src/index.ts"
import { planFault } from "../../src/plan/texts.ts"
import { person } from "../support/Person.ts"
import { inOrder, type Reply, scriptedModel } from "../support/ScriptedModel.ts"
import { call, codes, GUIDANCE, planning, play, submit } from "../support/Story.ts"
import { log, ofType, results, select, start, world } from "../support/World.ts"

const planned = (...replies: ReadonlyArray<Reply>) =>
  world({ script: inOrder(...replies, { text: "ok" }), planSection: GUIDANCE, review: { maxPlanLength: 40 } })

const faults: ReadonlyArray<readonly [what: string, args: unknown, says: string]> = [
  ["no plan", {}, planFault.missing],
  ["a number", { plan: 7 }, planFault.notText],
  ["a list", { plan: ["# A"] }, planFault.notText],
  ["an empty plan", { plan: "" }, planFault.blank],
  ["a blank plan", { plan: " \n\t\r\n" }, planFault.blank],
  ["no heading", { plan: "Do it.\n# Plan" }, planFault.noHeading],
  ["seven marks", { plan: "####### Plan" }, planFault.noHeading],
  ["a heading without a title", { plan: "#  \nDo it." }, planFault.noHeading],
  ["no space after the mark", { plan: "#Plan" }, planFault.noHeading],
  ["too much", { plan: `# ${"x".repeat(60)}` }, planFault.tooLong(62, 40)],
  ["no object", [1], "not an object"]
]

for (const [what, args, says] of faults) {
  it.effect(`PM E1: a submission with ${what} is an error that says so, and nobody is asked (case 36)`, () => {
    const w = planned({ calls: [["exit_plan_mode", args]] })
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* select(agent, true)
        yield* agent.prompt("plan it")
        const [result] = results(yield* log(agent.session))
        assert.strictEqual(result!.outcome, "error")
        assert.include(result!.content, says)
        assert.deepStrictEqual(w.person.seen, [])
        assert.isTrue(planning(agent))
      }))
  })
}

const headings: ReadonlyArray<readonly [plan: string, title: string]> = [
  ...[1, 2, 3, 4, 5, 6].map((level) => [`${"#".repeat(level)} Level ${level}\n`, `Level ${level}`] as const),
  ["\n\n  \n# After blanks\nx", "After blanks"],
  ["# Windows\r\nx\r\n", "Windows"],
  ["\uFEFF# Marked\nx", "Marked"],
  ["## Closed ##\nx", "Closed"],
  ["# C# and `#`\n", "C# and `#`"]
]

for (const [text, title] of headings) {
  it.effect(`PM E2: ${JSON.stringify(text)} is shown under the title "${title}"`, () => {
    const w = planned({ calls: [submit(text)] })
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* select(agent, true)
        const turn = yield* Effect.forkChild(agent.prompt("plan it"))
        const question = yield* w.person.answer(choose("approve"))
        yield* Fiber.join(turn)
        assert.strictEqual(question.title, title)
        assert.strictEqual(question.detail, text)
        assert.strictEqual(ofType(yield* log(agent.session), "review/asked")[0]!.data.title, title)
      }))
  })
}

it.effect("PM E3: the person gets the plan byte for byte, who asks, two options, and which of them consents (case 35)", () => {
  const text = "# Plan \u{1F680}\r\n\r\n\ttab `x`  \n\u0000end"
  const w = planned({ calls: [submit("# First")] }, { calls: [submit(text)] })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer(say("more"))
      const question = yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      assert.strictEqual(question.detail, text)
      assert.deepStrictEqual(question.asker, { session: agent.session.id, path: [] })
      assert.deepStrictEqual(question.options.map((option) => option.id), ["approve", "keep-planning"])
      assert.deepStrictEqual(question.intent, { name: "plan-review", approve: "approve" })
      const asked = ofType(yield* log(agent.session), "review/asked")
      assert.strictEqual(new Set(asked.map((event) => event.data.hash)).size, 2)
      assert.strictEqual(question.id, `s/${asked[1]!.data.request}`)
    }))
})

it.effect("PM E14: outside plan mode and without PlanSignals, a plan is refused with the reason", () => {
  const model = scriptedModel(inOrder({ calls: [submit()] }, { text: "ok" }))
  const someone = person()
  const registries = Layer.mergeAll(
    ToolCatalog.layer,
    ToolGates.layer,
    ToolHooks.layer,
    PromptSections.layer,
    Boundaries.layer,
    Commands.layer
  )
  const layer = Layer.mergeAll(Agent.layer.pipe(Layer.provideMerge(ToolRunner.layer)), Sessions.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(PlanMode.layer({ section: GUIDANCE }), PlanGate.layer())),
    Layer.provideMerge(Approval.layer().pipe(Layer.provideMerge(Attention.layer()))),
    Layer.provideMerge(registries),
    Layer.provide(Layer.mergeAll(model.layer, someone.layer)),
    Layer.provideMerge(Journal.layerMemory)
  )
  return Effect.gen(function*() {
    const agent = yield* start()
    yield* agent.prompt("go")
    const [result] = results(yield* log(agent.session))
    assert.deepStrictEqual([result!.outcome, result!.code], ["refused", "plan_not_active"])
    assert.include(result!.content, "plan mode is not on")
    assert.deepStrictEqual(someone.seen, [])
    assert.deepStrictEqual(ofType(yield* log(agent.session), "plan/selected"), [])
  }).pipe(Effect.scoped, Effect.provide(layer))
})

it.effect("PM E17: a plan that was sent back is not shown again until something changes (case 40)", () => {
  const w = planned(
    { calls: [submit("# A")] },
    { calls: [submit("# A")] },
    { calls: [submit("# B")] },
    { calls: [submit("# A")] },
    { calls: [submit("# B")] },
    { text: "stuck" },
    { calls: [submit("# A")] }
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const first = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer(choose("keep-planning"))
      yield* w.person.answer(say("no"))
      yield* Fiber.join(first)
      assert.deepStrictEqual(w.person.seen.map((question) => question.detail), ["# A", "# B"])
      const said = codes(results(yield* log(agent.session)))
      assert.deepStrictEqual(said.slice(1), ["plan_unchanged", "plan_not_approved", "plan_unchanged", "plan_unchanged"])
      const second = yield* Effect.forkChild(agent.prompt("well, show it to me again"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(second)
      assert.strictEqual(w.person.seen.length, 3)
    }))
})

it.effect("PM E17: a plan that was dismissed may be submitted again as it is", () => {
  const w = planned({ calls: [submit("# A")] }, { calls: [submit("# A")] })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const first = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer({ _tag: "Dismissed" })
      yield* Fiber.join(first)
      const second = yield* Effect.forkChild(agent.prompt("go on"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(second)
      assert.strictEqual(w.person.seen.length, 2)
    }))
})

const policies = [
  ["never", { policy: "never" }],
  ["a rule that allows all", { policy: () => "allow" as const }]
] as const

for (const [what, approval] of policies) {
  it.effect(`PM E21: the approval policy "${what}" answers no plan review (cases 29, 30)`, () => {
    const w = world({ script: inOrder({ calls: [submit()] }, { text: "ok" }), planSection: GUIDANCE, approval })
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* select(agent, true)
        const turn = yield* Effect.forkChild(agent.prompt("plan it"))
        yield* w.person.answer(choose("approve"))
        yield* Fiber.join(turn)
        assert.deepStrictEqual(w.person.seen.map((question) => question.intent.name), ["plan-review"])
        const answered = ofType(yield* log(agent.session), "review/answered")
        assert.deepStrictEqual(answered.map((event) => [event.data.outcome, event.data.by]), [["approved", "user"]])
      }))
  })
}

it.effect("PM E21: no provider and a permissive policy: still nobody approves a plan (case 29)", () => {
  const w = world({
    script: inOrder({ calls: [submit()] }, { calls: [call("change")] }, { text: "ok" }),
    interaction: Interaction.layerNone,
    approval: { policy: () => "allow" }
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("plan it")
      assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["no_interaction_provider", "plan_gate"])
      assert.deepStrictEqual(w.ran, [])
    }))
})
