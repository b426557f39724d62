import { Agent, Interaction, Journal, SessionId, Sessions } from "@holdfast/core"
import { DeepSeek } from "@holdfast/deepseek"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Redacted, Stream } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { app } from "../src/App.ts"

const KEY = "sk-a-key-that-must-not-leak"

/** A server that refuses, and in its answer repeats what it was sent, as careless gateways do. */
const refusing = Effect.acquireRelease(
  Effect.promise(() =>
    new Promise<ReturnType<typeof createServer>>((resolve) => {
      const server = createServer((request, response) => {
        request.resume()
        response.writeHead(401, { "content-type": "application/json" })
        response.end(JSON.stringify({
          error: {
            message: `Authentication Fails, Your api key: ${request.headers.authorization ?? ""} is invalid`,
            type: "x"
          }
        }))
      })
      server.listen(0, "127.0.0.1", () => resolve(server))
    })
  ),
  (server) => Effect.promise(() => new Promise<void>((resolve) => server.close(() => resolve())))
)

it.live("a key stands in no journal, no event and no error, even if the server sends it back", () =>
  Effect.scoped(Effect.gen(function*() {
    const server = yield* refusing
    const root = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "holdfast-secret-"))),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
    )
    const model = DeepSeek.layer({
      apiKey: Redacted.make(KEY),
      baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    })
    const layer = app({ root, artifacts: join(root, "artifacts") }).pipe(
      Layer.provide(Layer.mergeAll(model, Interaction.layerNone)),
      Layer.provideMerge(Sessions.layer),
      Layer.provideMerge(Journal.layerMemory)
    )
    yield* Effect.gen(function*() {
      const sessions = yield* Sessions
      const session = yield* sessions.create({ id: SessionId.make("s") })
      const agent = yield* (yield* Agent).open(session)
      const seen: Array<unknown> = []
      const watching = yield* Effect.forkChild(
        Stream.runForEach(agent.events, (event) => Effect.sync(() => void seen.push(event))),
        { startImmediately: true }
      )
      const end = yield* Effect.exit(agent.prompt("hello"))
      yield* Fiber.interrupt(watching)
      const events = yield* Stream.runCollect(sessions.read(session.id))
      const everything = JSON.stringify([events, seen, Exit.isSuccess(end) ? end.value : String(end.cause)])
      assert.include(everything, "AuthenticationError")
      assert.notInclude(everything, KEY)
    }).pipe(Effect.provide(layer))
  })))
