import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import {
  CompactionProjection,
  foldPlanMode,
  HeaderProjection,
  Inbox,
  type ModelRequest,
  RetryPolicy,
  TransportError,
  Usage
} from "../../src/index.ts"
import { inOrder, type Reply, serverError } from "../support/ScriptedModel.ts"
import { storage } from "../support/Storage.ts"
import { call, play } from "../support/Story.ts"
import { log, ofType, types, world, type WorldOptions } from "../support/World.ts"
import { isSummaryRequest, rebuilt, summarising, unpaired } from "./support.ts"

const tooLong: Reply = {
  error: new TransportError({ reason: "ContextLength", code: "400", detail: "too long", retryable: false })
}

/** The scripted model counts 100 tokens for every prompt. */
const small = { maxPromptTokens: 50, keepTokens: 0 }

const make = (
  script: Parameters<typeof summarising>[0],
  summary?: Parameters<typeof summarising>[1],
  options: Partial<WorldOptions> = {}
) => world({ script: summarising(script, summary), settings: fast, ...options })

const fast = RetryPolicy.layer({ base: "1 millis" })

const kinds = (request: ModelRequest) => request.messages.map((message) => message.role)

it.live("a person compacts at rest: the summary takes the place of the history, the header stays", () => {
  const w = make(inOrder({ calls: [call("look", "a")] }, { text: "seen" }, { text: "again" }))
  return play(w, (agent) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* agent.compact, { outcome: "nothing-to-replace" })
      yield* agent.prompt("look")
      assert.deepStrictEqual(yield* agent.compact, { outcome: "compacted", replaced: 3 })
      yield* agent.prompt("and now")
      const [first, second, summary, after] = w.model.requests
      assert.isTrue(isSummaryRequest(summary!))
      assert.deepStrictEqual(summary!.messages, second!.messages)
      assert.deepStrictEqual(
        [first, second, summary, after].map((request) => JSON.stringify(request!.header)),
        Array.from({ length: 4 }, () => JSON.stringify(first!.header))
      )
      assert.deepStrictEqual(kinds(after!), ["user", "assistant", "user"])
      assert.include(after!.messages[0]!.text, "<summary>\nx\n</summary>")
      assert.deepStrictEqual(after!.messages.slice(1).map((message) => message.text), ["seen", "and now"])
      const events = yield* log(agent.session)
      assert.deepStrictEqual(types(events).filter((type) => type.includes("compact")), [
        "compaction/requested",
        "session/compacted"
      ])
    }))
})

it.live("every request of a compacted session can be rebuilt from its log byte for byte", () => {
  const disk = storage()
  const w = make(
    inOrder({ calls: [call("look", "a"), call("look", "b")] }, tooLong, { calls: [call("look")] }, { text: "done" }),
    inOrder({ error: serverError() }, { text: "short" }),
    { journal: disk.layer, compaction: { maxPromptTokens: 1000, keepTokens: 1 } }
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("go")
      yield* agent.compact
      yield* agent.prompt("more")
      assert.isAbove(w.model.requests.length, 6)
      assert.deepStrictEqual(
        rebuilt(disk.events()).map((request) => JSON.stringify(request)),
        w.model.requests.map((request) => JSON.stringify(request))
      )
    }))
})

it.live("the measured prompt decides: over the limit, a summary comes before the next step and nothing else changes", () => {
  const w = make(
    inOrder({ calls: [call("look", "a")] }, { text: "seen" }, { text: "again" }),
    undefined,
    { compaction: small }
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      const end = yield* agent.prompt("look")
      assert.strictEqual(end.reason, "completed")
      const events = yield* log(agent.session)
      const open = ofType(events, "step/open").map(({ data }) => [data.step, data.attempt, data.purpose])
      assert.deepStrictEqual(open, [[1, 1, undefined], [2, 1, "compaction"], [2, 1, undefined]])
      assert.deepStrictEqual(ofType(events, "session/compacted").map(({ data }) => [data.reason, data.replaced]), [
        ["limit", 3]
      ])
      // The summary counts in usage like any request, and not as a round of the turn.
      const usage = agent.session.view().get(Usage)
      assert.deepStrictEqual([usage.requests, usage.prompt, usage.completion], [3, 300, 30])
    }))
})

it.live("below the limit, and without compaction, nothing is ever compacted", () => {
  const w = make(inOrder({ calls: [call("look")] }, { text: "done" }), undefined, {
    compaction: { maxPromptTokens: 100, keepTokens: 0 }
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("look")
      assert.deepStrictEqual(w.model.requests.filter(isSummaryRequest), [])
    }))
})

it.live("a compaction that would free less than it keeps is not made", () => {
  const w = make(inOrder({ calls: [call("look")] }, { text: "done" }), undefined, {
    compaction: { maxPromptTokens: 50, keepTokens: 20_000 }
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("look")
      assert.deepStrictEqual(w.model.requests.filter(isSummaryRequest), [])
    }))
})

