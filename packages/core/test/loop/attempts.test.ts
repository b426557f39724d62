import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { retryDefaults, retryDelay, Usage } from "../../src/index.ts"
import { inOrder, serverError } from "../support/ScriptedModel.ts"
import { log, ofType, results, start, world } from "../support/World.ts"

const settle = Effect.gen(function*() {
  for (let i = 0; i < 30; i++) {
    for (let j = 0; j < 30; j++) yield* Effect.yieldNow
    yield* TestClock.adjust("30 seconds")
  }
})

const turn = (w: ReturnType<typeof world>) =>
  Effect.gen(function*() {
    const agent = yield* start()
    const running = yield* Effect.forkChild(agent.prompt("go"), { startImmediately: true })
    yield* settle
    return { end: yield* Fiber.join(running), events: yield* log(agent.session), agent }
  }).pipe(Effect.provide(w.layer), Effect.scoped)

it.effect("case 157: only the failed request is made again, never the tools before it", () =>
  Effect.gen(function*() {
    const w = world({
      script: inOrder({ calls: [["look", {}]] }, { error: serverError() }, { error: serverError() }, { text: "done" })
    })
    const { end, events } = yield* turn(w)
    assert.strictEqual(end.reason, "completed")
    assert.deepStrictEqual(w.ran, ["look"])
    assert.deepStrictEqual(
      ofType(events, "step/open").map(({ data }) => [data.step, data.attempt]),
      [[1, 1], [2, 1], [2, 2], [2, 3]]
    )
    assert.strictEqual(ofType(events, "step/failed").length, 2)
    assert.strictEqual(new Set(w.model.bodies.slice(1)).size, 1)
  }))

it.effect("a failure that no attempt can mend ends the turn with its reason", () =>
  Effect.gen(function*() {
    const w = world({
      script: inOrder({ error: serverError({ reason: "AuthenticationError", code: "401", retryable: false }) })
    })
    const { end } = yield* turn(w)
    assert.strictEqual(end.reason, "failed")
    assert.include(end.detail ?? "", "AuthenticationError")
    assert.strictEqual(w.model.requests.length, 1)
  }))

it.effect("attempts end at the policy's number", () =>
  Effect.gen(function*() {
    const w = world({ script: inOrder({ error: serverError() }) })
    const { end } = yield* turn(w)
    assert.deepStrictEqual([end.reason, w.model.requests.length], ["failed", retryDefaults.attempts])
  }))

it.effect("an empty reply is a failed attempt and is never shown to the model", () =>
  Effect.gen(function*() {
    const w = world({ script: inOrder({ text: "" }, { reasoning: "only thoughts" }, { text: "done" }) })
    const { end, events } = yield* turn(w)
    assert.strictEqual(end.reason, "completed")
    assert.deepStrictEqual(ofType(events, "step/failed").map(({ data }) => data.message.includes("empty")), [
      true,
      true
    ])
    assert.deepStrictEqual(w.model.requests.at(-1)?.messages.map((message) => message.role), ["user"])
  }))

it.effect("a context that is too long ends the turn with its own reason", () =>
  Effect.gen(function*() {
    const w = world({ script: inOrder({ error: serverError({ reason: "ContextLength", retryable: false }) }) })
    const { end } = yield* turn(w)
    assert.strictEqual(end.reason, "context-length")
  }))

it.effect("a reply that is cut at its limit is no success", () =>
  Effect.gen(function*() {
    const w = world({ script: inOrder({ text: "half an ans", finish: "length" }) })
    const { end } = yield* turn(w)
    assert.strictEqual(end.reason, "failed")
  }))

it.effect("case 163: the same call with the same result is reminded of, then ends the turn", () =>
  Effect.gen(function*() {
    const w = world({ script: () => ({ calls: [["look", { note: "again" }]] }) })
    const { end, events } = yield* turn(w)
    assert.strictEqual(end.reason, "repeat-limit")
    assert.strictEqual(w.ran.length, 5)
    assert.deepStrictEqual(w.model.requests.map((request) => request.tail !== null), [false, false, false, true, true])
    assert.strictEqual(results(events).length, 5)
  }))

it.effect("usage sums what the provider counted", () =>
  Effect.gen(function*() {
    const w = world({ script: inOrder({ calls: [["look", {}]] }, { text: "done" }) })
    const { agent } = yield* turn(w)
    const usage = agent.session.view().get(Usage)
    assert.deepStrictEqual([usage.requests, usage.prompt, usage.hit, usage.miss], [2, 200, 128, 72])
  }))

it("case 159: delays grow, a server's wish is a lower bound, and a wish beyond the cap ends the attempts", () => {
  const error = { retryable: true }
  const delay = (attempt: number, random: number, asked?: number) => {
    const wait = retryDelay(
      retryDefaults,
      asked === undefined ? error : { ...error, retryAfterMillis: asked },
      attempt,
      random
    )
    return wait === undefined ? undefined : Number(String(wait).match(/\d+/)?.[0] ?? 0)
  }
  const at = (attempt: number, random = 0.5) => delay(attempt, random)
  assert.isBelow(at(1)!, at(2)!)
  assert.notStrictEqual(at(1, 0.1), at(1, 0.9))
  for (const random of [0, 0.5, 0.99]) assert.isAtLeast(delay(1, random, 3000)!, 3000)
  assert.isUndefined(delay(1, 0.5, 3_600_000))
  assert.isUndefined(at(retryDefaults.attempts))
})
