/** Plan mode, acceptance rows E10, E12, E13, R1, R5, R6, R7, R8: closed, killed, reopened, left out. */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import {
  Agent,
  Approval,
  Approvals,
  Attention,
  Boundaries,
  choose,
  Commands,
  PlanGate,
  PlanMode,
  PlanSignals,
  PromptSections,
  say,
  SessionId,
  Sessions,
  ToolCatalog,
  ToolGates,
  ToolHooks,
  ToolRunner,
  UnknownCommand
} from "../../src/index.ts"
import { person } from "../support/Person.ts"
import { inOrder, type Reply, scriptedModel } from "../support/ScriptedModel.ts"
import { holds, type Storage, storage } from "../support/Storage.ts"
import {
  allowAll,
  call,
  codes,
  GUIDANCE,
  isGuided,
  plan,
  planning,
  play,
  playOn,
  playUntilDeath,
  submit
} from "../support/Story.ts"
import { log, ofType, Recorder, results, select, start, world } from "../support/World.ts"

const on = (disk: Storage, ...replies: ReadonlyArray<Reply>) =>
  world({ script: inOrder(...replies), planSection: GUIDANCE, journal: disk.layer, ...allowAll })

const submitting =
  (w: ReturnType<typeof world>, answer: Parameters<typeof w.person.answer>[0]) =>
  (agent: Parameters<Parameters<typeof play>[1]>[0]) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* Effect.forkChild(w.person.answer(answer))
      return yield* agent.prompt("plan it")
    })

for (const moment of ["before", "after"] as const) {
  it.effect(`PM E12: consent, then death ${moment === "before" ? "before" : "with"} the tool result: the answer counts (cases 43, 89)`, () => {
    const disk = storage()
    const first = on(disk, { calls: [submit(), call("look")] })
    disk.dieWhen((batch) =>
      moment === "before" ? holds("tool/result")(batch) ? "before" : undefined : holds(
          "review/answered"
        )(batch)
        ? "after"
        : undefined
    )
    const second = on(disk.reborn(), { calls: [call("change")] }, { text: "done" })
    return Effect.gen(function*() {
      yield* playUntilDeath(first, disk, submitting(first, choose("approve")))
      yield* playOn(second, (agent) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* plan(agent), { active: true, pending: { active: false, by: "review" } })
          const end = yield* agent.resume("continue")
          assert.strictEqual(end.reason, "completed")
          const events = yield* log(agent.session)
          assert.include(results(events)[0]!.content, "approved the plan")
          assert.strictEqual(ofType(events, "review/asked").length, 1)
          assert.deepStrictEqual(second.person.seen, [])
          assert.isFalse(isGuided(second.model.requests[0]!))
          assert.deepStrictEqual(second.ran.at(-1), "change")
        }))
    })
  })
}

it.effect("PM E12: consent, then death, then an ordinary prompt: the answer counts all the same", () => {
  const disk = storage()
  const first = on(disk, { calls: [submit()] })
  disk.dieWhen((batch) => holds("review/answered")(batch) ? "after" : undefined)
  const second = on(disk.reborn(), { text: "done" })
  return Effect.gen(function*() {
    yield* playUntilDeath(first, disk, submitting(first, choose("approve")))
    yield* playOn(second, (agent) =>
      Effect.gen(function*() {
        yield* agent.prompt("go on")
        const events = yield* log(agent.session)
        assert.deepStrictEqual(codes(results(events)), ["ok"])
        assert.isFalse(planning(agent))
        assert.deepStrictEqual(second.person.seen, [])
      }))
  })
})

for (const answer of [choose("keep-planning"), say("smaller")]) {
  it.effect(`PM E12: a refusal (${JSON.stringify(answer)}) that was logged before the death counts too`, () => {
    const disk = storage()
    const first = on(disk, { calls: [submit()] })
    disk.dieWhen((batch) => holds("review/answered")(batch) ? "after" : undefined)
    const second = on(disk.reborn(), { text: "done" })
    return Effect.gen(function*() {
      yield* playUntilDeath(first, disk, submitting(first, answer))
      yield* playOn(second, (agent) =>
        Effect.gen(function*() {
          yield* agent.resume("continue")
          assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["plan_not_approved"])
          assert.isTrue(planning(agent))
          assert.deepStrictEqual(second.person.seen, [])
        }))
    })
  })
}

