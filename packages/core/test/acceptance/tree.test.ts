/** Plan mode, acceptance rows G5, G12, E16, N4, R4: what a planning parent means for those below it. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer, Schema } from "effect"
import { Tool } from "effect/ai"
import { choose, type ModelRequest, signalTool, ToolCatalog } from "../../src/index.ts"
import { PLAN_GATE } from "../../src/index.ts"
import { inOrder } from "../support/ScriptedModel.ts"
import {
  allowAll,
  call,
  codes,
  enter,
  GUIDANCE,
  isGuided,
  plan,
  play,
  startChild,
  submit,
  until
} from "../support/Story.ts"
import { log, ofType, results, select, world } from "../support/World.ts"

/** Replies by who asks: the first words of the conversation name the agent. */
const byAgent = (replies: Record<string, ReturnType<typeof inOrder>>) => {
  const asked = new Map<string, number>()
  return (request: ModelRequest) => {
    const who = request.messages[0]!.text
    const n = asked.get(who) ?? 0
    asked.set(who, n + 1)
    return replies[who]!(request, n)
  }
}

const writing = () => inOrder({ calls: [call("change"), call("wreck"), call("look")] }, { text: "done" })

it.effect("PM G5: child and grandchild of a planning root are gated, spawned before or after the entry (cases 12, 13)", () => {
  const w = world({
    script: byAgent({ before: writing(), after: writing(), below: writing() }),
    planSection: GUIDANCE,
    ...allowAll
  })
  return play(w, (root) =>
    Effect.gen(function*() {
      const before = yield* startChild(root, "before")
      yield* select(root, true)
      const after = yield* startChild(root, "after")
      const below = yield* startChild(after, "below", 2)
      yield* Effect.all([before.prompt("before"), after.prompt("after"), below.prompt("below")], {
        concurrency: "unbounded"
      })
      for (const agent of [before, after, below]) {
        const said = results(yield* log(agent.session))
        assert.deepStrictEqual(codes(said), [PLAN_GATE, PLAN_GATE, "ok"])
        assert.include(said[0]!.content, "the agent that gave you this task is planning")
        assert.strictEqual(said[0]!.by, "gate")
      }
      assert.deepStrictEqual(w.ran, ["look", "look", "look"])
      yield* select(root, false)
      const later = yield* startChild(root, "later")
      assert.deepStrictEqual(yield* plan(later), { active: false })
    }))
})

it.effect("PM G5: a root that enters while a child's write waits for approval closes the gate on it", () => {
  const w = world({ script: byAgent({ child: inOrder({ calls: [call("change")] }, { text: "done" }) }) })
  return play(w, (root) =>
    Effect.gen(function*() {
      const child = yield* startChild(root, "child")
      const turn = yield* Effect.forkChild(child.prompt("child"))
      const question = yield* w.person.next
      assert.deepStrictEqual(question.asker.path, ["child"])
      yield* select(root, true)
      yield* w.person.answer(choose("once"))
      yield* Fiber.join(turn)
      assert.deepStrictEqual(w.ran, [])
      assert.deepStrictEqual(codes(results(yield* log(child.session))), [PLAN_GATE])
    }))
})

it.effect("PM R4: a child starts inactive, its gate is that of its parent, and it is told in its own words (case 19)", () => {
  const w = world({ script: byAgent({ child: inOrder({ text: "done" }) }), planSection: GUIDANCE })
  return play(w, (root) =>
    Effect.gen(function*() {
      yield* select(root, true)
      const child = yield* startChild(root, "child")
      yield* child.prompt("child")
      assert.deepStrictEqual(yield* plan(child), { active: false })
      const request = w.model.requests[0]!
      assert.isFalse(isGuided(request))
      const tools = request.header.tools.map((tool) => tool.name)
      const named = request.header.system.match(/\b(?:enter|exit)_plan_mode\b/g) ?? []
      for (const name of named) assert.include(tools, name)
    }))
})

