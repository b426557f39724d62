/** Plan mode, acceptance rows C1 to C12: what a person types. */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Scope } from "effect"
import { choose, Commands, Disposed, PlanMode, PromptSections, ToolCatalog, UnknownCommand } from "../../src/index.ts"
import { people } from "../../src/plan/texts.ts"
import { inOrder } from "../support/ScriptedModel.ts"
import { holds, storage } from "../support/Storage.ts"
import { call, codes, GUIDANCE, isGuided, noticesIn, plan, play, submit, until } from "../support/Story.ts"
import { log, ofType, results, select, types, world } from "../support/World.ts"

const quiet = (more: Partial<Parameters<typeof world>[0]> = {}) =>
  world({ script: inOrder({ text: "ok" }), planSection: GUIDANCE, ...more })

it.effect("PM C1: /plan enters, says so, and says when it is already on", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* agent.command("/plan"), people.entering)
      assert.strictEqual(yield* agent.command("/plan"), people.alreadyActive)
      yield* agent.prompt("hi")
      assert.strictEqual(yield* agent.command("/plan"), people.alreadyActive)
      assert.strictEqual(w.model.requests.length, 1)
      assert.deepStrictEqual(w.model.requests[0]!.messages.map((message) => message.text), ["hi"])
    }))
})

it.effect("PM C2: /plan with a text enters and steers exactly that text, under guidance", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* agent.command("/plan  write the parser "), people.entering)
      yield* agent.idle
      assert.deepStrictEqual(w.model.requests.map((request) => request.messages.map((m) => m.text)), [[
        "write the parser"
      ]])
      assert.isTrue(isGuided(w.model.requests[0]!))
      const events = yield* log(agent.session)
      assert.isBelow(ofType(events, "plan/mode")[0]!.seq, ofType(events, "message/user")[0]!.seq)
    }))
})

it.effect("PM C3: /plan off leaves from the next step, and repeating it says the same (case 41)", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("hi")
      assert.strictEqual(yield* agent.command("/plan off"), people.leaving)
      const length = agent.session.view().length
      assert.strictEqual(yield* agent.command("/plan off"), people.leaving)
      assert.strictEqual(agent.session.view().length, length)
      assert.strictEqual(w.model.requests.length, 1)
      const events = yield* log(agent.session)
      assert.deepStrictEqual(ofType(events, "plan/selected").map((e) => e.data), [
        { active: true, by: "user" },
        { active: false, by: "user" }
      ])
      assert.deepStrictEqual(ofType(events, "review/asked"), [])
    }))
})

it.effect("PM C4: /plan off cancels a pending entry without a word to the model", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.command("/plan")
      assert.strictEqual(yield* agent.command("/plan off"), people.cancelled)
      yield* agent.prompt("hi")
      assert.deepStrictEqual(ofType(yield* log(agent.session), "plan/mode"), [])
      assert.deepStrictEqual(w.model.requests[0]!.messages.map((m) => m.text), ["hi"])
    }))
})

it.effect("PM C5: /plan off while it is off says so", () =>
  play(quiet(), (agent) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* agent.command("/plan off"), people.alreadyInactive)
      assert.deepStrictEqual(types(yield* log(agent.session)), ["session/created"])
    })))

it.effect("PM C6: /plan off withdraws an open review, and the model hears one story (case 51)", () => {
  const w = quiet({ script: inOrder({ calls: [submit()] }, { text: "ok" }) })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      const question = yield* w.person.next
      assert.strictEqual(yield* agent.command("/plan off"), people.leaving)
      const end = yield* Fiber.join(turn)
      assert.strictEqual(end.reason, "completed")
      assert.deepStrictEqual(w.person.withdrawn, [question.id])
      const events = yield* log(agent.session)
      assert.deepStrictEqual(ofType(events, "review/answered").map(({ data }) => [data.outcome, data.by]), [
        ["withdrawn", "user"]
      ])
      assert.include(results(events)[0]!.content, "left plan mode")
      assert.isFalse(isGuided(w.model.requests[1]!))
      assert.deepStrictEqual(noticesIn(w.model.requests[1]!), [])
    }))
})

it.effect("PM C7: /mode and /review are unknown commands", () =>
  play(quiet(), (agent) =>
    Effect.gen(function*() {
      for (const line of ["/mode plan", "/review"]) {
        assert.instanceOf(yield* Effect.flip(agent.command(line)), UnknownCommand)
      }
      assert.deepStrictEqual(types(yield* log(agent.session)), ["session/created"])
    })))

