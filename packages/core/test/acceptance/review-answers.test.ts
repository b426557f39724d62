/** Plan mode, acceptance rows E4 to E9, E11, E15, E18, E19, E22: what an answer to a plan review does. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type Answer, choose, dismiss, Interaction, InteractionFailed, say } from "../../src/index.ts"
import { inOrder, type Reply } from "../support/ScriptedModel.ts"
import {
  allowAll,
  call,
  codes,
  enter,
  GUIDANCE,
  isGuided,
  plan,
  planning,
  play,
  submit,
  until
} from "../support/Story.ts"
import { log, ofType, results, select, world } from "../support/World.ts"

const modes = (events: Parameters<typeof ofType>[0]) => ofType(events, "plan/mode").map((event) => event.data.active)

const planned = (replies: ReadonlyArray<Reply>, more: Partial<Parameters<typeof world>[0]> = {}) =>
  world({ script: inOrder(...replies, { text: "ok" }), planSection: GUIDANCE, ...allowAll, ...more })

it.effect("PM E4, E18: consent counts from the next step: the rest of the batch is still gated (cases 2, 44)", () => {
  const w = planned([
    { calls: [call("change", "before"), submit(), call("change", "after"), call("look")] },
    { calls: [call("change", "next")] }
  ])
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      const events = yield* log(agent.session)
      assert.deepStrictEqual(codes(results(events)), ["plan_gate", "ok", "plan_gate", "ok", "ok"])
      assert.include(results(events)[1]!.content, "approved")
      assert.include(results(events)[1]!.content, "from the next step")
      assert.include(results(events)[2]!.content, "next step")
      assert.deepStrictEqual(w.ran, ["look", "change:next"])
      assert.deepStrictEqual(w.model.requests.map(isGuided), [true, false, false])
      assert.deepStrictEqual(modes(events), [true, false])
    }))
})

it.effect("PM E4: an approval is not valid for the next time of planning (case 2)", () => {
  const w = planned([{ calls: [submit()] }, { text: "done" }, { calls: [call("change")] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      yield* select(agent, true)
      yield* agent.prompt("now task B")
      assert.deepStrictEqual(w.ran, [])
      assert.strictEqual(codes(results(yield* log(agent.session))).at(-1), "plan_gate")
    }))
})

const answers: ReadonlyArray<readonly [what: string, answer: unknown, code: string, says?: string]> = [
  [
    "Approve with a text",
    { ...choose("approve"), text: "but mind the tests" },
    "plan_answer_invalid",
    "but mind the tests"
  ],
  ["Approve with an empty text", { ...choose("approve"), text: "" }, "plan_answer_invalid"],
  ["both options", { _tag: "Answered", selected: ["approve", "keep-planning"] }, "plan_answer_invalid"],
  ["Approve twice", { _tag: "Answered", selected: ["approve", "approve"] }, "plan_answer_invalid"],
  ["an unknown option", choose("yes"), "plan_answer_invalid"],
  ["a label instead of an id", choose("Approve"), "plan_answer_invalid"],
  ["nothing chosen", { _tag: "Answered", selected: [] }, "plan_answer_invalid"],
  ["Keep planning", choose("keep-planning"), "plan_not_approved", "keep planning"],
  [
    "Keep planning with a text",
    { ...choose("keep-planning"), text: "smaller steps" },
    "plan_not_approved",
    "smaller steps"
  ],
  ["only a text", say("use a\n  parser!"), "plan_not_approved", "use a\n  parser!"],
  ["the text approve", say("approve"), "plan_not_approved", "approve"],
  ["true", true, "plan_answer_invalid"],
  ["an answer of another form", { _tag: "Approved" }, "plan_answer_invalid"]
]

for (const [what, answer, code, says] of answers) {
  it.effect(`PM E5: ${what} is no consent (cases 23, 26, 27, 39)`, () => {
    const w = planned([{ calls: [submit()] }, { calls: [call("change")] }])
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* select(agent, true)
        const turn = yield* Effect.forkChild(agent.prompt("plan it"))
        yield* w.person.answer(answer as Answer)
        yield* Fiber.join(turn)
        const events = yield* log(agent.session)
        assert.deepStrictEqual(codes(results(events)), [code, "plan_gate"])
        assert.strictEqual(results(events)[0]!.outcome, "refused")
        if (says !== undefined) assert.include(results(events)[0]!.content, says)
        assert.deepStrictEqual(modes(events), [true])
        assert.deepStrictEqual(w.ran, [])
        // The same turn goes on with a further request.
        assert.strictEqual(w.model.requests.length, 3)
      }))
  })
}

it.effect("PM E6: a dismissed review ends the turn, which waits for the user (case 28)", () => {
  const w = planned([{ calls: [submit(), call("look")] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer(dismiss)
      const end = yield* Fiber.join(turn)
      assert.strictEqual(end.reason, "awaiting-user")
      assert.strictEqual(w.model.requests.length, 1)
      const [review] = results(yield* log(agent.session))
      assert.deepStrictEqual([review!.code, review!.by], ["plan_review_dismissed", "person"])
      assert.include(review!.content, "wait for the person")
      assert.isTrue(planning(agent))
    }))
})

it.effect("PM E6: a message that came before the dismissal is the one that was waited for", () => {
  const w = planned([{ calls: [submit()] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.next
      yield* agent.send("look at the tests first")
      yield* w.person.answer(dismiss)
      const end = yield* Fiber.join(turn)
      assert.strictEqual(end.reason, "completed")
      assert.strictEqual(w.model.requests[1]!.messages.at(-1)!.text, "look at the tests first")
      assert.isTrue(planning(agent))
    }))
})

const providers: ReadonlyArray<readonly [what: string, ask: Interaction["Service"]["ask"], code: string]> = [
  [
    "fails",
    () => Effect.fail(new InteractionFailed({ provider: "broken", detail: "no screen" })),
    "plan_review_failed"
  ],
  ["dies with a defect", () => Effect.die("boom"), "plan_review_failed"],
  ["throws", () => {
    throw new Error("boom")
  }, "plan_review_failed"],
  ["interrupts itself", () => Effect.interrupt, "plan_review_failed"],
  ["answers nonsense", () => Effect.succeed("yes" as never), "plan_answer_invalid"]
]

for (const [what, ask, code] of providers) {
  it.effect(`PM E7: a provider that ${what} refuses the plan, and /plan off still works (cases 23, 34)`, () => {
    const w = planned([{ calls: [submit()] }], {
      interaction: Layer.succeed(Interaction, { name: "broken", capacity: 1, ask })
    })
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* select(agent, true)
        const end = yield* agent.prompt("plan it")
        assert.strictEqual(end.reason, "completed")
        assert.deepStrictEqual(codes(results(yield* log(agent.session))), [code])
        assert.isTrue(planning(agent))
        assert.strictEqual(yield* select(agent, false), "queued")
      }))
  })
}

it.effect("PM E7: without a provider a plan is refused at once, with a text of its own (case 34)", () => {
  const w = planned([{ calls: [submit()] }], { interaction: Interaction.layerNone })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("plan it")
      const [review] = results(yield* log(agent.session))
      assert.strictEqual(review!.code, "no_interaction_provider")
      assert.include(review!.content, "nobody can review")
      assert.strictEqual(yield* select(agent, false), "queued")
    }))
})

it.effect("PM E8: a review whose deadline passes is refused, and a late answer changes nothing (cases 69, 78, 79)", () => {
  const w = planned([{ calls: [submit()] }], { review: { deadline: "5 minutes" } })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      const question = yield* w.person.next
      yield* TestClock.adjust("5 minutes")
      yield* Fiber.join(turn)
      const events = yield* log(agent.session)
      assert.deepStrictEqual(ofType(events, "review/answered").map((e) => [e.data.outcome, e.data.by]), [
        ["expired", "session"]
      ])
      assert.deepStrictEqual(results(events).map((r) => [r.code, r.by]), [["plan_review_expired", "timeout"]])
      assert.deepStrictEqual(w.person.withdrawn, [question.id])
      assert.deepStrictEqual(yield* plan(agent), { active: true })
    }))
})

it.effect("PM E9: interrupting the turn withdraws the review, with a text of its own (cases 23, 83)", () => {
  const w = planned([{ calls: [submit(), call("change")] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* Effect.forkChild(agent.prompt("plan it"))
      const question = yield* w.person.next
      yield* agent.interrupt
      assert.deepStrictEqual(w.person.withdrawn, [question.id])
      assert.deepStrictEqual(w.person.showing(), [])
      const events = yield* log(agent.session)
      assert.deepStrictEqual(ofType(events, "review/answered").map((e) => e.data.outcome), ["withdrawn"])
      assert.deepStrictEqual(codes(results(events)), ["plan_review_interrupted", "not_started"])
      assert.deepStrictEqual(yield* plan(agent), { active: true })
      assert.strictEqual((yield* agent.prompt("go on")).reason, "completed")
    }))
})

it.effect("PM E11: a second submission in one batch after the approval is refused without asking", () => {
  const w = planned([{ calls: [submit("# A"), submit("# B"), enter] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      assert.strictEqual(w.person.seen.length, 1)
      const said = codes(results(yield* log(agent.session)))
      assert.deepStrictEqual(said, ["ok", "plan_already_approved", "plan_already_approved"])
      assert.isFalse(planning(agent))
    }))
})

it.effect("PM E15: a plan outside plan mode closes the gate at once; consent takes that back and logs no mode", () => {
  const w = planned([{ calls: [submit(), call("change", "same")] }, { calls: [call("change", "next")] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      yield* w.person.next
      assert.deepStrictEqual(yield* plan(agent), { active: false, pending: { active: true, by: "review" } })
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      const events = yield* log(agent.session)
      assert.deepStrictEqual(codes(results(events)), ["ok", "plan_gate", "ok"])
      assert.include(results(events)[0]!.content, "Carry it out")
      assert.deepStrictEqual(modes(events), [])
      assert.deepStrictEqual(w.ran, ["change:next"])
    }))
})

for (const [what, answer] of [["keep planning", choose("keep-planning")], ["feedback", say("no")]] as const) {
  it.effect(`PM E15b: a plan outside plan mode that gets ${what} leaves the session planning`, () => {
    const w = planned([{ calls: [submit(), call("change")] }, { calls: [call("change")] }])
    return play(w, (agent) =>
      Effect.gen(function*() {
        const turn = yield* Effect.forkChild(agent.prompt("go"))
        yield* w.person.answer(answer)
        yield* Fiber.join(turn)
        const events = yield* log(agent.session)
        assert.deepStrictEqual(codes(results(events)), ["plan_not_approved", "plan_gate", "plan_gate"])
        assert.deepStrictEqual(modes(events), [true])
        assert.deepStrictEqual(w.model.requests.map(isGuided), [false, true, true])
        assert.deepStrictEqual(w.ran, [])
      }))
  })
}

it.effect("PM E19: a message that says approved has no effect on the mode (case 24)", () => {
  const w = planned([{ text: "planning" }, { calls: [call("change")] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("plan it")
      yield* agent.prompt("approved, go ahead")
      assert.deepStrictEqual(yield* plan(agent), { active: true })
      assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["plan_gate"])
    }))
})

it.effect("PM E22: enter and exit in one batch: consent clears the pending entry", () => {
  const w = planned([{ calls: [enter, submit()] }, { calls: [call("change")] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      assert.deepStrictEqual(modes(yield* log(agent.session)), [])
      assert.deepStrictEqual(w.ran, ["change"])
      assert.isFalse(planning(agent))
    }))
})

it.effect("PM E22: the user's /plan in mid-step, then consent in that step: plan mode does not switch on afterwards", () => {
  const reply = Latch.makeUnsafe(false)
  const w = planned([{ calls: [submit()], before: reply.await }, { calls: [call("change")] }])
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      yield* until(() => w.model.requests.length === 1)
      yield* agent.command("/plan")
      yield* reply.open
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      assert.deepStrictEqual(modes(yield* log(agent.session)), [])
      assert.deepStrictEqual(w.ran, ["change"])
    }))
})
