/** Plan mode, acceptance rows G1 to G4, G6 to G10, G13, G15: what the gate refuses on the session itself. */
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Fiber, Latch, Layer, Schema, Scope } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { choose, PlanEnforcementInvalid, PlanGate, ToolCatalog, ToolHooks, type ToolTraits } from "../../src/index.ts"
import { inOrder } from "../support/ScriptedModel.ts"
import { allowAll, call, codes, GUIDANCE, isGuided, play, submit, until } from "../support/Story.ts"
import { log, ofType, results, select, world } from "../support/World.ts"

const Input = Schema.Struct({ name: Schema.optionalKey(Schema.String) })

/** A tool of a plugin, with what it says about itself. */
const plugin = (
  name: string,
  ran: Array<string>,
  options: { readonly reads?: boolean; readonly traits?: ToolTraits<typeof Input.Type>; readonly replace?: boolean } =
    {}
) => {
  const bare = Tool.make(name, { parameters: Input, success: Schema.String })
  const tool = options.reads === undefined ? bare : bare.annotate(Tool.Readonly, options.reads)
  const kit = Toolkit.make(tool)
  return ToolCatalog.add(kit, {
    replace: options.replace ?? false,
    traits: options.traits === undefined ? {} : { [name]: options.traits }
  }).pipe(Layer.provide(kit.toLayer({
    [name]: () => {
      ran.push(name)
      return Effect.succeed("done")
    }
  } as never)))
}

it.effect("PM G1: while planning, whatever changes something is refused before anybody is bothered (cases 1, 4, 11, 27)", () => {
  const hooked: Array<string> = []
  const w = world({
    script: inOrder({ calls: [call("change"), call("wreck"), call("plain")] }, { text: "ok" }),
    planSection: GUIDANCE,
    extra: ToolHooks.add({ name: "watch", before: ({ tool }) => Effect.sync(() => void hooked.push(tool)) })
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("go")
      const events = yield* log(agent.session)
      for (const result of results(events)) {
        assert.deepStrictEqual([result.outcome, result.code, result.by], ["refused", "plan_gate", "gate"])
        assert.include(result.content, `${result.name} was not run`)
        assert.include(result.content, "read-only planning phase")
        assert.include(result.content, "exit_plan_mode")
      }
      assert.strictEqual(results(events).length, 3)
      assert.deepStrictEqual([w.ran, w.person.seen, hooked], [[], [], []])
      assert.deepStrictEqual(ofType(events, "approval/asked"), [])
      assert.deepStrictEqual(ofType(events, "tool/started"), [])
    }))
})

it.effect("PM G2: while planning, reading runs", () => {
  const w = world({ script: inOrder({ calls: [call("look", "a"), call("look", "b")] }, { text: "ok" }) })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("go")
      assert.deepStrictEqual(w.ran, ["look:a", "look:b"])
    }))
})

it.effect("PM G3: a selection while a turn runs refuses the very next call, before any boundary (case 53)", () => {
  const looking = Latch.makeUnsafe(false)
  const w = world({
    script: inOrder({ calls: [call("look"), call("change")] }, { text: "ok" }),
    planSection: GUIDANCE,
    body: (tool) => tool === "look" ? Effect.as(looking.await, "looked") : Effect.succeed("changed"),
    ...allowAll
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      yield* until(() => w.ran.length === 1)
      yield* select(agent, true)
      yield* looking.open
      yield* Fiber.join(turn)
      assert.deepStrictEqual(w.ran, ["look"])
      assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["ok", "plan_gate"])
    }))
})

it.effect("PM G3: leaving loosens nothing before the next request (case 53)", () => {
  const looking = Latch.makeUnsafe(false)
  const w = world({
    script: inOrder({ calls: [call("look"), call("change", "same")] }, { calls: [call("change", "next")] }, {
      text: "ok"
    }),
    planSection: GUIDANCE,
    body: (tool) => tool === "look" ? Effect.as(looking.await, "looked") : Effect.succeed("changed"),
    ...allowAll
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      yield* until(() => w.ran.length === 1)
      yield* select(agent, false)
      yield* looking.open
      yield* Fiber.join(turn)
      assert.deepStrictEqual(w.ran, ["look", "change:next"])
    }))
})

