import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { CompactionProjection, History, RetryPolicy, Usage } from "../../src/index.ts"
import { inOrder, serverError } from "../support/ScriptedModel.ts"
import { storage } from "../support/Storage.ts"
import { call, play, playOn, playUntilDeath } from "../support/Story.ts"
import { log, ofType, types, world, type WorldOptions } from "../support/World.ts"
import { isSummaryRequest, summarising } from "./support.ts"

/** The scripted model counts 100 tokens for every prompt. */
const small = { maxPromptTokens: 50, keepTokens: 0 }

const make = (
  script: Parameters<typeof summarising>[0],
  summary?: Parameters<typeof summarising>[1],
  options: Partial<WorldOptions> = {}
) => world({ script: summarising(script, summary), settings: fast, ...options })

const fast = RetryPolicy.layer({ base: "1 millis" })

it.live("design 10: three failures in a row stop trying, with a typed reason, and the next turn goes on without", () => {
  const w = make(
    inOrder({ calls: [call("look")] }, { text: "done" }),
    inOrder({ error: serverError() }, { text: " " }, { text: "cut", finish: "length" }, { text: "never" }),
    { compaction: small }
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      const end = yield* agent.prompt("look")
      assert.strictEqual(end.reason, "compaction-failed")
      assert.include(end.detail, "cut off")
      const before = agent.session.view().get(History).length
      assert.strictEqual(before, 3, "the history is as it was")
      assert.strictEqual((yield* agent.prompt("go on")).reason, "completed")
      assert.strictEqual(w.model.requests.filter(isSummaryRequest).length, 3)
      assert.strictEqual(agent.session.view().get(Usage).failed, 3)
      // A person may still ask for it, and a success makes it work again.
      assert.deepInclude(yield* agent.compact, { outcome: "compacted" })
      assert.strictEqual(agent.session.view().get(CompactionProjection).failures, 0)
    }))
})

it.live("a failure that will not go away is not repeated", () => {
  const denied = serverError({ reason: "AuthenticationError", retryable: false })
  const w = make(inOrder({ calls: [call("look")] }), inOrder({ error: denied }), { compaction: small })
  return play(w, (agent) =>
    Effect.gen(function*() {
      assert.strictEqual((yield* agent.prompt("look")).reason, "compaction-failed")
      assert.strictEqual(w.model.requests.filter(isSummaryRequest).length, 1)
    }))
})

it.live("calls in a summary are not run, and one that has no text is a failure", () => {
  const w = make(
    inOrder({ text: "one" }),
    inOrder({ calls: [call("change", "x")] }, { text: "summary", calls: [call("change", "y")] })
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("first")
      assert.deepInclude(yield* agent.compact, { outcome: "compacted" })
      assert.deepStrictEqual(w.ran, [])
      assert.strictEqual(w.model.requests.filter(isSummaryRequest).length, 2)
    }))
})

it.live("a wish that fails three times is dropped; the running turn is not ended by it", () => {
  const gate = Deferred.makeUnsafe<void>()
  const w = make(
    inOrder({ calls: [call("look")], before: Deferred.await(gate) }, { text: "done" }),
    inOrder({ error: serverError() })
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      while (w.model.requests.length === 0) yield* Effect.yieldNow
      const wish = yield* Effect.forkChild(agent.compact)
      yield* agent.session.until((view) => view.get(CompactionProjection).wanted === "requested")
      yield* Deferred.succeed(gate, undefined)
      assert.deepInclude(yield* Fiber.join(wish), { outcome: "failed" })
      assert.strictEqual((yield* Fiber.join(turn)).reason, "completed")
    }))
})

for (const how of ["the agent", "the caller"] as const) {
  it.live(`interrupting a compaction by ${how} leaves the session as it was, and usable`, () => {
    const w = make(
      inOrder({ text: "one" }, { text: "two" }),
      inOrder({ text: "half a summ", hang: true }, { text: "whole" })
    )
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* agent.prompt("first")
        const wish = yield* Effect.forkChild(agent.compact)
        yield* agent.session.until((view) => view.get(CompactionProjection).open !== undefined)
        if (how === "the caller") yield* Fiber.interrupt(wish)
        else {
          yield* agent.interrupt
          assert.deepInclude(yield* Fiber.join(wish), { outcome: "interrupted" })
        }
        const state = agent.session.view().get(CompactionProjection)
        assert.deepStrictEqual([state.open, state.wanted, state.failures], [undefined, undefined, 0])
        assert.strictEqual(agent.session.view().get(History).length, 2)
        assert.strictEqual((yield* agent.prompt("second")).reason, "completed")
        assert.deepInclude(yield* agent.compact, { outcome: "compacted" })
      }))
  })
}

it.live("interrupting the turn during a compaction ends it like any other moment", () => {
  const w = make(inOrder({ calls: [call("look")] }, { text: "two" }), inOrder({ hang: true }, { text: "s" }), {
    compaction: small
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("first"))
      yield* agent.session.until((view) => view.get(CompactionProjection).open !== undefined)
      yield* agent.interrupt
      assert.strictEqual((yield* Fiber.join(turn)).reason, "interrupted")
      const events = yield* log(agent.session)
      assert.deepStrictEqual(types(events).slice(-2), ["step/failed", "turn/end"])
      assert.strictEqual((yield* agent.prompt("again")).reason, "completed")
    }))
})

it.live("a process that dies during a compaction is resumed: the summary is asked for again", () => {
  const disk = storage()
  const dying = make(inOrder({ calls: [call("look")] }), inOrder({ text: "lost" }), {
    journal: disk.layer,
    compaction: small
  })
  disk.dieWhen((batch) => batch.some((event) => event.type === "session/compacted") ? "before" : undefined)
  const next = disk.reborn()
  const w = make(inOrder({ text: "done" }), inOrder({ text: "found" }), { journal: next.layer, compaction: small })
  return Effect.gen(function*() {
    yield* playUntilDeath(dying, disk, (agent) => agent.prompt("go"))
    const end = yield* playOn(w, (agent) => agent.resume("continue"))
    assert.strictEqual(end.reason, "completed")
    assert.deepStrictEqual(w.model.requests.map(isSummaryRequest), [true, false])
    assert.deepStrictEqual(ofType(next.events(), "session/compacted").map(({ data }) => data.summary), ["found"])
  })
})
