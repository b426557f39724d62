import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Exit, Layer, Schema, Stream } from "effect"
import {
  type EventDefinition,
  EventTypes,
  Journal,
  Projection,
  SessionEvent,
  SessionId,
  Sessions,
  type StoredEvent
} from "../../src/index.ts"
import { storage } from "../support/Storage.ts"

const id = SessionId.make("s")

/** Version 1 had one assignee; version 2 has a list of them, and the moment since when. */
const Ticket = SessionEvent.extend({
  type: "x-ticket",
  schema: Schema.Struct({
    id: Schema.String,
    assignees: Schema.Array(Schema.String),
    since: Schema.DateTimeUtcFromString
  }),
  unknown: "required",
  version: 2,
  upcasters: {
    1: (data) => {
      const { assignee, ...rest } = data as { readonly assignee: string }
      return { ...rest, assignees: [assignee], since: "2026-01-01T00:00:00.000Z" }
    }
  }
})

const Seen = SessionEvent.extend({
  type: "x-seen",
  schema: Schema.Struct({ by: Schema.String }),
  unknown: "ignorable"
})

interface Open {
  readonly ids: ReadonlyArray<string>
  readonly years: ReadonlyArray<number>
}

const Tickets = Projection.make<Open>({
  name: "test-tickets",
  initial: { ids: [], years: [] },
  on: {
    "x-ticket": Ticket.on((state, { id: ticket, assignees, since }) => ({
      ids: [...state.ids, `${ticket}:${assignees.join("+")}`],
      years: [...state.years, DateTime.getPartUtc(since, "year")]
    }))
  }
})

const Sightings = Projection.make<number>({
  name: "test-sightings",
  initial: 0,
  on: { "x-seen": Seen.on((count) => count + 1) }
})

const created: Omit<StoredEvent, "seq"> = {
  session: id,
  at: 1,
  type: "session/created",
  version: 1,
  data: { depth: 0 }
}

const logOf = (...events: ReadonlyArray<Partial<StoredEvent>>): ReadonlyArray<StoredEvent> =>
  [created, ...events].map((event, seq) => ({ ...created, seq, ...event }))

/** Opens a stored log in a program that knows these event types. */
const opening = (
  events: ReadonlyArray<StoredEvent>,
  definitions: ReadonlyArray<EventDefinition> = [Ticket, Seen]
) =>
  Effect.scoped(Effect.gen(function*() {
    const journal = yield* Journal
    // A store may hold what no writer of this version would write.
    const stored: Journal["Service"] = { ...journal, read: (_, from = 0) => Stream.fromIterable(events.slice(from)) }
    const layer = Sessions.layer.pipe(
      Layer.provide(EventTypes.layer(...definitions)),
      Layer.provide(Layer.succeed(Journal, stored))
    )
    const context = yield* Layer.build(layer)
    const session = yield* Sessions.use((sessions) => sessions.open(id)).pipe(Effect.provideContext(context))
    return {
      skipped: session.skipped,
      length: session.view().length,
      tickets: session.view().get(Tickets),
      sightings: session.view().get(Sightings)
    }
  })).pipe(Effect.provide(Journal.layerMemory))

it.effect("an event of an older version is brought up to date when it is read", () =>
  Effect.gen(function*() {
    const opened = yield* opening(logOf(
      { type: "x-ticket", version: 1, data: { id: "T-1", assignee: "ann" } },
      { type: "x-ticket", version: 2, data: { id: "T-2", assignees: ["bo", "cy"], since: "2027-05-01T00:00:00.000Z" } }
    ))
    assert.deepStrictEqual(opened.tickets, { ids: ["T-1:ann", "T-2:bo+cy"], years: [2026, 2027] })
  }))

it.effect("a fold sees the same values live and after a restart, and the store sees their encoding", () => {
  const disk = storage()
  const layer = Sessions.layer.pipe(Layer.provide(EventTypes.layer(Ticket, Seen)), Layer.provide(disk.layer))
  const since = DateTime.makeUnsafe("2028-01-01T00:00:00Z")
  return Effect.gen(function*() {
    const live = yield* Effect.scoped(
      Effect.gen(function*() {
        const session = yield* Sessions.use((sessions) => sessions.create({ id }))
        return yield* session.transact((view) => {
          const events = [Ticket.make({ id: "T-3", assignees: [], since })]
          return { events, value: view.after(events).get(Tickets) }
        })
      }).pipe(Effect.provide(layer))
    )
    const again = yield* Effect.scoped(
      Effect.provide(Sessions.use((sessions) => Effect.map(sessions.open(id), (s) => s.view().get(Tickets))), layer)
    )
    assert.deepStrictEqual(live, { ids: ["T-3:"], years: [2028] })
    assert.deepStrictEqual(again, live)
    assert.deepInclude(disk.stored()[1], {
      version: 2,
      data: { id: "T-3", assignees: [], since: "2028-01-01T00:00:00.000Z" }
    })
  })
})

it.effect("case 136: an unknown event that is required refuses the session, with its type and its place", () =>
  Effect.gen(function*() {
    const events = logOf({ type: "x-seen", ignorable: true, data: { by: "ann" } }, { type: "x-foreign", data: 1 })
    const before = JSON.stringify(events)
    const error = yield* Effect.flip(opening(events))
    assert.deepInclude(error, { _tag: "UnknownEvent", session: id, seq: 2, type: "x-foreign" })
    assert.strictEqual(JSON.stringify(events), before)
  }))