it.live("a message that waits at the limit is not summarised: it stands after the summary", () => {
  const w = make(inOrder({ text: "one" }, { text: "two" }), undefined, { compaction: small })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("first")
      yield* agent.prompt("second")
      const last = w.model.requests.at(-1)!
      assert.deepStrictEqual(last.messages.map((message) => message.text).slice(1), ["second"])
      assert.deepStrictEqual(agent.session.view().get(Inbox), [])
    }))
})

it.live("a context that is too long is compacted once, and the same step is tried again", () => {
  const w = make(
    inOrder({ calls: [call("look", "a")] }, tooLong, { text: "done" }),
    undefined,
    { compaction: { maxPromptTokens: 1000, keepTokens: 0 } }
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      const end = yield* agent.prompt("look")
      assert.strictEqual(end.reason, "completed")
      const events = yield* log(agent.session)
      assert.deepStrictEqual(ofType(events, "step/open").map(({ data }) => [data.step, data.attempt, data.purpose]), [
        [1, 1, undefined],
        [2, 1, undefined],
        [2, 1, "compaction"],
        [2, 2, undefined]
      ])
      assert.strictEqual(ofType(events, "session/compacted")[0]!.data.reason, "context-length")
    }))
})

it.live("the message that made the context too long is kept, and is not part of the request for the summary", () => {
  const w = make(inOrder({ text: "one" }, tooLong, { text: "two" }), undefined, {
    compaction: { maxPromptTokens: 1000, keepTokens: 0 }
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("first")
      yield* agent.prompt("HUGE")
      const summary = w.model.requests.find(isSummaryRequest)!
      assert.notInclude(JSON.stringify(summary.messages), "HUGE")
      assert.deepStrictEqual(w.model.requests.at(-1)!.messages.map((message) => message.text).slice(1), ["HUGE"])
    }))
})

it.live("still too long after it: the turn ends with its reason, once per step", () => {
  const w = make(inOrder({ text: "one" }, tooLong, tooLong, tooLong), undefined, {
    compaction: { maxPromptTokens: 1000, keepTokens: 0 }
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("first")
      const end = yield* agent.prompt("second")
      assert.deepInclude(end, { reason: "context-length" })
      assert.strictEqual(w.model.requests.filter(isSummaryRequest).length, 1)
    }))
})

it.live("design 12: without compaction, a context that is too long ends the turn", () => {
  const w = make(inOrder({ text: "one" }, tooLong))
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("first")
      assert.deepInclude(yield* agent.prompt("second"), { reason: "context-length" })
      assert.deepStrictEqual(w.model.requests.filter(isSummaryRequest), [])
    }))
})

it.live("a request for a summary that is itself too long is made again with half as much", () => {
  const rounds = Array.from({ length: 8 }, (_, i): Reply => ({ calls: [call("look", `${i}`.repeat(400))] }))
  const w = make(
    inOrder(...rounds, tooLong, { text: "done" }),
    inOrder(tooLong, { text: "half" }),
    { compaction: { maxPromptTokens: 1000, keepTokens: 0 } }
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      assert.strictEqual((yield* agent.prompt("go")).reason, "completed")
      const [whole, half] = w.model.requests.filter(isSummaryRequest)
      assert.strictEqual(whole!.messages.length, 17)
      assert.isAtMost(half!.messages.length, 10)
      assert.deepStrictEqual(half!.messages, whole!.messages.slice(0, half!.messages.length))
      assert.deepStrictEqual(w.model.requests.flatMap(unpaired), [])
    }))
})

it.live("/compact during a turn takes effect at its next boundary; the reply never knows", () => {
  const gate = Deferred.makeUnsafe<void>()
  const w = make(
    inOrder({ calls: [call("look", "a")], before: Deferred.await(gate) }, { text: "done" }),
    undefined,
    { compaction: {} }
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      while (w.model.requests.length === 0) yield* Effect.yieldNow
      const said = yield* Effect.forkChild(agent.command("/compact"))
      yield* agent.session.until((view) => view.get(CompactionProjection).wanted === "requested")
      yield* Deferred.succeed(gate, undefined)
      assert.match((yield* Fiber.join(said))!, /place of 3 messages/)
      assert.strictEqual((yield* Fiber.join(turn)).reason, "completed")
      assert.deepStrictEqual(w.model.requests.map(isSummaryRequest), [false, true, false])
    }))
})

it.live("facts that only the log holds are the same before and after", () => {
  const disk = storage()
  const w = make(inOrder({ text: "one" }), undefined, { journal: disk.layer })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("first")
      const before = disk.events()
      const view = agent.session.view()
      yield* agent.compact
      assert.deepStrictEqual(foldPlanMode(disk.events()), foldPlanMode(before))
      assert.strictEqual(agent.session.view().get(HeaderProjection), view.get(HeaderProjection))
    }))
})