for (const [row, what, signal] of [["E16", "exit_plan_mode", submit()], ["N4", "enter_plan_mode", enter]] as const) {
  it.effect(`PM ${row}: ${what} by a child is refused, and the root is as it was (case 15)`, () => {
    const w = world({
      script: byAgent({ child: inOrder({ calls: [signal] }, { text: "done" }) }),
      planSection: GUIDANCE
    })
    return play(w, (root) =>
      Effect.gen(function*() {
        yield* select(root, true)
        const length = root.session.view().length
        const child = yield* startChild(root, "child")
        yield* child.prompt("child")
        const [said] = results(yield* log(child.session))
        assert.deepStrictEqual([said!.outcome, said!.code], ["refused", "plan_root_only"])
        assert.include(said!.content, "final answer")
        assert.deepStrictEqual(w.person.seen, [])
        assert.strictEqual(root.session.view().length, length)
        assert.deepStrictEqual(ofType(yield* log(child.session), "plan/selected"), [])
      }))
  })
}

it.effect("PM G12: a signal that starts children runs while planning, and its child can only read", () => {
  const Spawn = Tool.make("spawn_agent", { parameters: Schema.Struct({}), success: Schema.String })
  const spawned: Array<string> = []
  const spawn = Layer.effectDiscard(
    ToolCatalog.use((catalog) =>
      catalog.register(signalTool(Spawn, () =>
        Effect.sync(() => {
          spawned.push("child")
          return { outcome: "ok" as const, content: "started" }
        })))
    )
  )
  const w = world({
    script: byAgent({ root: inOrder({ calls: [call("spawn_agent")] }, { text: "ok" }), child: writing() }),
    extra: spawn,
    ...allowAll
  })
  return play(w, (root) =>
    Effect.gen(function*() {
      yield* select(root, true)
      yield* root.prompt("root")
      assert.deepStrictEqual(spawned, ["child"])
      const child = yield* startChild(root, "child")
      yield* child.prompt("child")
      assert.deepStrictEqual(w.ran, ["look"])
    }))
})

it.effect("questions of children and root are shown one at a time, in the order of asking (cases 68, 88)", () => {
  const names = ["one", "two", "three", "four", "five", "six", "seven"]
  const script = byAgent(Object.fromEntries(
    names.map((name) => [name, inOrder({ calls: [call("change", name)] }, { text: "done" })])
  ))
  const w = world({ script })
  return play(w, (root) =>
    Effect.gen(function*() {
      const children = yield* Effect.forEach(names, (name) => startChild(root, name))
      const turns = yield* Effect.forEach(children, (child, i) => Effect.forkChild(child.prompt(names[i]!)))
      const shown: Array<number> = []
      for (let i = 0; i < names.length; i++) {
        yield* w.person.next
        shown.push(w.person.showing().length)
        yield* w.person.answer(choose(i === 2 ? "no" : "once"))
      }
      yield* Effect.forEach(turns, Fiber.join)
      assert.deepStrictEqual(shown, names.map(() => 1))
      assert.deepStrictEqual(w.person.seen.map((question) => question.asker.path[0]), names)
      assert.deepStrictEqual(w.ran, names.filter((_, i) => i !== 2).map((name) => `change:${name}`))
    }))
})

it.effect("interrupting a child that waits takes its question away and nobody else's", () => {
  const w = world({
    script: byAgent({
      first: inOrder({ calls: [call("change", "first")] }, { text: "done" }),
      second: inOrder({ calls: [call("change", "second")] }, { text: "done" })
    })
  })
  const settled = Latch.makeUnsafe(false)
  return play(w, (root) =>
    Effect.gen(function*() {
      const first = yield* startChild(root, "first")
      const second = yield* startChild(root, "second")
      yield* Effect.forkChild(Effect.andThen(Effect.exit(first.prompt("first")), settled.open))
      yield* w.person.next
      const other = yield* Effect.forkChild(second.prompt("second"))
      yield* until(() => w.model.requests.length === 2)
      yield* first.interrupt
      yield* settled.await
      yield* w.person.answer(choose("once"))
      yield* Fiber.join(other)
      assert.deepStrictEqual(w.ran, ["change:second"])
    }))
})