it.effect("case 136: an unknown event that is ignorable is skipped, counted and kept from every fold", () =>
  Effect.gen(function*() {
    // The projection listens to the type; this program has not registered it, so nobody has checked the payload.
    const events = logOf(
      { type: "x-seen", ignorable: true, data: { by: 42 } },
      { type: "x-seen", ignorable: true, data: "nonsense" }
    )
    const opened = yield* opening(events, [Ticket])
    assert.deepInclude(opened, { skipped: 2, length: 3, sightings: 0 })
  }))

it.effect("case 136: an event of a type that is not registered is rejected when it is written, and nothing else is", () => {
  const disk = storage()
  const layer = Sessions.layer.pipe(Layer.provide(EventTypes.layer(Ticket)), Layer.provide(disk.layer))
  return Effect.gen(function*() {
    const session = yield* Sessions.use((sessions) => sessions.create({ id }))
    const created = SessionEvent.event("plan/selected", { active: true, by: "user" })
    const write = (...events: ReadonlyArray<ReturnType<typeof Seen.make>>) =>
      session.transact(() => ({ events: [created, ...events], value: undefined }))
    const error = yield* Effect.flip(write(Seen.make({ by: "ann" })))
    assert.deepInclude(error, { _tag: "EventRejected", session: id, type: "x-seen" })
    // A payload that does not fit its schema could not be read again either.
    const wrong = yield* Effect.flip(write({ type: "x-ticket", data: { id: 7 } }))
    assert.deepInclude(wrong, { _tag: "EventRejected", type: "x-ticket" })
    assert.strictEqual(disk.stored().length, 1)
    assert.strictEqual(session.view().length, 1)
    // The handle is as good as before.
    yield* write()
    assert.strictEqual(disk.stored().length, 2)
  }).pipe(Effect.scoped, Effect.provide(layer))
})

const ticket = { type: "x-ticket", data: { id: "T-1", assignees: [], since: "2026-01-01T00:00:00.000Z" } }

for (
  const [name, version, detail] of [
    ["newer", 3, "newer"],
    ["too old", 0, "not a number"],
    ["no number", "two", "not a number"],
    ["absent", undefined, "not a number"],
    ["not whole", 1.5, "not a number"]
  ] as const
) {
  it.effect(`case 137: an event whose version is ${name} refuses the session and is not guessed at`, () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(opening(logOf({ ...ticket, version: version as number })))
      assert.deepInclude(error, { _tag: "JournalCorrupt", seq: 1, type: "x-ticket" })
      assert.include(error._tag === "JournalCorrupt" ? error.detail : "", detail)
    }))
}

it.effect("case 137: the core's own events have versions too, and no upcaster means too old", () =>
  Effect.gen(function*() {
    const newer = yield* Effect.flip(opening(logOf({ type: "plan/mode", version: 2, data: { active: true } })))
    assert.deepInclude(newer, { _tag: "JournalCorrupt", seq: 1, type: "plan/mode" })
    const Third = SessionEvent.extend({
      type: "x-third",
      schema: Schema.Number,
      unknown: "required",
      version: 3,
      upcasters: { 2: (data) => data }
    })
    const old = yield* Effect.flip(opening(logOf({ type: "x-third", version: 1, data: 1 }), [Third]))
    assert.include(old._tag === "JournalCorrupt" ? old.detail : "", "too old")
  }))

it.effect("an upcaster that fails is a corruption of that event, not a defect", () =>
  Effect.gen(function*() {
    const Bad = SessionEvent.extend({
      type: "x-bad",
      schema: Schema.Number,
      unknown: "required",
      version: 2,
      upcasters: {
        1: () => {
          throw new Error("no")
        }
      }
    })
    const exit = yield* Effect.exit(opening(logOf({ type: "x-bad", version: 1, data: 1 }), [Bad]))
    const error = Exit.findErrorOption(exit)
    assert.deepInclude(error._tag === "Some" ? error.value : undefined, { _tag: "JournalCorrupt", seq: 1 })
  }))

for (
  const [name, seqs, at] of [
    ["missing", [0, 2], 1],
    ["twice", [0, 1, 1], 2],
    ["out of order", [0, 2, 1], 1],
    ["not the first", [1, 2], 0]
  ] as const
) {
  it.effect(`case 138: an event that is ${name} is reported with its position`, () =>
    Effect.gen(function*() {
      const events = seqs.map((seq) => ({ ...logOf(ticket)[Math.min(seq, 1)]!, version: seq === 0 ? 1 : 2, seq }))
      const error = yield* Effect.flip(opening(events))
      assert.deepInclude(error, { _tag: "JournalCorrupt", seq: at })
    }))
}

it.effect("event types of several layers add up", () =>
  Effect.gen(function*() {
    const known = yield* EventTypes
    assert.isTrue(known.has("x-ticket") && known.has("x-seen") && known.has("plan/mode"))
  }).pipe(Effect.provide(EventTypes.layer(Ticket).pipe(Layer.provideMerge(EventTypes.layer(Seen))))))
