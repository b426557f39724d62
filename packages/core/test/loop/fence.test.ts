import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { type Disposed, Fence } from "../../src/index.ts"

const opened = Effect.gen(function*() {
  const scope = yield* Scope.make()
  const fence = yield* Scope.provide(Fence.make("test"), scope)
  return { fence, close: Scope.close(scope, Exit.void) }
})

const tag = <A>(exit: Exit.Exit<A, Disposed>) => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value._tag : exit._tag
}

it.effect("after the close nothing begins", () =>
  Effect.gen(function*() {
    const { close, fence } = yield* opened
    yield* close
    let ran = 0
    const body = Effect.sync(() => void ran++)
    for (const call of [fence.guard(body), fence.commit(body), fence.check]) {
      assert.strictEqual(tag(yield* Effect.exit(call)), "Disposed")
    }
    assert.deepStrictEqual([ran, fence.isOpen()], [0, false])
  }))

it.effect("the close interrupts what waits", () =>
  Effect.gen(function*() {
    const { close, fence } = yield* opened
    const waiting = yield* Effect.forkChild(Effect.exit(fence.guard(Effect.never)), { startImmediately: true })
    yield* close
    assert.strictEqual(tag(yield* Fiber.join(waiting)), "Disposed")
  }))

it.effect("the close waits for what writes, and the writer keeps its result", () =>
  Effect.gen(function*() {
    const { close, fence } = yield* opened
    const gate = yield* Deferred.make<void>()
    let closed = false
    const writing = yield* Effect.forkChild(fence.commit(Effect.as(Deferred.await(gate), "written")), {
      startImmediately: true
    })
    const closing = yield* Effect.forkChild(Effect.andThen(close, Effect.sync(() => void (closed = true))), {
      startImmediately: true
    })
    for (let i = 0; i < 20; i++) yield* Effect.yieldNow
    assert.isFalse(closed)
    yield* Deferred.succeed(gate, undefined)
    assert.strictEqual(yield* Fiber.join(writing), "written")
    yield* Fiber.join(closing)
    assert.isTrue(closed)
  }))
