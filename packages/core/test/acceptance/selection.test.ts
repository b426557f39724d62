/** Plan mode, acceptance rows S1 to S12: what is in force, what is selected, and that both survive. */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer } from "effect"
import {
  foldPlanMode,
  JournalCorrupt,
  JournalUnavailable,
  PlanMode,
  PlanModeConfigInvalid,
  type Registries,
  UnknownEvent
} from "../../src/index.ts"
import { inOrder } from "../support/ScriptedModel.ts"
import { holds, storage } from "../support/Storage.ts"
import { GUIDANCE, isGuided, noticesIn, plan, play, playOn, playUntilDeath, until } from "../support/Story.ts"
import { log, ofType, select, types, world } from "../support/World.ts"

const talker = inOrder({ text: "hello" })
const modes = (events: Parameters<typeof ofType>[0]) => ofType(events, "plan/mode").map((event) => event.data.active)
const quiet = () => world({ script: talker, planSection: GUIDANCE })

it.effect("PM S1: a new session is not in plan mode and nothing is pending", () =>
  play(quiet(), (agent) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* plan(agent), { active: false })
      assert.deepStrictEqual(foldPlanMode([]), { active: false })
    })))

it.effect("PM S2: the last plan/mode wins, and a prefix of the journal gives the state of that prefix (case 46)", () =>
  play(quiet(), (agent) =>
    Effect.gen(function*() {
      for (const active of [true, false, true]) {
        yield* select(agent, active)
        yield* agent.prompt("go on")
      }
      const events = yield* log(agent.session)
      assert.deepStrictEqual(foldPlanMode(events), yield* plan(agent))
      let last = false
      events.forEach((event, i) => {
        if (event.type === "plan/mode") last = event.data.active
        assert.strictEqual(foldPlanMode(events.slice(0, i + 1)).active, last, `after event ${i}`)
      })
      assert.strictEqual(last, true)
    })))

it.effect("PM S3: a selection while the agent rests is queued and comes into force at the next boundary", () =>
  play(quiet(), (agent) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* select(agent, true), "queued")
      assert.deepStrictEqual(types(yield* log(agent.session)), ["session/created", "plan/selected"])
      assert.deepStrictEqual(yield* plan(agent), { active: false, pending: { active: true, by: "user" } })
      yield* agent.prompt("hi")
      assert.deepStrictEqual(modes(yield* log(agent.session)), [true])
      assert.deepStrictEqual(yield* plan(agent), { active: true })
    })))

it.effect("PM S4: a selection while a turn runs is the same", () => {
  const reply = Latch.makeUnsafe(false)
  const w = world({ script: inOrder({ text: "hello", before: reply.await }), planSection: GUIDANCE })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("hi"))
      yield* until(() => w.model.requests.length === 1)
      assert.strictEqual(yield* select(agent, true), "queued")
      assert.deepStrictEqual(yield* plan(agent), { active: false, pending: { active: true, by: "user" } })
      yield* reply.open
      yield* Fiber.join(turn)
      assert.deepStrictEqual(modes(yield* log(agent.session)), [])
      yield* agent.prompt("again")
      assert.deepStrictEqual(modes(yield* log(agent.session)), [true])
    }))
})

it.effect("PM S5: a wish that changes nothing is a noop and is not logged", () =>
  play(quiet(), (agent) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* select(agent, false), "noop")
      yield* select(agent, true)
      const before = agent.session.view().length
      assert.strictEqual(yield* select(agent, true), "noop")
      assert.strictEqual(agent.session.view().length, before)
      yield* agent.prompt("hi")
      const after = agent.session.view().length
      assert.strictEqual(yield* select(agent, true), "noop")
      assert.strictEqual(agent.session.view().length, after)
    })))

it.effect("PM S6: taking a pending entry back leaves nothing to commit and nothing to say", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      assert.strictEqual(yield* select(agent, false), "cancelled")
      assert.deepStrictEqual(yield* plan(agent), { active: false })
      yield* agent.prompt("hi")
      assert.deepStrictEqual(modes(yield* log(agent.session)), [])
      assert.deepStrictEqual(noticesIn(w.model.requests[0]!), [])
    }))
})

it.effect("PM S7: on and off between two prompts leaves no trace for the model (case 54)", () => {
  const w = quiet()
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("hi")
      yield* select(agent, true)
      yield* select(agent, false)
      yield* agent.prompt("again")
      assert.deepStrictEqual(noticesIn(w.model.requests[1]!), [])
      assert.isFalse(isGuided(w.model.requests[1]!))
    }))
})