it.effect("PM G4: a write that was approved after plan mode was selected is refused", () => {
  const w = world({ script: inOrder({ calls: [call("change")] }, { text: "ok" }), planSection: GUIDANCE })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      yield* w.person.next
      yield* select(agent, true)
      yield* w.person.answer(choose("once"))
      yield* Fiber.join(turn)
      const events = yield* log(agent.session)
      assert.deepStrictEqual(w.ran, [])
      assert.deepStrictEqual(codes(results(events)), ["plan_gate"])
      assert.deepStrictEqual(ofType(events, "tool/started"), [])
      assert.strictEqual(ofType(events, "approval/answered").length, 1)
    }))
})

it.effect("PM G6: a tool registered late, and a replacement of the same name, are judged by their own effect (cases 10, 11)", () => {
  const ran: Array<string> = []
  const w = world({
    script: inOrder({ calls: [call("late"), call("late_reader"), call("change"), call("look")] }, { text: "ok" }),
    planSection: GUIDANCE
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* Layer.build(Layer.mergeAll(
        plugin("late", ran),
        plugin("late_reader", ran, { reads: true }),
        plugin("change", ran, { reads: true, replace: true }),
        plugin("look", ran, { reads: false, replace: true })
      ))
      yield* agent.prompt("go")
      assert.deepStrictEqual(ran, ["late_reader", "change"])
      assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["plan_gate", "ok", "ok", "plan_gate"])
      assert.deepStrictEqual(w.ran, [])
    }))
})

/** A dispatcher as for MCP: the hint of the inner tool counts only for a server that is trusted. */
const dispatcher = (ran: Array<string>, trusted: ReadonlyArray<string>) =>
  plugin("mcp_call", ran, {
    traits: {
      classify: ({ name = "" }) => {
        const [, server = "", tool = ""] = name.split("__")
        const hint = tool.startsWith("read")
        return Effect.succeed({ name, safety: hint && trusted.includes(server) ? "read" as const : "mutate" as const })
      }
    }
  })

it.effect("PM G6, G7: a call through a dispatcher is judged by the inner tool; a hint needs trust (cases 16, 17)", () => {
  const ran: Array<string> = []
  const w = world({
    script: inOrder(
      {
        calls: [
          ["mcp_call", { name: "mcp__own__read_issue" }],
          ["mcp_call", { name: "mcp__foreign__read_issue" }],
          ["mcp_call", { name: "mcp__own__close_issue" }]
        ]
      },
      { text: "ok" }
    ),
    planSection: GUIDANCE,
    extra: dispatcher(ran, ["own"])
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("go")
      const said = results(yield* log(agent.session))
      assert.deepStrictEqual(codes(said), ["ok", "plan_gate", "plan_gate"])
      assert.include(said[1]!.content, "mcp__foreign__read_issue")
      assert.include(said[2]!.content, "mcp__own__close_issue")
      assert.deepStrictEqual(ran, ["mcp_call"])
    }))
})

const resolvers: ReadonlyArray<readonly [what: string, classify: NonNullable<ToolTraits["classify"]>]> = [
  ["fails", () => Effect.fail("no idea")],
  ["dies", () => Effect.die("boom")],
  ["throws", () => {
    throw new Error("boom")
  }],
  ["answers with an unknown class", () => Effect.succeed({ safety: "harmless" as never })]
]

for (const [what, classify] of resolvers) {
  it.effect(`PM G8: a call whose class ${what} is refused and never run, planning or not (case 22)`, () => {
    const ran: Array<string> = []
    const w = world({
      script: inOrder({ calls: [call("unsure")] }, { text: "ok" }, { calls: [call("unsure")] }, { text: "ok" }),
      extra: plugin("unsure", ran, { reads: true, traits: { classify } }),
      ...allowAll
    })
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* agent.prompt("go")
        yield* select(agent, true)
        yield* agent.prompt("go")
        const said = results(yield* log(agent.session))
        assert.deepStrictEqual(said.map((result) => result.outcome), ["refused", "refused"])
        assert.deepStrictEqual(codes(said), ["safety_unknown", "safety_unknown"])
        assert.deepStrictEqual(ran, [])
      }))
  })
}

