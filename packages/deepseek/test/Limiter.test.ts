import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { ServerResponse } from "node:http"
import { attempt, events, type Handler, json, serve, settled, transportAt } from "./server.ts"

const pause = (millis: number) => Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, millis)))
const limited = (headers: Record<string, string> = {}) =>
  json(429, { error: { message: "Rate Limit Reached", type: "rate_limit_error" } }, headers)

/** The first request is answered by `first`, the others are fine. */
const then = (first: Handler): Handler => (response, request, index) =>
  index === 0 ? first(response, request, index) : events(...settled)(response, request, index)

describe("the limiter of a key", () => {
  it.effect("case 159: makes all requests wait as long as one was told to", () =>
    Effect.gen(function*() {
      for (const after of ["3", "date"]) {
        const at = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        const header = after === "date" ? new Date(at + 3000).toUTCString() : after
        const server = yield* serve(then(limited({ "retry-after": header })))
        const one = yield* transportAt(server.url)
        const other = yield* transportAt(`${server.url}/v1`, { model: "deepseek-v4-pro" })
        assert.strictEqual((yield* attempt(one)).error?.retryAfterMillis, 3000)
        const fibers = yield* Effect.forEach([one, other, other], (transport) => Effect.forkChild(attempt(transport)))
        yield* TestClock.adjust("2999 millis")
        yield* pause(50)
        assert.strictEqual(server.received.length, 1)
        yield* TestClock.adjust("1 millis")
        for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).error, undefined)
        assert.strictEqual(server.received.length, 4)
      }
    }))

  it.effect("waits a second after a 429 that does not say how long", () =>
    Effect.gen(function*() {
      const server = yield* serve(then(limited()))
      const transport = yield* transportAt(server.url)
      yield* attempt(transport)
      const fiber = yield* Effect.forkChild(attempt(transport))
      yield* TestClock.adjust("999 millis")
      yield* pause(30)
      assert.strictEqual(server.received.length, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).error, undefined)
    }))

  it.effect("case 160: waits a minute at most, and can be interrupted meanwhile", () =>
    Effect.gen(function*() {
      const server = yield* serve(then(limited({ "retry-after": "3600" })))
      const transport = yield* transportAt(server.url)
      assert.strictEqual((yield* attempt(transport)).error?.retryAfterMillis, 3_600_000)
      const given = yield* Effect.forkChild(attempt(transport))
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.interrupt(given)
      const fiber = yield* Effect.forkChild(attempt(transport))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).error, undefined)
      assert.strictEqual(server.received.length, 2)
    }))

  it.effect("is another for another key or server", () =>
    Effect.gen(function*() {
      const server = yield* serve(then(limited({ "retry-after": "60" })))
      const other = yield* serve(events(...settled))
      yield* attempt(yield* transportAt(server.url))
      assert.strictEqual((yield* attempt(yield* transportAt(other.url))).error, undefined)
    }))

  it.live("lets as many streams run as it has permits, and gives them back whatever happens", () =>
    Effect.gen(function*() {
      const open: Array<ServerResponse> = []
      let most = 0
      const server = yield* serve((response) => {
        open.push(response)
        most = Math.max(most, open.length)
      })
      const one = yield* transportAt(server.url, { concurrency: 3 })
      const other = yield* transportAt(server.url, { concurrency: 2 })
      const fibers = yield* Effect.forEach(
        [one, other, one, other, one, other],
        (transport) => Effect.forkChild(attempt(transport))
      )
      for (let i = 0; i < 6; i++) {
        const expected = Math.min(6, i + 2)
        while (server.received.length < expected) yield* pause(5)
        // Whoever had no permit would come now.
        yield* pause(30)
        assert.strictEqual(server.received.length, expected)
        const response = open.shift()!
        if (i % 3 === 0) response.socket!.destroy()
        else if (i % 3 === 1) response.writeHead(500).end()
        else events(...settled)(response, server.received[0]!, 0)
      }
      yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(most, 2)
    }))

  it.live("allows more again when the stricter layer is gone, and loses no permit to an interrupted wait", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => {})
      const wide = yield* transportAt(server.url, { concurrency: 4 })
      const scope = yield* Scope.make()
      yield* Scope.provide(transportAt(server.url, { concurrency: 1 }), scope)
      const running = yield* Effect.forEach([1, 2, 3, 4], () => Effect.forkChild(attempt(wide)))
      yield* pause(30)
      assert.strictEqual(server.received.length, 1)
      yield* Fiber.interrupt(running[1]!)
      yield* Scope.close(scope, Exit.void)
      yield* pause(30)
      assert.strictEqual(server.received.length, 3)
      yield* Fiber.interruptAll(running)
      const again = yield* Effect.forEach([1, 2, 3, 4], () => Effect.forkChild(attempt(wide)))
      yield* pause(50)
      assert.strictEqual(server.received.length, 7)
      yield* Fiber.interruptAll(again)
    }))
})
