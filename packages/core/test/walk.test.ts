import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { choose, say } from "../src/index.ts"
import { inOrder } from "./support/ScriptedModel.ts"
import { log, results, start, world } from "./support/World.ts"

it.live("a task goes from plan to approval to edits and ends", () => {
  const w = world({
    script: inOrder(
      { calls: [["enter_plan_mode", { reason: "several files" }]] },
      { text: "reading", reasoning: "hm", calls: [["look", { note: "a" }], ["look", { note: "b" }]] },
      { calls: [["change", { note: "too early" }]] },
      { calls: [["exit_plan_mode", { plan: "# Fix\n\nIt." }]] },
      { calls: [["exit_plan_mode", { plan: "# Fix it better\n\nIt." }]] },
      { calls: [["change", { note: "now" }]] },
      { text: "done" }
    )
  })
  return Effect.gen(function*() {
    const agent = yield* start()
    const turn = yield* Effect.forkChild(agent.prompt("fix it"))
    yield* w.person.answer(say("think about b"))
    yield* w.person.answer(choose("approve"))
    yield* w.person.answer(choose("once"))
    const end = yield* Fiber.join(turn)
    const events = yield* log(agent.session)
    assert.deepStrictEqual(end.reason, "completed")
    assert.deepStrictEqual(w.ran, ["look:a", "look:b", "change:now"])
    assert.deepStrictEqual(results(events).map((r) => r.outcome), ["ok", "ok", "ok", "refused", "refused", "ok", "ok"])
    assert.deepStrictEqual(w.model.requests.map((r) => r.tail !== null), [false, true, true, true, true, false, false])
    assert.deepStrictEqual(new Set(w.model.requests.map((r) => JSON.stringify(r.header))).size, 1)
  }).pipe(Effect.provide(w.layer), Effect.scoped)
})