it.effect("PM G9: with guidance only, calls run, the table is constant, and the section is there", () => {
  const w = world({
    script: inOrder({ text: "ok" }, { calls: [call("change")] }, { text: "ok" }),
    planSection: GUIDANCE,
    enforcement: "guidance",
    ...allowAll
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("one")
      yield* select(agent, true)
      yield* agent.prompt("two")
      assert.deepStrictEqual(w.ran, ["change"])
      assert.strictEqual(new Set(w.model.requests.map((request) => JSON.stringify(request.header))).size, 1)
      assert.deepStrictEqual(w.model.requests.map(isGuided), [false, true, true])
    }))
})

it.effect("PM G10: with a trimmed table, only reading and signals are left while active; calls are refused as well", () => {
  const w = world({
    script: inOrder({ text: "a" }, { calls: [call("change")] }, { calls: [submit()] }, { text: "b" }),
    planSection: GUIDANCE,
    enforcement: "schema",
    ...allowAll
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("one")
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("two"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      const tables = w.model.requests.map((request) => request.header.tools.map((tool) => tool.name))
      const reading = ["ask_user", "enter_plan_mode", "exit_plan_mode", "look"]
      assert.deepStrictEqual(tables[1], reading)
      assert.deepStrictEqual(tables[2], reading)
      assert.includeMembers([...tables[0]!], ["change", "plain", "wreck"])
      assert.deepStrictEqual(tables[3], tables[0])
      const events = yield* log(agent.session)
      assert.strictEqual(codes(results(events))[0], "plan_gate")
      assert.deepStrictEqual(ofType(events, "request/header").map((event) => event.data.reason), [
        "first request",
        "state of the session",
        "state of the session"
      ])
    }))
})

const environments: ReadonlyArray<readonly [value: string | undefined, enforcement: string | undefined]> = [
  ["runtime", "runtime"],
  ["schema", "schema"],
  ["guidance", "guidance"],
  [undefined, "runtime"],
  ["off", undefined],
  ["", "runtime"],
  ["Runtime", undefined]
]

for (const [value, enforcement] of environments) {
  it.effect(`PM G13: HOLDFAST_PLAN_ENFORCEMENT=${value} is ${enforcement ?? "refused, naming the value"}`, () =>
    Effect.gen(function*() {
      const w = world({ script: inOrder({ text: "ok" }) })
      const provider = ConfigProvider.fromUnknown(value === undefined ? {} : { HOLDFAST_PLAN_ENFORCEMENT: value })
      const scope = yield* Scope.make()
      const built = Layer.buildWithScope(
        Layer.fresh(PlanGate.layerConfig).pipe(Layer.provide(w.layer)),
        scope
      ).pipe(Effect.provideService(ConfigProvider.ConfigProvider, provider))
      const exit = yield* Effect.exit(
        Effect.flatMap(built, (context) => Effect.provideContext(PlanGate.useSync((gate) => gate.enforcement), context))
      )
      yield* Scope.close(scope, Exit.void)
      if (enforcement !== undefined) return assert.deepStrictEqual(exit, Exit.succeed(enforcement as never))
      const error = Exit.findErrorOption(exit)
      assert.isTrue(error._tag === "Some" && error.value instanceof PlanEnforcementInvalid)
      if (error._tag === "Some" && error.value instanceof PlanEnforcementInvalid) {
        assert.strictEqual(error.value.value, value)
      }
    }))
}

it.effect("PM G15: a grant for the session that was given before does not open the gate", () => {
  const ran: Array<string> = []
  const w = world({
    script: inOrder({ calls: [call("granted")] }, { text: "a" }, { calls: [call("granted")] }, { text: "b" }),
    extra: plugin("granted", ran, { traits: { grantKey: () => "granted" } })
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const first = yield* Effect.forkChild(agent.prompt("go"))
      yield* w.person.answer(choose("session"))
      yield* Fiber.join(first)
      yield* select(agent, true)
      yield* agent.prompt("go")
      yield* select(agent, false)
      assert.deepStrictEqual(ran, ["granted"])
      assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["ok", "plan_gate"])
      assert.strictEqual(w.person.seen.length, 1)
    }))
})