it.effect("PM C8: closing plan mode's scope takes command, section and tool away; a closed gate stays closed", () => {
  const w = world({ script: inOrder({ calls: [call("change")] }, { text: "ok" }), planSection: "the harness's own" })
  return play(w, (agent) =>
    Effect.gen(function*() {
      // Plan mode in a scope of its own: registries that hold nothing else.
      const commands = yield* Layer.build(Layer.fresh(Commands.layer))
      const catalog = yield* Layer.build(Layer.fresh(ToolCatalog.layer))
      const sections = yield* Layer.build(Layer.fresh(PromptSections.layer))
      const scope = yield* Scope.make()
      const own = Layer.mergeAll(
        Layer.succeedContext(commands),
        Layer.succeedContext(catalog),
        Layer.succeedContext(sections)
      )
      const built = yield* Layer.buildWithScope(PlanMode.layer({ section: "x" }).pipe(Layer.provide(own)), scope)
      const mode = PlanMode.useSync((service) => service).pipe(Effect.provideContext(built))
      const inner = yield* mode
      yield* inner.set(agent.session, true)
      yield* Scope.close(scope, Exit.void)
      const left = yield* Effect.all([Commands, ToolCatalog, PromptSections]).pipe(Effect.provide(own))
      assert.deepStrictEqual(left[0].items(), [])
      assert.deepStrictEqual(left[1].all(), [])
      assert.deepStrictEqual(left[2].items(), [])
      assert.instanceOf(yield* Effect.flip(inner.set(agent.session, false)), Disposed)
      yield* agent.prompt("hi")
      assert.deepStrictEqual(w.ran, [])
      assert.deepStrictEqual(codes(results(yield* log(agent.session))), ["plan_gate"])
    }))
})

it.effect("PM C9: only the exact lower-case off leaves; anything else is a message", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("hi")
      for (const line of ["/plan Off", "/plan off please", "/plan OFF"]) {
        assert.strictEqual(yield* agent.command(line), people.alreadyActive)
        yield* agent.idle
      }
      assert.instanceOf(yield* Effect.flip(agent.command("/PLAN OFF")), UnknownCommand)
      const said = w.model.requests.at(-1)!.messages.flatMap((m) => m.role === "user" ? [m.text] : [])
      assert.deepStrictEqual(said, ["hi", "Off", "off please", "OFF"])
      assert.deepStrictEqual(yield* plan(agent), { active: true })
    }))
})

it.effect("PM C10: /plan with a text that the journal refuses is not recorded and steers nothing", () => {
  const disk = storage()
  const w = quiet({ journal: disk.layer })
  return play(w, (agent) =>
    Effect.gen(function*() {
      disk.failWhen((batch) => holds("plan/selected")(batch) ? "refused" : undefined)
      assert.strictEqual(yield* agent.command("/plan do it"), people.notRecorded)
      yield* agent.idle
      assert.strictEqual(w.model.requests.length, 0)
      assert.deepStrictEqual(types(disk.events()), ["session/created"])
      disk.mend()
      assert.strictEqual(yield* agent.command("/plan do it"), people.entering)
    }))
})

it.effect("PM C11: /plan with blanks is /plan", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* agent.command("/plan   "), people.entering)
      yield* agent.idle
      assert.strictEqual(w.model.requests.length, 0)
    }))
})

it.effect("PM C12: a program's own switch is a selection before the first request, and toggles", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      const mode = yield* PlanMode
      const toggle = Effect.suspend(() => {
        const { active, pending } = mode.get(agent.session)
        return mode.set(agent.session, !(pending?.active ?? active))
      })
      assert.deepStrictEqual([yield* toggle, yield* toggle, yield* toggle], ["queued", "cancelled", "queued"])
      yield* agent.prompt("hi")
      assert.isTrue(isGuided(w.model.requests[0]!))
      assert.strictEqual(yield* toggle, "queued")
    }))
})

it.effect("the message of /plan in mid-turn belongs to the step that is under guidance", () => {
  const reply = Latch.makeUnsafe(false)
  const w = quiet({ script: inOrder({ calls: [submit()], before: reply.await }, { text: "ok" }) })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("hi"))
      yield* until(() => w.model.requests.length === 1)
      yield* agent.command("/plan mind the tests")
      yield* reply.open
      yield* w.person.answer(choose("keep-planning"))
      yield* Fiber.join(turn)
      const request = w.model.requests[1]!
      assert.isTrue(isGuided(request))
      assert.isTrue(request.messages.some((message) => message.text === "mind the tests"))
    }))
})
