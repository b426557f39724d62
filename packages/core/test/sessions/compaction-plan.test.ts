import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import {
  type AgentHandle,
  choose,
  dismiss,
  History,
  type ModelRequest,
  planInHand,
  PlanProjection,
  say,
  StatePlacement
} from "../../src/index.ts"
import { inOrder, type Reply, type Script } from "../support/ScriptedModel.ts"
import { storage } from "../support/Storage.ts"
import { call, enter, GUIDANCE, isGuided, plan, play, playOn, submit, until } from "../support/Story.ts"
import { log, ofType, results, select, start, world, type WorldOptions } from "../support/World.ts"
import { isSummaryRequest, summarising } from "./support.ts"

const MARKED = "# Fix the parser\n\n- MARK-7f3a: keep `a < b` and \"quotes\"\n- then test\n"
const OTHER = "# Another way\n\n- MARK-9b1c"

const make = (script: Script, summary: Script = () => ({ text: "x" }), options: Partial<WorldOptions> = {}) =>
  world({ script: summarising(script, summary), planSection: GUIDANCE, ...options })

/** How often a text stands in what the model reads; the arguments of a call count as what they say. */
const occurrences = (request: ModelRequest, text: string): number =>
  request.messages.flatMap((message) => [
    message.text,
    ...(message.role === "assistant"
      ? message.calls.flatMap((made) => Object.values(JSON.parse(made.arguments) as object).map(String))
      : [])
  ]).concat(request.tail ?? "").reduce((sum, part) => sum + part.split(text).length - 1, 0)

const small = { compaction: { maxPromptTokens: 50, keepTokens: 0 } }

const planned: ReadonlyArray<Reply> = [
  { calls: [enter] },
  { calls: [submit(MARKED)] },
  { calls: [call("change", "one")] },
  { calls: [call("look", "two")] },
  { text: "done" },
  { text: "next" }
]

const approve = (w: ReturnType<typeof make>, agent: AgentHandle) =>
  Effect.gen(function*() {
    const turn = yield* Effect.forkChild(agent.prompt("fix it"))
    yield* w.person.answer(choose("approve"))
    yield* w.person.answer(choose("once"))
    return yield* Fiber.join(turn)
  })

/** What the summariser makes of the plan: nothing, a copy, a copy twice. */
for (
  const [name, summary] of [["forgets", "x"], ["copies", `Plan:\n${MARKED}`], ["doubles", MARKED + MARKED]] as const
) {
  it.live(`case 47, case 48: an approved plan survives a summariser that ${name} it, once and byte for byte`, () => {
    const w = make(inOrder(...planned), () => ({ text: summary }), small)
    return play(w, (agent) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* approve(w, agent)).reason, "completed")
        const approval = ofType(yield* log(agent.session), "review/answered")[0]!
        const from = w.model.requests.findIndex((request) => occurrences(request, "is approved: do not plan again") > 0)
        assert.isAbove(from, 0)
        const after = w.model.requests.slice(from).filter((request) => !isSummaryRequest(request))
        assert.isAtLeast(after.length, 2)
        for (const request of after) {
          assert.strictEqual(occurrences(request, MARKED), 1)
          assert.strictEqual(occurrences(request, "MARK-7f3a"), 1)
          assert.strictEqual(occurrences(request, `(event ${approval.seq})`), 1)
          assert.isFalse(isGuided(request))
          assert.isNull(request.tail, "nothing suggests to plan")
        }
      }))
  })
}

it.live("case 45: two compactions after an approved plan bring nobody back into plan mode", () => {
  const w = make(inOrder(...planned))
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* approve(w, agent)
      yield* agent.compact
      yield* agent.prompt("go on")
      yield* agent.compact
      yield* agent.prompt("and on")
      const last = w.model.requests.at(-1)!
      assert.deepStrictEqual(yield* plan(agent), { active: false })
      assert.isFalse(isGuided(last))
      assert.strictEqual(occurrences(last, MARKED), 1)
      assert.include(last.messages[0]!.text, "A turn has ended as completed since")
      yield* select(agent, false)
    }))
})