it.effect("PM E13: death while the review is open: the same plan is asked again under a new id (cases 72, 82)", () => {
  const disk = storage()
  const first = on(disk, { calls: [submit("# Same plan")] })
  const second = on(disk.reborn(), { text: "done" })
  return Effect.gen(function*() {
    disk.dieWhen((batch) => holds("review/answered")(batch) ? "before" : undefined)
    yield* playUntilDeath(first, disk, submitting(first, choose("approve")))
    yield* playOn(second, (agent) =>
      Effect.gen(function*() {
        const turn = yield* Effect.forkChild(agent.resume("continue"))
        const again = yield* second.person.answer(choose("keep-planning"))
        yield* Fiber.join(turn)
        assert.strictEqual(again.detail, "# Same plan")
        assert.notStrictEqual(again.id, first.person.seen[0]!.id)
        const events = yield* log(agent.session)
        assert.deepStrictEqual(ofType(events, "review/answered").map((e) => e.data.outcome), [
          "withdrawn",
          "keep-planning"
        ])
        assert.strictEqual(results(events).length, 1)
      }))
  })
})

it.effect("PM E13: death after /plan off had withdrawn the review: it is not opened again behind the user's back", () => {
  const disk = storage()
  const first = on(disk, { calls: [submit()] })
  const second = on(disk.reborn(), { text: "done" })
  return Effect.gen(function*() {
    disk.dieWhen((batch) => holds("review/answered")(batch) ? "after" : undefined)
    yield* playUntilDeath(first, disk, (agent) =>
      Effect.gen(function*() {
        yield* select(agent, true)
        const turn = yield* Effect.forkChild(agent.prompt("plan it"))
        yield* first.person.next
        yield* agent.command("/plan off")
        return yield* Fiber.join(turn)
      }))
    yield* playOn(second, (agent) =>
      Effect.gen(function*() {
        yield* agent.resume("continue")
        assert.deepStrictEqual(second.person.seen, [])
        assert.isFalse(planning(agent))
        assert.include(results(yield* log(agent.session))[0]!.content, "left plan mode")
      }))
  })
})

it.effect("PM R1: a session that was planning is planning when it is reopened, gate closed before the first request", () => {
  const disk = storage()
  return Effect.gen(function*() {
    yield* play(on(disk, { text: "ok" }), (agent) =>
      Effect.gen(function*() {
        yield* select(agent, true)
        yield* agent.prompt("hi")
      }))
    const second = on(disk.reborn(), { calls: [call("change")] }, { text: "ok" })
    yield* playOn(second, (agent) =>
      Effect.gen(function*() {
        assert.isTrue(planning(agent))
        yield* agent.prompt("go")
        assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["plan_gate"])
        assert.isTrue(isGuided(second.model.requests[0]!))
      }))
  })
})

it.effect("PM R5: a plan that was approved in another session is invisible in this one (case 38)", () => {
  const disk = storage()
  const w = on(disk, { calls: [submit("# Secret plan")] }, { text: "ok" })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* submitting(w, choose("approve"))(agent)
      const other = yield* start("other")
      const before = w.model.requests.length
      yield* select(other, true)
      yield* other.prompt("hi")
      assert.deepStrictEqual(yield* plan(other), { active: true })
      assert.notInclude(w.model.bodies[before]!, "Secret plan")
    }))
})

/** The harness without the plan layers, and the registries that they would add to. */
const bare = (replies: ReadonlyArray<Reply>, disk = storage()) => {
  const model = scriptedModel(inOrder(...replies))
  const someone = person()
  const ran: Array<string> = []
  const run = (tool: string) => () => {
    ran.push(tool)
    return Effect.succeed(`${tool} done`)
  }
  const tools = ToolCatalog.add(Recorder).pipe(Layer.provide(Recorder.toLayer({
    look: run("look"),
    change: run("change"),
    wreck: run("wreck"),
    plain: run("plain")
  })))
  const registries = Layer.mergeAll(
    ToolCatalog.layer,
    ToolGates.layer,
    ToolHooks.layer,
    PromptSections.layer,
    Boundaries.layer,
    Commands.layer
  )
  const layer = Layer.mergeAll(Agent.layer.pipe(Layer.provideMerge(ToolRunner.layer)), Sessions.layer, tools).pipe(
    Layer.provideMerge(Approval.layer(allowAll.approval).pipe(Layer.provideMerge(Attention.layer()))),
    Layer.provideMerge(registries),
    Layer.provide(Layer.mergeAll(model.layer, someone.layer)),
    Layer.provideMerge(disk.layer)
  )
  return { model, person: someone, ran, layer }
}