it.effect("PM S8: a pending selection survives the death of the process", () => {
  const disk = storage()
  disk.dieWhen((batch) => holds("plan/selected")(batch) ? "after" : undefined)
  const reborn = disk.reborn()
  const second = world({ script: talker, planSection: GUIDANCE, journal: reborn.layer })
  return Effect.gen(function*() {
    yield* playUntilDeath(
      world({ script: talker, planSection: GUIDANCE, journal: disk.layer }),
      disk,
      (agent) => select(agent, true)
    )
    yield* playOn(second, (agent) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* plan(agent), { active: false, pending: { active: true, by: "user" } })
        yield* agent.prompt("hi")
        assert.deepStrictEqual(yield* plan(agent), { active: true })
        assert.isTrue(isGuided(second.model.requests[0]!))
      }))
  })
})

it.effect("PM S9: a selection that the journal refuses changes nothing, and a later one works (case 135)", () => {
  const disk = storage()
  return play(world({ script: talker, planSection: GUIDANCE, journal: disk.layer }), (agent) =>
    Effect.gen(function*() {
      disk.failWhen(() => "refused")
      const error = yield* Effect.flip(select(agent, true))
      assert.instanceOf(error, JournalUnavailable)
      assert.deepStrictEqual(yield* plan(agent), { active: false })
      disk.mend()
      assert.strictEqual(yield* select(agent, true), "queued")
      assert.deepStrictEqual(types(disk.events()), ["session/created", "plan/selected"])
    }))
})

it.effect("PM S9: a selection of which it is not known whether it was written is read again before the next", () => {
  const disk = storage()
  return play(world({ script: talker, planSection: GUIDANCE, journal: disk.layer }), (agent) =>
    Effect.gen(function*() {
      for (const [failure, then] of [["kept", "noop"], ["lost", "queued"]] as const) {
        disk.failWhen(() => failure)
        const wish = failure === "kept"
        const error = yield* Effect.flip(select(agent, wish))
        assert.instanceOf(error, JournalUnavailable)
        disk.mend()
        assert.strictEqual(yield* select(agent, wish), wish ? then : "cancelled")
      }
    }))
})

const broken = [
  ["a text", { active: "yes" }, "active"],
  ["a number", { active: 1 }, "active"],
  ["nothing", {}, "active"],
  ["an unknown field", { active: true, why: "x" }, "why"]
] as const

for (const [what, data, field] of broken) {
  it.effect(`PM S10: a journal whose plan/mode holds ${what} is refused, naming event and field`, () => {
    const disk = storage()
    disk.put([{ type: "session/created", data: { depth: 0 } }, { type: "plan/mode", data }])
    return Effect.gen(function*() {
      const error = yield* Effect.flip(playOn(world({ script: talker, journal: disk.layer }), () => Effect.void))
      assert.instanceOf(error, JournalCorrupt)
      if (!(error instanceof JournalCorrupt)) return
      assert.deepStrictEqual([error.seq, error.type], [1, "plan/mode"])
      assert.include(error.detail, field)
    })
  })
}

it.effect("PM S12: a journal with another system's mode events is refused, naming the event", () => {
  const disk = storage()
  disk.put([{ type: "session/created", data: { depth: 0 } }, { type: "mode/set", data: { mode: "plan" } }])
  return Effect.gen(function*() {
    const error = yield* Effect.flip(playOn(world({ script: talker, journal: disk.layer }), () => Effect.void))
    assert.instanceOf(error, UnknownEvent)
    assert.include(String(error), "mode/set")
  })
})

const configurations: ReadonlyArray<readonly [what: string, config: unknown, key: string]> = [
  ["another system's modes", { modes: { plan: { section: "x" } } }, "modes"],
  ["nothing", {}, "section"],
  ["no object", undefined, "section"],
  ["a blank section", { section: " \n" }, "section"],
  ["a section that is no text", { section: 7 }, "section"],
  ["an unknown key", { section: "x", title: "y" }, "title"]
]

for (const [what, config, key] of configurations) {
  it.effect(`PM S12: a configuration with ${what} is refused, naming the key "${key}"`, () =>
    Effect.gen(function*() {
      const layer: Layer.Layer<PlanMode, unknown, never> = PlanMode.layer(config as { readonly section: string }).pipe(
        Layer.provide(world({ script: talker }).layer as Layer.Layer<Registries, unknown>)
      ) as Layer.Layer<PlanMode, unknown, never>
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(layer)))
      const error = Exit.findErrorOption(exit)
      assert.isTrue(error._tag === "Some" && error.value instanceof PlanModeConfigInvalid)
      if (error._tag === "Some" && error.value instanceof PlanModeConfigInvalid) {
        assert.strictEqual(error.value.key, key)
      }
    }))
}