it.live("the restated plan says where it stands: in the messages that stayed, it is not repeated", () => {
  const w = make(inOrder({ text: "long ".repeat(400) }, ...planned))
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("talk")
      yield* approve(w, agent)
      yield* agent.compact
      yield* agent.prompt("go on")
      const last = w.model.requests.at(-1)!
      assert.include(last.messages[0]!.text, "The plan stands in the messages that follow.")
      assert.strictEqual(occurrences(last, "MARK-7f3a"), 1)
    }))
})

it.live("PM R3: compaction while planning leaves plan mode, gate and guidance as they are, and the plan under revision", () => {
  const w = make(
    inOrder({ calls: [enter] }, { calls: [submit(MARKED)] }, { calls: [call("change", "early")] }, { text: "hm" }),
    undefined,
    small
  )
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("fix it"))
      yield* w.person.answer(say("shorter, and MIND the tests"))
      yield* Fiber.join(turn)
      const events = yield* log(agent.session)
      assert.deepStrictEqual(yield* plan(agent), { active: true })
      const refused = results(events).at(-1)!
      assert.deepStrictEqual([refused.name, refused.code], ["change", "plan_gate"])
      const last = w.model.requests.at(-1)!
      assert.isTrue(isGuided(last))
      assert.strictEqual(occurrences(last, MARKED), 1)
      assert.strictEqual(occurrences(last, "shorter, and MIND the tests"), 1)
      assert.include(last.messages[0]!.text, "it was not approved")
      assert.notInclude(last.messages[0]!.text, "is approved")
    }))
})

it.live("PM R3: a compaction that is wished for during a review waits for it, and the plan is shown byte for byte", () => {
  const w = make(inOrder({ calls: [enter] }, { calls: [submit(MARKED)] }, { text: "done" }))
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("fix it"))
      yield* w.person.next
      const wish = yield* Effect.forkChild(agent.compact)
      yield* until(() => w.model.requests.length === 2)
      yield* Effect.yieldNow
      assert.deepStrictEqual(w.model.requests.filter(isSummaryRequest), [])
      const question = yield* w.person.answer(choose("approve"))
      assert.strictEqual(question.detail, MARKED)
      assert.deepInclude(yield* Fiber.join(wish), { outcome: "compacted" })
      assert.strictEqual((yield* Fiber.join(turn)).reason, "completed")
      // The approval was not in force yet when the summary was asked for; the next request is the first after planning.
      assert.deepStrictEqual(yield* plan(agent), { active: false })
      const last = w.model.requests.at(-1)!
      assert.isFalse(isGuided(last))
      assert.strictEqual(occurrences(last, MARKED), 1)
    }))
})

it.live("PM R3: before the first planning and after the last, there is no plan to restate", () => {
  const w = make(inOrder({ text: "one" }, { calls: [enter] }, { calls: [submit(MARKED)] }, { text: "ok" }))
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("talk")
      yield* agent.compact
      assert.notInclude(JSON.stringify(w.model.requests), "-plan>")
      const turn = yield* Effect.forkChild(agent.prompt("plan"))
      yield* w.person.answer(dismiss)
      yield* Fiber.join(turn)
      assert.strictEqual(planInHand(agent.session.view())?.outcome, "dismissed")
      // Who leaves plan mode leaves the plan that was not approved.
      yield* select(agent, false)
      assert.strictEqual(planInHand(agent.session.view()), undefined)
    }))
})

