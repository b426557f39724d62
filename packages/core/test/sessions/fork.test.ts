import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Stream } from "effect"
import {
  Approvals,
  choose,
  closedBoundaries,
  EventTypes,
  foldPlanMode,
  Fork,
  HeaderProjection,
  History,
  Inbox,
  Journal,
  OpenAsks,
  SessionEvent,
  SessionId,
  SessionInfo,
  Sessions,
  type StoredEvent,
  Usage
} from "../../src/index.ts"
import { inOrder } from "../support/ScriptedModel.ts"
import { storage } from "../support/Storage.ts"
import { call, enter, play, startChild, submit } from "../support/Story.ts"
import { ofType, reopen, start, world, type WorldOptions } from "../support/World.ts"
import { viewOf, within } from "./support.ts"

const id = SessionId.make("s")

/** A run through a whole cycle of planning, on a disk. */
const recorded = (options: Partial<WorldOptions> = {}) => {
  const disk = storage()
  const w = world({
    script: inOrder(
      { calls: [call("look", "a"), call("look", "b")] },
      { calls: [enter] },
      { calls: [submit("# One\n\nIt.")] },
      { calls: [call("change", "now")] },
      { text: "done" }
    ),
    journal: disk.layer,
    ...options
  })
  const run = play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("do it"))
      yield* w.person.answer(choose("approve"))
      yield* w.person.answer(choose("once"))
      return yield* Fiber.join(turn)
    }))
  return { disk, w, run }
}

it.live("PM R2, case 46: a fork at every event is refused, or has the state of exactly that prefix", () => {
  const { disk, run, w } = recorded()
  return Effect.gen(function*() {
    yield* run
    const events = disk.events()
    const closed = new Set(closedBoundaries(events))
    assert.isAbove(closed.size, 5)
    const before = JSON.stringify(disk.stored())
    yield* within(
      w,
      Effect.forEach(events, ({ seq }) =>
        Effect.gen(function*() {
          const fork = yield* Fork
          const sessions = yield* Sessions
          const exit = yield* Effect.exit(fork.fork(id, { at: seq, id: SessionId.make(`fork-${seq}`) }))
          if (!closed.has(seq)) {
            const error = Exit.findErrorOption(exit)
            if (error._tag === "None" || error.value._tag !== "ForkInsideStep") {
              return assert.fail(`event ${seq} is inside`)
            }
            assert.deepStrictEqual(
              [error.value.at, error.value.nearest],
              [seq, Math.max(...[...closed].filter((n) => n < seq))]
            )
            return
          }
          const session = yield* sessions.open(SessionId.make(`fork-${seq}`))
          const prefix = events.slice(0, seq + 1)
          const expected = viewOf(prefix)
          const view = session.view()
          assert.deepStrictEqual(
            foldPlanMode(yield* Stream.runCollect(sessions.read(session.id))),
            foldPlanMode(prefix)
          )
          assert.deepStrictEqual(view.get(HeaderProjection), expected.get(HeaderProjection))
          assert.deepStrictEqual(view.get(Usage), expected.get(Usage))
          assert.deepStrictEqual(view.get(Approvals), expected.get(Approvals))
          assert.deepStrictEqual(view.get(History).toArray(), expected.get(History).toArray())
          assert.deepStrictEqual(view.get(SessionInfo).origin, { session: id, seq })
          assert.deepStrictEqual(view.get(OpenAsks).size, 0)
          assert.deepStrictEqual(view.length, seq + 1)
        }).pipe(Effect.scoped), { discard: true })
    )
    assert.deepStrictEqual(JSON.stringify(disk.stored()), before, "the source is as it was")
  })
})

