import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { Children, Delegation, DepthLimit, SessionId, Sessions, TreeLimits } from "../../src/index.ts"
import type { ModelRequest } from "../../src/index.ts"
import type { Reply, Script } from "../support/ScriptedModel.ts"
import { log, ofType, results, select, start, world, type WorldOptions } from "../support/World.ts"

/** The task that the agent of a request was given: its first user message. */
const taskOf = (request: ModelRequest): string => {
  const [first] = request.messages
  return first?.role === "user" ? first.text : ""
}

/** Replies by task and by the number of replies that the agent has already given. */
const byTask = (plays: { readonly [task: string]: ReadonlyArray<Reply> }): Script => (request) => {
  const task = Object.keys(plays).find((key) => taskOf(request).startsWith(key))
  const replies = plays[task ?? ""] ?? [{ text: `nothing to do for ${taskOf(request)}` }]
  const given = request.messages.filter((message) => message.role === "assistant").length
  return replies[Math.min(given, replies.length - 1)]!
}

const delegating = (options: WorldOptions, limits: Layer.Layer<never> = Layer.empty) => {
  const w = world({ approval: { policy: () => "allow" }, ...options })
  return {
    w,
    layer: Delegation.layer.pipe(Layer.provide(w.model.layer), Layer.provideMerge(w.layer), Layer.provide(limits))
  }
}

it.effect("a child works on its task and its parent gets what it says", () => {
  const { layer, w } = delegating({
    script: byTask({
      root: [{ calls: [["spawn_agent", { task: "child: look around", label: "scout" }]] }, { text: "done" }],
      child: [{ calls: [["look", { note: "x" }]] }, { text: "found it" }]
    })
  })
  return Effect.gen(function*() {
    const agent = yield* start()
    const end = yield* agent.prompt("root: go")
    const [result] = results(yield* log(agent.session))
    assert.strictEqual(end.reason, "completed")
    assert.strictEqual(result?.outcome, "ok")
    assert.include(result?.content ?? "", "found it")
    assert.deepStrictEqual(w.ran, ["look:x"])
    const [child] = [...agent.session.view().get(Children).values()]
    assert.deepStrictEqual([child?.spawned.label, child?.ended?.status], ["scout", "Completed"])
    // A child's header offers neither what is dangerous nor the signals of a root.
    const offered = w.model.requests[1]?.header.tools.map((tool) => tool.name)
    assert.deepStrictEqual(offered, ["ask_user", "change", "look", "plain", "run_workflow", "spawn_agent"])
  }).pipe(Effect.provide(layer), Effect.scoped)
})

it.effect("case 94: at the depth limit the model is told to do the work itself, and the run ends", () => {
  const { layer, w } = delegating({
    script: byTask({
      go: [{ calls: [["spawn_agent", { task: "go deeper" }]] }, { text: "done" }]
    })
  }, DepthLimit.layer(2))
  return Effect.gen(function*() {
    const agent = yield* start()
    const end = yield* agent.prompt("go")
    assert.strictEqual(end.reason, "completed")
    const sessions = yield* (yield* Sessions).list
    assert.strictEqual(sessions.length, 3)
    const last = w.model.requests.flatMap(({ messages }) => messages).filter((message) => message.role === "tool")
    assert.isTrue(last.some((message) => message.role === "tool" && message.text.includes("Do the work yourself")))
  }).pipe(Effect.provide(layer), Effect.scoped)
})

it.effect("PM G5, case 12, case 20: the gate of a planning root holds for children in parallel and pipeline, and for theirs", () => {
  const { layer, w } = delegating({
    script: byTask({
      root: [
        { calls: [["spawn_agent", { task: "child: change and delegate" }]] },
        { calls: [["run_workflow", { mode: "parallel", steps: [{ task: "leaf a" }, { task: "leaf b" }] }]] },
        { calls: [["run_workflow", { mode: "pipeline", steps: [{ task: "leaf c" }, { task: "leaf d" }] }]] },
        { text: "done" }
      ],
      child: [{ calls: [["change", {}]] }, { calls: [["spawn_agent", { task: "leaf of child" }]] }, { text: "tried" }],
      leaf: [{ calls: [["change", {}], ["look", {}]] }, { text: "tried" }]
    })
  })
  return Effect.gen(function*() {
    const agent = yield* start()
    yield* select(agent, true)
    const end = yield* agent.prompt("root: go")
    assert.strictEqual(end.reason, "completed")
    assert.isTrue(w.ran.every((tool) => tool === "look"))
    const codes = results(yield* log(agent.session)).map((result) => result.code)
    assert.strictEqual(codes[0], "plan_gate")
    const children = [...agent.session.view().get(Children).values()]
    assert.isTrue(children.some((child) => child.ended?.status === "GatedOnly" && child.ended.gatedCalls > 0))
  }).pipe(Effect.provide(layer), Effect.scoped)
})

