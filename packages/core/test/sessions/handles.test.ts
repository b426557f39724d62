import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { Journal, SessionEvent, SessionId, Sessions } from "../../src/index.ts"

const id = SessionId.make("s")
const layer = Sessions.layer.pipe(Layer.provideMerge(Journal.layerMemory))

const tag = <A>(exit: Exit.Exit<A, { readonly _tag: string }>) => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value._tag : exit._tag
}

it.effect("a session has one handle: what looks it up never finds one that does not move", () =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const session = yield* sessions.create({ id })
    assert.strictEqual(tag(yield* Effect.exit(sessions.open(id))), "JournalConflict")
    assert.strictEqual(tag(yield* Effect.exit(sessions.create({ id }))), "JournalConflict")
    yield* session.transact(() => ({
      events: [SessionEvent.event("plan/selected", { active: true, by: "user" })],
      value: undefined
    }))
    assert.strictEqual(sessions.live(id)?.view().length, 2)
  }).pipe(Effect.provide(layer), Effect.scoped))

it.effect("a creation that fails leaves nothing that could be taken for the session", () =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    yield* Effect.scoped(sessions.create({ id }))
    assert.strictEqual(tag(yield* Effect.exit(sessions.create({ id }))), "JournalConflict")
    assert.isUndefined(sessions.live(id))
    // In the same scope: what the failed creation had taken is given back.
    assert.strictEqual((yield* sessions.open(id)).view().length, 1)
  }).pipe(Effect.provide(layer), Effect.scoped))

it.effect("opening a session that does not exist leaves its name free", () =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    assert.strictEqual(tag(yield* Effect.exit(sessions.open(id))), "SessionNotFound")
    yield* sessions.create({ id })
  }).pipe(Effect.provide(layer), Effect.scoped))