it.live("the copy keeps every event as it is stored, but for where the session comes from", () => {
  const { disk, run, w } = recorded()
  return Effect.gen(function*() {
    yield* run
    const { at, session } = yield* within(w, Fork.use((fork) => fork.fork(id)))
    const source = disk.stored()
    const copied = disk.stored(session)
    assert.strictEqual(at, source.length - 1)
    assert.deepStrictEqual(copied[0], {
      ...source[0]!,
      session,
      data: { ...source[0]!.data as object, origin: { session: id, seq: at } }
    } as StoredEvent)
    assert.deepStrictEqual(copied.slice(1), source.slice(1).map((event) => ({ ...event, session })))
    assert.deepStrictEqual(copied.map((event) => event.seq), copied.map((_, i) => i))
  })
})

it.live("case 149: with an approval open, a fork is refused there and moved when nobody says where", () => {
  const disk = storage()
  const w = world({
    script: inOrder({ calls: [call("look")] }, { calls: [call("change", "a"), call("look")] }, { text: "done" }),
    journal: disk.layer
  })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const fork = yield* Fork
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      yield* w.person.next
      const stored = JSON.stringify(disk.stored())
      const events = disk.events()
      const error = yield* Effect.flip(fork.fork(id, { at: events.length - 1 }))
      const nearest = ofType(events, "tool/result")[0]!.seq
      assert.deepInclude(error, { _tag: "ForkInsideStep", at: events.length - 1, nearest })
      const moved = yield* fork.fork(id)
      assert.strictEqual(moved.at, nearest)
      assert.strictEqual(JSON.stringify(disk.stored()), stored)
      const child = yield* reopen(moved.session)
      assert.strictEqual(child.session.view().get(OpenAsks).size, 0)
      assert.strictEqual(w.person.showing().length, 1, "the question of the source, and no other")
      // The fork goes its own way, the source is not touched by it.
      yield* Effect.forkChild(child.resume("close"))
      yield* child.idle
      yield* w.person.answer(choose("once"))
      assert.strictEqual((yield* Fiber.join(turn)).reason, "completed")
    }))
})

it.live("a fork between two steps of an open turn goes on with it, or is closed by the next prompt", () => {
  const { disk, run, w } = recorded()
  return Effect.gen(function*() {
    yield* run
    const at = ofType(disk.events(), "tool/result")[1]!.seq
    const turns = yield* within(
      w,
      Effect.gen(function*() {
        const fork = yield* Fork
        yield* fork.fork(id, { at, id: SessionId.make("on") })
        yield* fork.fork(id, { at, id: SessionId.make("anew") })
        const on = yield* (yield* reopen("on")).resume("continue")
        const anew = yield* (yield* reopen("anew")).prompt("something else")
        return [on, anew]
      }).pipe(Effect.scoped)
    )
    assert.deepStrictEqual(turns.map((turn) => [turn.turn, turn.reason]), [[1, "completed"], [2, "completed"]])
    assert.deepStrictEqual(ofType(disk.events("anew"), "turn/end").map((event) => event.data.reason), [
      "closed",
      "completed"
    ])
    assert.deepStrictEqual(ofType(disk.events("on"), "turn/end").map((event) => event.data.reason), ["completed"])
  })
})

it.live("case 50: what waits in the inbox is inherited and does not run by itself", () => {
  const disk = storage()
  const w = world({ script: inOrder({ text: "par", hang: true }, { text: "done" }), journal: disk.layer })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const turn = yield* Effect.forkChild(agent.prompt("go"))
      yield* agent.session.until((view) => ofType(disk.events(), "step/open").length > 0 && view.length > 0)
      yield* agent.send("and then this")
      yield* agent.interrupt
      yield* Fiber.join(turn)
      const { session } = yield* Fork.use((fork) => fork.fork(id))
      const child = yield* reopen(session)
      yield* Effect.yieldNow
      assert.strictEqual(w.model.requests.length, 1)
      assert.deepStrictEqual(child.session.view().get(Inbox).map((input) => input.text), ["and then this"])
      yield* child.prompt("now")
      assert.deepStrictEqual(
        w.model.requests[1]!.messages.flatMap((message) => message.role === "user" ? [message.text] : []),
        ["go", "and then this", "now"]
      )
    }))
})

