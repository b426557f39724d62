import { assert, describe, it } from "@effect/vitest"
import { type ModelPart, TransportError } from "@holdfast/core"
import { Effect, Exit, Fiber, Scheduler, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ServerResponse } from "node:http"
import {
  against,
  apiKey,
  attempt,
  callStart,
  callText,
  chunk,
  events,
  requestOf,
  serve,
  settled,
  texts,
  transportAt,
  usage
} from "./server.ts"

const sse = (...data: ReadonlyArray<unknown>) =>
  data.map((value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`).join("")
const begin = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/event-stream" })
const pause = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

/** Waits in real time until something is so. */
const until = (condition: () => boolean) =>
  Effect.promise(async () => {
    for (let i = 0; i < 500 && !condition(); i++) await pause(5)
    assert.isTrue(condition())
  })

describe("a reply", () => {
  it.effect("streams reasoning, text, calls, usage and finish in this order", () =>
    Effect.gen(function*() {
      const { error, parts, server } = yield* against(events(
        chunk({ role: "assistant", content: null, reasoning_content: "" }),
        chunk({ content: null, reasoning_content: "Let me" }),
        chunk({ content: null, reasoning_content: " see." }),
        chunk({ content: "Reading", reasoning_content: null }),
        callStart(0, "read_file"),
        callText(0, "{\"path\""),
        callText(0, ": \"a\"}"),
        chunk({ content: "", reasoning_content: null }, "tool_calls", usage),
        "[DONE]"
      ))
      assert.strictEqual(error, undefined)
      assert.deepStrictEqual(parts, [
        { _tag: "Reasoning", text: "Let me" },
        { _tag: "Reasoning", text: " see." },
        { _tag: "Text", text: "Reading" },
        { _tag: "ToolInput", index: 0, name: "read_file", text: "" },
        { _tag: "ToolInput", index: 0, name: "read_file", text: "{\"path\"" },
        { _tag: "ToolInput", index: 0, name: "read_file", text: ": \"a\"}" },
        { _tag: "ToolCall", id: "call_00_abc", name: "read_file", arguments: "{\"path\": \"a\"}" },
        { _tag: "Usage", usage: { prompt: 300, hit: 256, miss: 44, completion: 12, reasoning: 5 } },
        { _tag: "Finish", reason: "tool-calls" }
      ])
      assert.strictEqual(server.received[0]!.path, "/chat/completions")
    }))

  it.effect("is asked for with exactly the bytes of `encode`, and with no header of another vendor", () =>
    Effect.gen(function*() {
      const env = {
        OPENAI_ORG_ID: "org-secret",
        OPENAI_PROJECT_ID: "proj-secret",
        OPENAI_API_KEY: "sk-other-000000000",
        OPENAI_ADMIN_KEY: "sk-admin-000000000",
        OPENAI_CUSTOM_HEADERS: "Authorization: Bearer other-secret\nX-Own: own-secret",
        OPENAI_BASE_URL: "http://127.0.0.1:9"
      }
      Object.assign(process.env, env)
      yield* Effect.addFinalizer(() => Effect.sync(() => Object.keys(env).forEach((name) => delete process.env[name])))
      const server = yield* serve(events(...settled))
      const transport = yield* transportAt(server.url)
      const request = requestOf(transport, { tail: "思考 🚀" })
      assert.strictEqual((yield* attempt(transport, request)).error, undefined)
      const { body, headers } = server.received[0]!
      assert.strictEqual(body, new TextDecoder().decode(transport.encode(request)))
      assert.strictEqual(headers.authorization, `Bearer ${apiKey}`)
      assert.strictEqual(headers["content-type"], "application/json")
      assert.strictEqual(headers.accept, "text/event-stream")
      assert.notMatch(JSON.stringify(headers), /secret|sk-other|sk-admin/)
    }))

  const script = [
    ": keep-alive\n\n",
    ":\r\n\r\n",
    sse(chunk({ reasoning_content: "思考👩‍👩‍👧 é" })),
    `data: ${JSON.stringify(chunk({ content: "日本語 🚀\u2028" }))}\r\n\r\n`,
    ": keep-alive\r\n\r\n",
    `event: message\r\nid: 7\r\ndata:${JSON.stringify(callStart(0, "read_file"))}\r\n\r\n`,
    sse(callText(0, "{\"path\": \"ä\"}")),
    sse(chunk({}, "tool_calls", usage)),
    "data: [DONE]\n\n"
  ].join("")

  it.effect("case 156: is the same wherever the network cuts it", () =>
    Effect.gen(function*() {
      const bytes = Buffer.from(script)
      const server = yield* serve(() => {})
      const pieces = { cut: bytes.length }
      // The bytes go through a body of our own, so that a cut is a cut: TCP would join the pieces again.
      const fetch: typeof globalThis.fetch = () =>
        Promise.resolve(
          new Response(
            new ReadableStream<Uint8Array>({
              start: (controller) => {
                for (const piece of [bytes.subarray(0, pieces.cut), bytes.subarray(pieces.cut)]) {
                  if (piece.length > 0) controller.enqueue(piece)
                }
                controller.close()
              }
            }),
            { headers: { "content-type": "text/event-stream" } }
          )
        )
      const transport = yield* transportAt(server.url, { fetch })
      const whole = yield* attempt(transport)
      assert.strictEqual(whole.error, undefined)
      assert.strictEqual(texts(whole.parts), "日本語 🚀\u2028")
      for (let cut = 0; cut < bytes.length; cut++) {
        pieces.cut = cut
        const outcome = yield* attempt(transport)
        assert.deepStrictEqual(outcome, whole)
        assert.notInclude(JSON.stringify(outcome.parts), "\ufffd")
      }
    }), 60_000)

  it.live("case 156: is the same when it comes one byte at a time", () =>
    Effect.gen(function*() {
      const bytes = Buffer.from(script)
      const outcome = yield* against(async (response) => {
        begin(response)
        response.socket!.setNoDelay(true)
        for (const byte of bytes) {
          response.write(Buffer.of(byte))
          if (byte === 10) await pause(0)
        }
        response.end()
      })
      assert.strictEqual(outcome.error, undefined)
      assert.strictEqual(texts(outcome.parts, "Reasoning"), "思考👩‍👩‍👧 é")
    }))

  it.live("delivers what came before an error", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* against(events(chunk({ content: "half" })))
      assert.strictEqual(texts(parts), "half")
      assert.strictEqual(error?.code, "truncated")
    }))

  it.live("case 152: cut at any byte of the arguments, there is no call", () =>
    Effect.gen(function*() {
      const args = "{\"path\": \"a\"}"
      const all = sse(callStart(0, "f"), ...Array.from(args, (char) => callText(0, char)))
      const server = yield* serve((response, _, index) => {
        begin(response)
        response.end(all.slice(0, index * 40))
      })
      const transport = yield* transportAt(server.url)
      for (let i = 0; i * 40 < all.length + 40; i++) {
        const { error, parts } = yield* attempt(transport)
        assert.isFalse(parts.some((part) => part._tag === "ToolCall"))
        assert.strictEqual(error?.code, "truncated")
        assert.isTrue(error?.retryable)
      }
    }))

  it.live("that breaks off with a reset is a network error", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* against(async (response) => {
        begin(response)
        response.write(sse(chunk({ content: "half" })))
        await pause(20)
        response.socket!.resetAndDestroy()
      })
      assert.deepStrictEqual([error?.reason, error?.code, error?.retryable], ["NetworkError", "reset", true])
      assert.strictEqual(texts(parts), "half")
    }))

  it.live("that is complete stands, even if the connection breaks before its end", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* against(async (response) => {
        begin(response)
        response.write(sse(chunk({ content: "all" }), chunk({}, "stop", usage)))
        await pause(20)
        response.socket!.resetAndDestroy()
      })
      assert.strictEqual(error, undefined)
      assert.strictEqual(parts.at(-1)?._tag, "Finish")
    }))

  it.live("uses the connection of the one before", () =>
    Effect.gen(function*() {
      const sockets = new Set<unknown>()
      const server = yield* serve(async (response) => {
        sockets.add(response.socket)
        begin(response)
        for (const value of settled) {
          response.write(sse(value))
          await pause(3)
        }
        response.end()
      })
      const transport = yield* transportAt(server.url)
      for (let i = 0; i < 8; i++) {
        yield* attempt(transport)
        yield* Effect.sleep(20)
      }
      assert.strictEqual(sockets.size, 1)
    }))

  it.live("loses no part to a fiber that yields every few steps", () =>
    Effect.gen(function*() {
      // Every yield takes a few milliseconds, so that the reply goes on, and ends, between any two steps of the fiber.
      const slow = new Scheduler.MixedScheduler("async", (run) => {
        const timer = setTimeout(run, 3)
        return () => clearTimeout(timer)
      })
      const fetch: typeof globalThis.fetch = () => {
        let sent = 0
        const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
          await new Promise((resolve) => setImmediate(resolve))
          if (sent++ < 20) return controller.enqueue(Buffer.from(sse(chunk({ content: "x" }))))
          controller.enqueue(Buffer.from(sse(chunk({}, "stop"), "[DONE]")))
          controller.close()
        }
        const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 })
        return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }))
      }
      const transport = yield* transportAt("http://127.0.0.1:1", { fetch })
      for (let steps = 3; steps < 40; steps++) {
        const outcome = yield* Effect.promise(() =>
          Effect.runPromise(Effect.provideService(attempt(transport), Scheduler.MaxOpsBeforeYield, steps), {
            scheduler: slow
          })
        )
        assert.strictEqual(texts(outcome.parts), "x".repeat(20))
        assert.strictEqual(outcome.error, undefined)
      }
    }))

  it.live("comes in one batch for each piece of the network", () =>
    Effect.gen(function*() {
      const server = yield* serve(async (response) => {
        begin(response)
        for (let i = 0; i < 3; i++) {
          response.write(sse(...Array.from({ length: 10 }, () => chunk({ content: "x" }))))
          await pause(20)
        }
        response.end(sse(chunk({}, "stop"), "[DONE]"))
      })
      const transport = yield* transportAt(server.url)
      const batches = yield* transport.stream(requestOf(transport)).pipe(
        Stream.chunks,
        Stream.map((batch) => batch.length),
        Stream.runCollect
      )
      assert.deepStrictEqual(batches, [10, 10, 10, 1])
    }))
})

describe("interrupting a reply", () => {
  const begun = (response: ServerResponse) => {
    begin(response)
    response.write(sse(chunk({ content: "a" })))
  }

  it.live("closes the connection and is no success", () =>
    Effect.gen(function*() {
      const server = yield* serve(begun)
      const transport = yield* transportAt(server.url)
      const parts: Array<ModelPart> = []
      const fiber = yield* transport.stream(requestOf(transport)).pipe(
        Stream.runForEach((part) => Effect.sync(() => void parts.push(part))),
        Effect.forkChild
      )
      yield* until(() => parts.length > 0)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => server.closed(0))
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.hasInterrupts(exit))
      assert.deepStrictEqual(parts, [{ _tag: "Text", text: "a" }])
    }))

  it.live("works before the server has answered", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => {})
      const transport = yield* transportAt(server.url)
      const fiber = yield* Effect.forkChild(attempt(transport))
      yield* until(() => server.received.length === 1)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => server.closed(0))
    }))

  it.live("also when the consumer has had enough", () =>
    Effect.gen(function*() {
      const server = yield* serve(begun)
      const transport = yield* transportAt(server.url)
      yield* transport.stream(requestOf(transport)).pipe(Stream.take(1), Stream.runDrain)
      yield* Effect.promise(() => server.closed(0))
    }))
})

describe("a reply that has stopped coming", () => {
  const stalled = (
    write: (response: ServerResponse) => void,
    ...waits: ReadonlyArray<readonly [string, string | undefined]>
  ) =>
    Effect.gen(function*() {
      const responses: Array<ServerResponse> = []
      const server = yield* serve((response) => {
        responses.push(response)
        write(response)
      })
      const transport = yield* transportAt(server.url)
      const parts: Array<ModelPart> = []
      const fiber = yield* transport.stream(requestOf(transport)).pipe(
        Stream.runForEach((part) => Effect.sync(() => void parts.push(part))),
        Effect.flip,
        Effect.orDie,
        Effect.forkChild
      )
      yield* until(() => responses.length === 1)
      yield* Effect.promise(() => pause(50))
      for (const [wait, write] of waits) {
        assert.strictEqual(fiber.pollUnsafe(), undefined)
        yield* TestClock.adjust(wait as "1 minute")
        if (write !== undefined) responses[0]!.write(write)
        yield* Effect.promise(() => pause(30))
      }
      const error = yield* Fiber.join(fiber)
      assert.instanceOf(error, TransportError)
      yield* Effect.promise(() => server.closed(0))
      return [error.reason, error.code, error.retryable]
    })

  it.effect("is given up 10 minutes after the request if not a byte has come", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* stalled(() => {}, ["599 seconds", undefined], ["1 second", undefined]), [
        "NetworkError",
        "idle",
        true
      ])
    }))

  it.effect("is given up 2 minutes after the last byte", () =>
    Effect.gen(function*() {
      const result = yield* stalled(
        (response) => {
          begin(response)
          response.write(sse(chunk({ content: "a" })))
        },
        ["119 seconds", ": keep-alive\n\n"],
        ["119 seconds", undefined],
        ["1 second", undefined]
      )
      assert.deepStrictEqual(result, ["NetworkError", "idle", true])
    }))

  it.effect("is given up 5 minutes after the last event, keep-alives or not", () =>
    Effect.gen(function*() {
      const alive = ": keep-alive\n\n"
      const result = yield* stalled(
        (response) => {
          begin(response)
          response.write(sse(chunk({ content: "a" })))
        },
        ["100 seconds", alive],
        ["100 seconds", alive],
        ["99 seconds", alive],
        ["1 second", undefined]
      )
      assert.deepStrictEqual(result, ["NetworkError", "idle-events", true])
    }))

  it.effect("is given up 11 minutes after the request if only keep-alives come", () =>
    Effect.gen(function*() {
      const alive = ": keep-alive\n\n"
      const result = yield* stalled(
        (response) => {
          begin(response)
          response.write(alive)
        },
        ...Array.from({ length: 10 }, () => ["1 minute", alive] as const),
        ["59 seconds", alive],
        ["1 second", undefined]
      )
      assert.deepStrictEqual(result, ["NetworkError", "idle-events", true])
    }))

  it.effect("is not one whose consumer is slow", () =>
    Effect.gen(function*() {
      const many = Array.from({ length: 5000 }, () => chunk({ content: "x" }))
      const server = yield* serve(events(...many, ...settled))
      const transport = yield* transportAt(server.url)
      let count = 0
      let busy = false
      const fiber = yield* transport.stream(requestOf(transport)).pipe(
        Stream.runForEachArray((parts) => {
          count += parts.length
          busy = true
          return Effect.andThen(
            Effect.sleep("1 hour"),
            Effect.sync(() => {
              busy = false
            })
          )
        }),
        Effect.forkChild
      )
      for (let i = 0; fiber.pollUnsafe() === undefined && i < 200; i++) {
        yield* Effect.promise(() => pause(20))
        if (busy) yield* TestClock.adjust("1 hour")
      }
      yield* Fiber.join(fiber)
      assert.strictEqual(count, 5003)
    }))
})
