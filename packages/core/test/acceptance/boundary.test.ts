/** Plan mode, acceptance rows B1 to B13 without the properties: how a selection comes into force. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer } from "effect"
import {
  choose,
  JournalUnavailable,
  PromptSections,
  RetryPolicy,
  StatePlacement,
  type TransportError
} from "../../src/index.ts"
import { inOrder, type Reply, serverError } from "../support/ScriptedModel.ts"
import { holds, storage } from "../support/Storage.ts"
import { call, GUIDANCE, isGuided, noticesIn, plan, planning, play, submit, until } from "../support/Story.ts"
import { log, ofType, select, types, world } from "../support/World.ts"

const retryAtOnce = RetryPolicy.layer({ base: 0, jitter: 0 })
const overloaded: TransportError = serverError()
const lastUserText = (w: ReturnType<typeof world>, n: number) => w.model.requests[n]!.messages.at(-1)

it.effect("PM B1: an entry before the first prompt is in force with the first request, without a notice", () => {
  const disk = storage()
  const w = world({ script: inOrder({ text: "ok" }), planSection: GUIDANCE, journal: disk.layer })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const batches: Array<ReadonlyArray<string>> = []
      disk.failWhen((batch) => void batches.push(batch.map((event) => event.type)) as undefined)
      yield* agent.prompt("hi")
      assert.deepStrictEqual(batches[1], ["plan/mode", "message/user", "request/header", "step/open"])
      assert.isTrue(isGuided(w.model.requests[0]!))
      assert.deepStrictEqual(noticesIn(w.model.requests[0]!), [])
    }))
})

it.effect("PM B2: an entry between two steps is committed before the next request, with one notice after its messages", () => {
  const reply = Latch.makeUnsafe(false)
  const w = world({
    script: inOrder({ calls: [call("look")], before: reply.await }, { text: "done" }),
    planSection: GUIDANCE
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("hi"))
      yield* until(() => w.model.requests.length === 1)
      yield* select(agent, true)
      yield* agent.send("by the way")
      yield* reply.open
      yield* Fiber.join(turn)
      const second = w.model.requests[1]!
      assert.isTrue(isGuided(second))
      assert.strictEqual(noticesIn(second).length, 1)
      assert.deepStrictEqual(second.messages.map((message) => message.role), [
        "user",
        "assistant",
        "tool",
        "user",
        "user"
      ])
      assert.include(second.messages[3]!.text, "by the way")
      assert.include(second.messages[4]!.text, "plan mode")
    }))
})

it.effect("PM B3: an entry while a request is retried comes with the retry, and one notice in all", () => {
  const failing = Latch.makeUnsafe(false)
  const w = world({
    script: inOrder({ error: overloaded, before: failing.await }, { error: overloaded }, { text: "done" }),
    planSection: GUIDANCE,
    settings: retryAtOnce
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("hi"))
      yield* until(() => w.model.requests.length === 1)
      yield* select(agent, true)
      yield* failing.open
      yield* Fiber.join(turn)
      assert.deepStrictEqual(w.model.requests.map(isGuided), [false, true, true])
      assert.deepStrictEqual(w.model.requests.map((request) => noticesIn(request).length), [0, 1, 1])
      const opened = ofType(yield* log(agent.session), "step/open").map(({ data }) => [data.step, data.attempt])
      assert.deepStrictEqual(opened, [[1, 1], [1, 2], [1, 3]])
    }))
})

it.effect("PM B4: no notice when the last request described the same state (case 54)", () => {
  const w = world({ script: inOrder({ text: "ok" }), planSection: GUIDANCE })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("one")
      yield* select(agent, true)
      yield* agent.prompt("two")
      yield* agent.prompt("three")
      yield* select(agent, false)
      yield* select(agent, true)
      yield* agent.prompt("four")
      yield* select(agent, false)
      yield* agent.prompt("five")
      assert.deepStrictEqual(w.model.requests.map((request) => noticesIn(request).length), [0, 1, 1, 1, 2])
      assert.deepStrictEqual(w.model.requests.map(isGuided), [false, true, true, true, false])
    }))
})

it.effect("PM B5: an approved exit leaves at the boundary without a notice and without guidance", () => {
  const w = world({ script: inOrder({ calls: [submit()] }, { text: "done" }), planSection: GUIDANCE })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      assert.deepStrictEqual(ofType(yield* log(agent.session), "plan/mode").map((e) => e.data.active), [true, false])
      assert.deepStrictEqual(w.model.requests.map(isGuided), [true, false])
      assert.deepStrictEqual(noticesIn(w.model.requests[1]!), [])
    }))
})

for (const failure of ["refused", "lost", "kept"] as const) {
  it.effect(`PM B6: a boundary whose append fails (${failure}) sends nothing; the next turn commits it (case 135)`, () => {
    const disk = storage()
    const w = world({ script: inOrder({ text: "ok" }), planSection: GUIDANCE, journal: disk.layer })
    return play(w, (agent) =>
      Effect.gen(function*() {
        yield* select(agent, true)
        disk.failWhen((batch) => holds("step/open")(batch) ? failure : undefined)
        const error = yield* Effect.flip(agent.prompt("hi"))
        assert.instanceOf(error, JournalUnavailable)
        assert.strictEqual(w.model.requests.length, 0)
        assert.deepStrictEqual(yield* plan(agent), { active: false, pending: { active: true, by: "user" } })
        disk.mend()
        const end = yield* agent.prompt("again")
        assert.strictEqual(end.reason, "completed")
        assert.strictEqual(w.model.requests.length, 1)
        assert.isTrue(isGuided(w.model.requests[0]!))
        const said = w.model.requests[0]!.messages.map((message) => message.text)
        assert.deepStrictEqual(said.slice(0, 2), ["hi", "again"])
        assert.deepStrictEqual(ofType(disk.events(), "plan/mode").map((event) => event.data.active), [true])
      }))
  })
}

it.effect("PM B7: a turn that is interrupted before its boundary commits nothing (case 53)", () => {
  const waiting = Latch.makeUnsafe(false)
  const w = world({
    script: inOrder({ calls: [call("look")] }, { text: "ok" }),
    planSection: GUIDANCE,
    body: () => Effect.as(waiting.await, "looked")
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* Effect.forkChild(agent.prompt("hi"))
      yield* until(() => w.ran.length === 1)
      yield* select(agent, true)
      yield* agent.interrupt
      assert.deepStrictEqual(yield* plan(agent), { active: false, pending: { active: true, by: "user" } })
      const events = yield* log(agent.session)
      assert.deepStrictEqual(ofType(events, "plan/mode"), [])
      assert.strictEqual(types(events).at(-1), "turn/end")
    }))
})

it.effect("PM B8: a switch alone never causes a request", () => {
  const w = world({ script: inOrder({ text: "ok" }), planSection: GUIDANCE })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("hi")
      yield* agent.command("/plan")
      yield* agent.idle
      yield* agent.command("/plan off")
      yield* agent.idle
      for (let i = 0; i < 50; i++) yield* Effect.yieldNow
      assert.strictEqual(w.model.requests.length, 1)
    }))
})

it.effect("PM B9: a switch changes no byte of the header and of the history before it (cases 55, 57)", () => {
  const w = world({
    script: inOrder({ text: "a" }, { calls: [call("look")] }, { calls: [submit()] }, { text: "b" }, { text: "c" }),
    planSection: GUIDANCE
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("one")
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("two"))
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      yield* select(agent, true)
      yield* agent.prompt("three")
      const headers = new Set(w.model.requests.map((request) => JSON.stringify(request.header)))
      assert.strictEqual(headers.size, 1)
      assert.strictEqual(ofType(yield* log(agent.session), "request/header").length, 1)
      w.model.requests.slice(1).forEach((request, i) => {
        const before = w.model.requests[i]!.messages
        assert.deepStrictEqual(JSON.stringify(request.messages.slice(0, before.length)), JSON.stringify(before))
      })
    }))
})

it.effect("PM B11: in the header, the guidance stands between its neighbours while active, and the change is logged", () => {
  const w = world({
    script: inOrder({ text: "ok" }),
    planSection: GUIDANCE,
    settings: StatePlacement.layer("header"),
    extra: Layer.mergeAll(
      PromptSections.add({ name: "before", order: 49, text: "BEFORE" }),
      PromptSections.add({ name: "after", order: 51, text: "AFTER" })
    )
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* agent.prompt("one")
      yield* select(agent, true)
      yield* agent.prompt("two")
      yield* select(agent, false)
      yield* agent.prompt("three")
      const systems = w.model.requests.map((request) => request.header.system)
      assert.include(systems[1]!, `BEFORE\n\n${GUIDANCE}\n\nAFTER`)
      assert.notInclude(systems[0]!, GUIDANCE)
      assert.strictEqual(systems[2], systems[0])
      assert.deepStrictEqual(w.model.requests.map((request) => request.tail), [null, null, null])
      assert.strictEqual(new Set(w.model.requests.map((request) => JSON.stringify(request.header.tools))).size, 1)
      const events = yield* log(agent.session)
      const headers = ofType(events, "request/header")
      assert.deepStrictEqual(headers.map((e) => e.data.reason), [
        "first request",
        "state of the session",
        "state of the session"
      ])
      const mode = ofType(events, "plan/mode")[0]!
      assert.isBelow(mode.seq, headers[1]!.seq)
    }))
})

it.effect("PM B12: the parts of a tail are sorted by order, then by name", () => {
  const part = (name: string, order: number) => PromptSections.add({ name, order, text: () => name })
  const w = world({
    script: inOrder({ text: "ok" }),
    planSection: GUIDANCE,
    extra: Layer.mergeAll(part("z-early", 10), part("b-late", 60), part("a-late", 60))
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      yield* agent.prompt("hi")
      assert.strictEqual(w.model.requests[0]!.tail, ["z-early", GUIDANCE, "a-late", "b-late"].join("\n\n"))
    }))
})

it.effect("PM B13: an approved exit that the user takes back before its boundary is corrected by one notice", () => {
  const looking = Latch.makeUnsafe(false)
  const w = world({
    script: inOrder({ calls: [submit(), call("look")] }, { text: "ok" }),
    planSection: GUIDANCE,
    body: () => Effect.as(looking.await, "looked")
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.answer(choose("approve"))
      yield* until(() => w.ran.length === 1)
      assert.strictEqual(yield* select(agent, true), "cancelled")
      yield* looking.open
      yield* Fiber.join(turn)
      assert.isTrue(planning(agent))
      assert.isTrue(isGuided(w.model.requests[1]!))
      assert.strictEqual(noticesIn(w.model.requests[1]!).length, 1)
      assert.deepStrictEqual(ofType(yield* log(agent.session), "plan/mode").map((e) => e.data.active), [true])
    }))
})

it.effect("a message and the approval of a plan in one step: the message is still delivered", () => {
  const w = world({ script: inOrder({ calls: [submit()] }, { text: "ok" } satisfies Reply), planSection: GUIDANCE })
  return play(w, (agent) =>
    Effect.gen(function*() {
      yield* select(agent, true)
      const turn = yield* Effect.forkChild(agent.prompt("plan it"))
      yield* w.person.next
      yield* agent.send("and mind the tests")
      yield* w.person.answer(choose("approve"))
      yield* Fiber.join(turn)
      assert.strictEqual(lastUserText(w, 1)?.text, "and mind the tests")
    }))
})
