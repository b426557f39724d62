/** The transport against the stand-in server of the sibling package, which was written from the API's documentation. */
import { assert, describe, it } from "@effect/vitest"
import type { Message, ModelPart } from "@holdfast/core"
import { Effect, type Scope } from "effect"
import { DeepSeekLocal, type Fault, Scenario, type ServerOptions } from "../../deepseek-local/src/index.ts"
import { attempt, type Outcome, requestOf, tool, transportAt, user } from "./server.ts"

const withLocal = <A, E>(
  options: ServerOptions,
  use: (local: DeepSeekLocal["Service"]) => Effect.Effect<A, E, Scope.Scope>
): Effect.Effect<A> =>
  DeepSeekLocal.pipe(Effect.flatMap(use), Effect.provide(DeepSeekLocal.layer(options)), Effect.scoped, Effect.orDie)

/** The history after a reply and the results of its calls, with ids of our own as the harness mints them. */
const after = (history: ReadonlyArray<Message>, parts: ReadonlyArray<ModelPart>): ReadonlyArray<Message> => {
  const text = (tag: "Text" | "Reasoning") => parts.map((part) => part._tag === tag ? part.text : "").join("")
  const calls = parts.flatMap((part, i) =>
    part._tag === "ToolCall" ? [{ id: `call_${history.length}_${i}`, name: part.name, arguments: part.arguments }] : []
  )
  return [
    ...history,
    { role: "assistant", text: text("Text"), reasoning: text("Reasoning"), calls },
    ...calls.map((call): Message => ({ role: "tool", call: call.id, name: call.name, text: "line\n".repeat(300) }))
  ]
}

describe("a conversation", () => {
  it.live("case 150: is accepted by a server that insists on reasoning, and reads its own prefix from the cache", () =>
    withLocal({
      scenario: Scenario.steps(
        Scenario.call("read_file", { path: "a" }, { reasoning: "First 思考 a.", content: "Reading." }),
        Scenario.calls([{ name: "read_file", arguments: { path: "b" } }, {
          name: "read_file",
          arguments: { path: "c" }
        }]),
        Scenario.text("Done.", { reasoning: "All read." })
      )
    }, (local) =>
      Effect.gen(function*() {
        const transport = yield* transportAt(local.url)
        const { header } = requestOf(transport)
        let messages: ReadonlyArray<Message> = [user("Read the files.")]
        const usages: Array<{ readonly prompt: number; readonly hit: number }> = []
        for (let step = 0; step < 3; step++) {
          const { error, parts } = yield* attempt(transport, { header, messages, tail: null })
          assert.strictEqual(error, undefined)
          for (const part of parts) if (part._tag === "Usage") usages.push(part.usage)
          messages = after(messages, parts)
        }
        assert.strictEqual(usages.length, 3)
        assert.strictEqual(usages[0]!.hit, 0)
        for (let i = 1; i < 3; i++) assert.isAtLeast(usages[i]!.hit, Math.floor(usages[i - 1]!.prompt / 128) * 128)
        assert.strictEqual(messages.at(-1)!.text, "Done.")
      })))
})

describe("a fault", () => {
  const reply = {
    reasoning: "hm",
    content: "Reading it.",
    toolCalls: [{ name: "read_file", arguments: { path: "a" } }]
  }
  const under = (fault: Fault): Effect.Effect<Outcome> =>
    withLocal(
      { scenario: () => ({ ...reply, faults: [fault] }) },
      (local) => Effect.scoped(Effect.flatMap(transportAt(local.url), (transport) => attempt(transport)))
    )

  const errors: ReadonlyArray<readonly [Fault, string, string, boolean]> = [
    [{ type: "http", status: 500 }, "InternalProviderError", "server", true],
    [{ type: "http", status: 503 }, "InternalProviderError", "overloaded", true],
    [{ type: "http", status: 429, retryAfter: 2 }, "RateLimitError", "rate-limit", true],
    [{ type: "http", status: 402 }, "QuotaExhaustedError", "insufficient-balance", false],
    [{ type: "reset" }, "NetworkError", "reset", true],
    [{ type: "reset", afterFrames: 3 }, "NetworkError", "reset", true],
    [{ type: "eof", afterFrames: 4 }, "NetworkError", "truncated", true],
    [{ type: "no-finish" }, "NetworkError", "truncated", true],
    [{ type: "cut-frame", afterFrames: 2 }, "NetworkError", "truncated", true],
    [{ type: "malformed-frame", afterFrames: 2 }, "InvalidOutputError", "malformed", true],
    [{ type: "error-object", afterFrames: 2 }, "InternalProviderError", "stream-error", true],
    [{ type: "no-choices" }, "InvalidOutputError", "no-choices", true],
    [{ type: "markup-leak", variant: "v4" }, "InvalidOutputError", "leaked-tool-markup", true],
    [{ type: "markup-leak", variant: "v4.1" }, "InvalidOutputError", "leaked-tool-markup", true],
    [{ type: "markup-leak", variant: "double-bar" }, "InvalidOutputError", "leaked-tool-markup", true],
    [{ type: "markup-leak", variant: "plain-bar" }, "InvalidOutputError", "leaked-tool-markup", true],
    [{ type: "reasoning-only" }, "InvalidOutputError", "empty", true],
    [{ type: "empty" }, "InvalidOutputError", "empty", true]
  ]
  for (const [fault, reason, code, retryable] of errors) {
    it.live(`${JSON.stringify(fault)} is ${reason} (${code})`, () =>
      Effect.gen(function*() {
        const { error, parts } = yield* under(fault)
        assert.deepStrictEqual([error?.reason, error?.code, error?.retryable], [reason, code, retryable])
        assert.isFalse(parts.some((part) => part._tag === "ToolCall" || part._tag === "Finish"))
      }))
  }

  const harmless: ReadonlyArray<Fault> = [
    { type: "eof" },
    { type: "keep-alive", count: 6 },
    { type: "trailing-usage" },
    { type: "no-usage" },
    { type: "brace-missing" },
    { type: "brace-extra" },
    { type: "id-empty" },
    { type: "id-blank" },
    { type: "id-missing" },
    { type: "id-repeated" },
    { type: "index-missing" },
    { type: "index-shifted" },
    { type: "index-reused" },
    { type: "reasoning-split" }
  ]
  for (const fault of harmless) {
    it.live(`${JSON.stringify(fault)} leaves the reply as it is`, () =>
      Effect.gen(function*() {
        const { error, parts } = yield* under(fault)
        assert.strictEqual(error, undefined)
        const calls = parts.flatMap((part) => part._tag === "ToolCall" ? [[part.name, JSON.parse(part.arguments)]] : [])
        assert.deepStrictEqual(calls, [[tool.name, { path: "a" }]])
        assert.deepStrictEqual(parts.at(-1), { _tag: "Finish", reason: "tool-calls" })
      }))
  }

  it.live("case 153: arguments that were cut reach the harness cut", () =>
    Effect.gen(function*() {
      const { parts } = yield* under({ type: "arguments-cut", at: 8 })
      const call = parts.find((part) => part._tag === "ToolCall")!
      assert.throws(() => JSON.parse(call.arguments))
    }))
})