it.live("design 9: the fork of a child is a child", () => {
  const w = world({ script: inOrder({ text: "done" }) })
  return play(w, (agent) =>
    Effect.gen(function*() {
      const child = yield* startChild(agent, "child")
      yield* child.prompt("go")
      const { session } = yield* Fork.use((fork) => fork.fork(child.session.id))
      const opened = yield* Effect.flatMap(Sessions, (sessions) => sessions.open(session))
      const { depth, origin, parent } = opened.view().get(SessionInfo)
      assert.deepStrictEqual([depth, parent?.session, origin?.session], [1, id, child.session.id])
      assert.strictEqual(opened.view().parent?.id, id)
    }))
})

it.live("what cannot be forked says why", () => {
  const { run, w } = recorded()
  return Effect.gen(function*() {
    yield* run
    yield* within(
      w,
      Effect.gen(function*() {
        const fork = yield* Fork
        const tag = (effect: Effect.Effect<unknown, { readonly _tag: string }>) =>
          Effect.map(Effect.flip(effect), (error) => error._tag)
        assert.strictEqual(yield* tag(fork.fork(SessionId.make("nobody"))), "SessionNotFound")
        assert.strictEqual(yield* tag(fork.fork(id, { at: 9999 })), "ForkOutOfRange")
        assert.strictEqual(yield* tag(fork.fork(id, { at: -1 })), "ForkOutOfRange")
        assert.strictEqual(yield* tag(fork.fork(id, { at: 0.5 })), "ForkOutOfRange")
        assert.strictEqual(yield* tag(fork.fork(id, { id })), "JournalConflict")
      })
    )
  })
})

const foreign = (extra: Partial<StoredEvent>): ReadonlyArray<StoredEvent> => [
  { session: id, seq: 0, at: 1, type: "session/created", version: 1, data: { depth: 0 } },
  { session: id, seq: 1, at: 2, type: "x-other", version: 7, data: { deep: [1, { kept: true }] }, ...extra }
]

const putInto = (events: ReadonlyArray<StoredEvent>) =>
  Effect.scoped(Effect.gen(function*() {
    const journal = yield* Journal
    yield* (yield* journal.writer(id)).append(events)
  }))

it.effect("case 136: ignorable events of unknown types are copied as they are; others refuse the fork", () => {
  const w = world({ script: inOrder({ text: "done" }) })
  return Effect.gen(function*() {
    yield* putInto(foreign({ ignorable: true }))
    const { session } = yield* Fork.use((fork) => fork.fork(id))
    const copied = yield* Stream.runCollect(
      Journal.use((journal) => Effect.succeed(journal.read(session))).pipe(Stream.unwrap)
    )
    assert.deepStrictEqual(copied[1], { ...foreign({ ignorable: true })[1]!, session })
    yield* Journal.use((journal) => journal.remove(id))
    yield* putInto(foreign({}))
    const error = yield* Effect.flip(Fork.use((fork) => fork.fork(id)))
    assert.deepInclude(error, { _tag: "UnknownEvent", seq: 1, type: "x-other" })
  }).pipe(Effect.provide(w.layer))
})

it.effect("an embedder's own events are inherited with their folds", () => {
  const Ticket = SessionEvent.extend({
    type: "x-fork-ticket",
    schema: Schema.Struct({ id: Schema.String }),
    unknown: "required"
  })
  const w = world({ script: inOrder({ text: "done" }), settings: EventTypes.layer(Ticket) })
  return Effect.gen(function*() {
    const agent = yield* start()
    yield* agent.session.transact(() => ({ events: [Ticket.make({ id: "T-1" })], value: undefined }))
    const { session } = yield* Fork.use((fork) => fork.fork(id))
    const events = yield* Effect.flatMap(Sessions, (sessions) => Stream.runCollect(sessions.read(session)))
    assert.deepStrictEqual(events[1]!.data, { id: "T-1" })
  }).pipe(Effect.scoped, Effect.provide(w.layer))
})