it.effect("case 111: one failing step does not sink the others, and results stand in the order of the steps", () => {
  const { layer } = delegating({
    script: byTask({
      root: [
        {
          calls: [["run_workflow", {
            mode: "parallel",
            steps: [{ task: "one", label: "one" }, { task: "bad", label: "bad" }, { task: "two", label: "two" }]
          }]]
        },
        { text: "done" }
      ],
      one: [{ text: "first result" }],
      bad: [{ text: "half", finish: "length" }],
      two: [{ text: "second result" }]
    })
  })
  return Effect.gen(function*() {
    const agent = yield* start()
    yield* agent.prompt("root")
    const [result] = results(yield* log(agent.session))
    assert.strictEqual(result?.outcome, "error")
    assert.match(result?.content ?? "", /first result[\s\S]*"bad" failed[\s\S]*second result/)
  }).pipe(Effect.provide(layer), Effect.scoped)
})

it.effect("a tree in which every agent waits for children never waits for itself", () => {
  const nest = (depth: number): ReadonlyArray<Reply> => [
    {
      calls: [["run_workflow", {
        mode: "parallel",
        steps: [{ task: `level ${depth + 1} a` }, { task: `level ${depth + 1} b` }]
      }]]
    },
    { text: "done" }
  ]
  const { layer } = delegating({
    script: byTask({ "level 0": nest(0), "level 1": nest(1), "level 2": nest(2), "level 3": [{ text: "leaf" }] })
  }, TreeLimits.layer({ alive: 1, alivePerWorkflow: 1 }))
  return Effect.gen(function*() {
    const agent = yield* start()
    assert.strictEqual((yield* agent.prompt("level 0")).reason, "completed")
    assert.strictEqual((yield* (yield* Sessions).list).length, 1 + 2 + 4 + 8)
  }).pipe(Effect.provide(layer), Effect.scoped)
})

it.effect("case 96: the tree's total of children is a limit that the model is told of", () => {
  const { layer } = delegating({
    script: byTask({
      root: [
        { calls: [["run_workflow", { mode: "parallel", steps: [{ task: "a" }, { task: "b" }, { task: "c" }] }]] },
        { text: "done" }
      ]
    })
  }, TreeLimits.layer({ children: 2 }))
  return Effect.gen(function*() {
    const agent = yield* start()
    yield* agent.prompt("root")
    const [result] = results(yield* log(agent.session))
    assert.strictEqual(result?.code, "tree_limit")
    assert.strictEqual((yield* (yield* Sessions).list).length, 3)
  }).pipe(Effect.provide(layer), Effect.scoped)
})

it.effect("case 102: interrupting the root ends the child's turn in its journal too", () => {
  const { layer } = delegating({
    script: byTask({
      root: [{ calls: [["spawn_agent", { task: "child" }]] }],
      child: [{ text: "thinking", hang: true }]
    })
  })
  return Effect.gen(function*() {
    const agent = yield* start()
    const turn = yield* Effect.forkChild(agent.prompt("root"))
    const sessions = yield* Sessions
    while ((yield* sessions.list).length < 2) yield* Effect.yieldNow
    for (let i = 0; i < 200; i++) yield* Effect.yieldNow
    yield* agent.interrupt
    assert.strictEqual((yield* Fiber.join(turn)).reason, "interrupted")
    const [child] = [...agent.session.view().get(Children).values()]
    assert.strictEqual(child?.ended?.status, "Interrupted")
    const stored = yield* Effect.scoped(sessions.open(child?.spawned.child ?? SessionId.make("none")))
    assert.strictEqual(ofType(yield* log(stored), "turn/end").at(-1)?.data.reason, "interrupted")
  }).pipe(Effect.provide(layer), Effect.scoped)
})
