/** The transport against aimock, a server that shares no code and no author with this repository. */
import { type ChaosConfig, LLMock } from "@copilotkit/aimock"
import { assert, describe, it } from "@effect/vitest"
import type { ModelPart } from "@holdfast/core"
import { Effect } from "effect"
import { attempt, requestOf, transportAt, user } from "./server.ts"

const aimock = Effect.acquireRelease(
  Effect.promise(async () => {
    const mock = new LLMock({ port: 0, chunkSize: 3 })
    await mock.start()
    return mock
  }),
  (mock) => Effect.promise(() => mock.stop())
)

const ask = (arrange: (mock: LLMock) => unknown) =>
  Effect.scoped(Effect.gen(function*() {
    const mock = yield* aimock
    arrange(mock)
    const transport = yield* transportAt(`${mock.url}/v1`)
    const { header } = requestOf(transport)
    return yield* attempt(transport, { header, messages: [user("Go on.")], tail: null })
  }))

const textOf = (parts: ReadonlyArray<ModelPart>, tag: "Text" | "Reasoning") =>
  parts.map((part) => part._tag === tag ? part.text : "").join("")

describe("against aimock", () => {
  it.live("text and reasoning come whole, piece by piece", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* ask((mock) =>
        mock.onMessage(/Go on/, { content: "Fertig: 完成 ✓.", reasoning: "Let me think." })
      )
      assert.strictEqual(error, undefined)
      assert.strictEqual(textOf(parts, "Text"), "Fertig: 完成 ✓.")
      assert.strictEqual(textOf(parts, "Reasoning"), "Let me think.")
      assert.isAbove(parts.filter((part) => part._tag === "Text").length, 1)
    }))

  it.live("calls come whole and in order", () =>
    Effect.gen(function*() {
      const calls = [
        { name: "read_file", arguments: "{\"path\":\"a\"}" },
        { name: "read_file", arguments: "{\"path\":\"b\"}" }
      ]
      const { error, parts } = yield* ask((mock) => mock.onMessage(/Go on/, { toolCalls: calls }))
      assert.strictEqual(error, undefined)
      assert.deepStrictEqual(
        parts.flatMap((part) => part._tag === "ToolCall" ? [{ name: part.name, arguments: part.arguments }] : []),
        calls
      )
    }))

  const failures: ReadonlyArray<readonly [number, string, boolean]> = [
    [401, "AuthenticationError", false],
    [429, "RateLimitError", true],
    [500, "InternalProviderError", true]
  ]
  for (const [status, reason, retryable] of failures) {
    it.live(`status ${status} is ${reason}`, () =>
      Effect.gen(function*() {
        const { error } = yield* ask((mock) => mock.nextRequestError(status, { message: "no" }))
        assert.strictEqual(error?.reason, reason)
        assert.strictEqual(error?.retryable, retryable)
      }))
  }

  const chaos: ReadonlyArray<ChaosConfig> = [{ disconnectRate: 1 }, { malformedRate: 1 }]
  for (const config of chaos) {
    it.live(`${JSON.stringify(config)} is an error, never a reply`, () =>
      Effect.gen(function*() {
        const { error } = yield* ask((mock) => mock.onMessage(/Go on/, { content: "Done." }).setChaos(config))
        assert.isTrue(error?.retryable, JSON.stringify(error))
      }))
  }
})