it.live("an approved plan is given up by planning anew, and by the next plan that is approved", () => {
  const w = make(inOrder(...planned.slice(0, 2), { text: "wait" }, { calls: [submit(OTHER)] }, { text: "done" }))
  return play(w, (agent) =>
    Effect.gen(function*() {
      const first = yield* Effect.forkChild(agent.prompt("fix it"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(first)
      assert.strictEqual(planInHand(agent.session.view())?.plan, MARKED)
      yield* select(agent, true)
      assert.strictEqual(planInHand(agent.session.view()), undefined)
      const second = yield* Effect.forkChild(agent.prompt("otherwise"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(second)
      assert.strictEqual(planInHand(agent.session.view())?.plan, OTHER)
    }))
})

it.live("an approval survives a crash and a compaction after it", () => {
  const disk = storage()
  const w = make(inOrder(...planned.slice(0, 2), { text: "later" }), undefined, { journal: disk.layer })
  const again = make(inOrder({ text: "go" }), undefined, { journal: disk.reborn().layer })
  return Effect.gen(function*() {
    yield* play(w, (agent) =>
      Effect.gen(function*() {
        const turn = yield* Effect.forkChild(agent.prompt("fix it"))
        yield* w.person.answer(choose("approve"))
        yield* Fiber.join(turn)
      }))
    yield* playOn(again, (agent) => Effect.andThen(agent.compact, agent.prompt("go")))
    assert.strictEqual(occurrences(again.model.requests.at(-1)!, MARKED), 1)
  })
})

it.live("guidance that stands in the history is put there again when a summary has replaced it", () => {
  const w = make(inOrder({ text: "one" }, { text: "and two ".repeat(40) }, { text: "three" }), undefined, {
    settings: StatePlacement.layer("history")
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("a question that is longer than its answer")
      yield* agent.compact
      assert.deepInclude(agent.session.view().get(History).at(1), { text: GUIDANCE }, "it stayed")
      yield* agent.prompt("next")
      assert.strictEqual(occurrences(w.model.requests.at(-1)!, GUIDANCE), 1)
      yield* agent.compact
      assert.strictEqual(agent.session.view().get(History).length, 1, "it is gone")
      yield* agent.prompt("last")
      assert.strictEqual(occurrences(w.model.requests.at(-1)!, GUIDANCE), 1)
    }))
})

it.live("a pending selection is not brought into force by a request for a summary", () => {
  const w = make(inOrder({ text: "one" }, { text: "two" }))
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("first")
      yield* select(agent, true)
      yield* agent.compact
      const fold = agent.session.view().get(PlanProjection)
      assert.deepStrictEqual([fold.state, fold.told], [{ active: false, pending: { active: true, by: "user" } }, false])
      yield* agent.prompt("second")
      const last = w.model.requests.at(-1)!
      assert.isTrue(isGuided(last))
      assert.strictEqual(last.messages.filter((message) => message.text.includes("switched to plan mode")).length, 1)
    }))
})

it.live("PM R1: reopened while planning, the gate is closed before the first request", () => {
  const disk = storage()
  const w = make(inOrder({ text: "one" }), undefined, { journal: disk.layer })
  const again = make(inOrder({ calls: [call("change", "x")] }, { text: "ok" }), undefined, {
    journal: disk.reborn().layer
  })
  return Effect.gen(function*() {
    yield* play(w, (agent) => Effect.andThen(select(agent, true), agent.prompt("look")))
    yield* playOn(again, (agent) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* plan(agent), { active: true })
        yield* agent.prompt("now change it")
        assert.deepStrictEqual(results(yield* log(agent.session)).map((result) => result.code), ["plan_gate"])
        assert.deepStrictEqual(again.ran, [])
        assert.isTrue(isGuided(again.model.requests[0]!))
      }))
  })
})

it.live("PM R5: a plan that was approved in another session of the same journal is invisible", () => {
  const w = make(inOrder(...planned))
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* approve(w, agent)
      const other = yield* start("other")
      yield* other.prompt("hello")
      yield* other.compact
      yield* other.prompt("again")
      assert.strictEqual(planInHand(other.session.view()), undefined)
      assert.strictEqual(occurrences(w.model.requests.at(-1)!, "MARK-7f3a"), 0)
    }))
})