const planLayers = Layer.mergeAll(PlanMode.layer({ section: GUIDANCE }), PlanGate.layer(), PlanSignals.layer)

it.effect("PM R6: plan mode's layer rebuilt while active refolds active; /plan off is back, leaving opens the gate", () => {
  const w = bare([{ text: "a" }, { calls: [call("change", "closed")] }, { text: "b" }, { calls: [call("change")] }, {
    text: "c"
  }])
  return Effect.gen(function*() {
    const agent = yield* start()
    const first = yield* Scope.make()
    yield* Layer.buildWithScope(Layer.fresh(planLayers), first)
    yield* agent.command("/plan")
    yield* agent.prompt("one")
    yield* Scope.close(first, Exit.void)
    assert.instanceOf(yield* Effect.flip(agent.command("/plan off")), UnknownCommand)
    yield* agent.prompt("two")
    assert.deepStrictEqual(w.ran, [])
    const second = yield* Scope.make()
    const built = yield* Layer.buildWithScope(Layer.fresh(planLayers), second)
    const mode = yield* Effect.provideContext(PlanMode.useSync((service) => service), built)
    assert.deepStrictEqual(mode.get(agent.session), { active: true })
    yield* agent.command("/plan off")
    yield* agent.prompt("three")
    assert.deepStrictEqual(w.ran, ["change"])
  }).pipe(Effect.scoped, Effect.provide(w.layer))
})

it.effect("PM E10: plan mode's scope closes during a review, then Approve arrives: refused, and a new review is possible", () => {
  const w = bare([{ calls: [submit()] }, { calls: [submit()] }, { text: "done" }])
  return Effect.gen(function*() {
    const agent = yield* start()
    const first = yield* Scope.make()
    yield* Layer.buildWithScope(Layer.fresh(planLayers), first)
    yield* agent.command("/plan")
    const turn = yield* Effect.forkChild(agent.prompt("plan it"))
    const question = yield* w.person.next
    const second = yield* Scope.make()
    yield* Scope.close(first, Exit.void)
    const length = agent.session.view().length
    const events = yield* log(agent.session)
    assert.deepStrictEqual(ofType(events, "review/answered").map((e) => [e.data.outcome, e.data.by]), [
      ["withdrawn", "session"]
    ])
    assert.deepStrictEqual(w.person.withdrawn, [question.id])
    yield* Fiber.join(turn)
    const later = (yield* log(agent.session)).slice(length)
    assert.deepStrictEqual(
      later.filter((event) => event.type.startsWith("plan/") || event.type.startsWith("review/")),
      []
    )
    const said = results(yield* log(agent.session))[0]!
    assert.strictEqual(said.code, "plan_review_withdrawn")
    assert.include(said.content, "Present the plan again")
    yield* Layer.buildWithScope(Layer.fresh(planLayers), second)
    assert.isTrue(planning(agent))
  }).pipe(Effect.scoped, Effect.provide(w.layer))
})

it.effect("PM R7: a cycle of planning leaves policy and grants as they were (case 42)", () => {
  const disk = storage()
  const w = on(disk, { calls: [submit()] }, { calls: [call("change")] }, { text: "ok" })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const before = agent.session.view().get(Approvals).grants
      yield* submitting(w, choose("approve"))(agent)
      assert.deepStrictEqual(agent.session.view().get(Approvals).grants, before)
      const started = ofType(yield* log(agent.session), "tool/started")
      assert.deepStrictEqual(started.map((event) => event.data.permission), [{ by: "policy", rule: "rule" }])
    }))
})

it.effect("PM R8: a harness without the plan layers has no section, signal or command, and runs", () => {
  const w = bare([{ calls: [call("change"), submit()] }, { text: "done" }])
  return Effect.gen(function*() {
    const agent = yield* start()
    const end = yield* agent.prompt("go")
    assert.strictEqual(end.reason, "completed")
    const { header, tail } = w.model.requests[0]!
    assert.notInclude(header.system.toLowerCase(), "plan")
    assert.deepStrictEqual(header.tools.map((tool) => tool.name), ["change", "look", "plain", "wreck"])
    assert.strictEqual(tail, null)
    assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["ok", "unknown_tool"])
    assert.instanceOf(yield* Effect.flip(agent.command("/plan")), UnknownCommand)
    assert.strictEqual(SessionId.make("s"), agent.session.id)
  }).pipe(Effect.scoped, Effect.provide(w.layer))
})
