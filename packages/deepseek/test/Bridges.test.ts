import { assert, describe, it } from "@effect/vitest"
import { type ModelPart, type ModelRequest, ModelTransport, TransportError, TransportReason } from "@holdfast/core"
import { fromAiError, FromLanguageModel, toAiError, ToLanguageModel } from "@holdfast/deepseek"
import { Duration, Effect, Layer, Schema, Stream } from "effect"
import { AiError, LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { assistant, tool, user } from "./server.ts"

const usage = { prompt: 10, hit: 8, miss: 2, completion: 5, reasoning: 3 }
const said: ReadonlyArray<ModelPart> = [
  { _tag: "Reasoning", text: "hm" },
  { _tag: "Text", text: "It is " },
  { _tag: "Text", text: "noon." },
  { _tag: "Usage", usage },
  { _tag: "Finish", reason: "stop" }
]
const called: ReadonlyArray<ModelPart> = [
  { _tag: "ToolInput", index: 0, name: "time", text: "" },
  { _tag: "ToolInput", index: 0, name: "time", text: "{\"zone\":\"utc\"}" },
  { _tag: "ToolCall", id: "", name: "time", arguments: "{\"zone\":\"utc\"}" },
  { _tag: "Usage", usage },
  { _tag: "Finish", reason: "tool-calls" }
]

/** A transport that answers with these replies in turn and keeps the requests. */
const scripted = (...replies: ReadonlyArray<ReadonlyArray<ModelPart> | TransportError>) => {
  const requests: Array<ModelRequest> = []
  const transport = ModelTransport.of({
    name: "scripted",
    encoding: "none",
    settings: { model: "m", json: false },
    encode: () => new Uint8Array(),
    stream: (request) => {
      const reply = replies[requests.length]!
      requests.push(request)
      return reply instanceof TransportError ? Stream.fail(reply) : Stream.fromArray(reply)
    }
  })
  return { requests, transport, layer: Layer.succeed(ModelTransport, transport) }
}

const Time = Tool.make("time", { parameters: Schema.Struct({ zone: Schema.String }), success: Schema.String })
const Clock = Toolkit.make(Time)
const Handlers = Clock.toLayer({ time: ({ zone }) => Effect.succeed(`noon in ${zone}`) })

const failure = (reason: TransportReason, more: Partial<TransportError> = {}) =>
  new TransportError({ reason, code: "some-code", detail: "some detail", retryable: true, ...more })

describe("a transport as a LanguageModel", () => {
  const withModel = (script: ReturnType<typeof scripted>) =>
    Effect.provide(ToLanguageModel.layer.pipe(Layer.provide(script.layer)))

  it.effect("generates text, reasoning and usage", () =>
    Effect.gen(function*() {
      const script = scripted(said)
      const prompt = Prompt.make([
        { role: "system", content: "Be brief." },
        { role: "user", content: "What time is it?" }
      ])
      const response = yield* LanguageModel.generateText({ prompt }).pipe(withModel(script))
      assert.strictEqual(response.text, "It is noon.")
      assert.strictEqual(response.reasoningText, "hm")
      assert.strictEqual(response.finishReason, "stop")
      assert.strictEqual(response.usage.inputTokens.cacheRead, 8)
      assert.strictEqual(script.requests[0]!.header.system, "Be brief.")
      assert.deepStrictEqual(script.requests[0]!.messages, [user("What time is it?")])
    }))

  it.effect("streams blocks that open and close", () =>
    Effect.gen(function*() {
      const parts = yield* LanguageModel.streamText({ prompt: "hi" }).pipe(Stream.runCollect, withModel(scripted(said)))
      assert.deepStrictEqual(parts.map((part) => part.type), [
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "finish"
      ])
    }))

  it.effect("lets effect/ai run tools, and replays calls and results", () =>
    Effect.gen(function*() {
      const script = scripted(called, said)
      const first = yield* LanguageModel.generateText({ prompt: "time?", toolkit: Clock }).pipe(
        Effect.provide(Handlers),
        withModel(script)
      )
      assert.strictEqual(first.toolResults[0]!.result, "noon in utc")
      const id = first.toolCalls[0]!.id
      assert.strictEqual(script.requests[0]!.header.tools[0]!.name, "time")
      const prompt = Prompt.concat(Prompt.make("time?"), Prompt.fromResponseParts(first.content))
      yield* LanguageModel.generateText({ prompt }).pipe(withModel({ ...script }))
      assert.deepStrictEqual(script.requests[1]!.messages.slice(1), [
        assistant("", { calls: [{ id, name: "time", arguments: "{\"zone\":\"utc\"}" }] }),
        { role: "tool", call: id, name: "time", text: "noon in utc" }
      ])
    }))

  it.effect("never runs a tool with other arguments than the model's", () =>
    Effect.gen(function*() {
      const broken = called.map((part) => part._tag === "ToolCall" ? { ...part, arguments: "{\"zone\": \"u" } : part)
      const error = yield* LanguageModel.generateText({ prompt: "time?", toolkit: Clock }).pipe(
        Effect.provide(Handlers),
        withModel(scripted(broken)),
        Effect.flip
      )
      assert.strictEqual(error._tag, "AiError")
    }))

  it.effect("asks for objects in JSON mode", () =>
    Effect.gen(function*() {
      const script = scripted([{ _tag: "Text", text: "{\"zone\":\"utc\"}" }, { _tag: "Finish", reason: "stop" }])
      const response = yield* LanguageModel.generateObject({
        prompt: "which zone?",
        schema: Schema.Struct({ zone: Schema.String })
      }).pipe(withModel(script))
      assert.deepStrictEqual(response.value, { zone: "utc" })
      assert.include(script.requests[0]!.header.system, "JSON Schema")
      assert.strictEqual(script.requests[0]!.header.settings.json, true)
    }))

  it.effect("refuses what the transport has no words for", () =>
    Effect.gen(function*() {
      const script = scripted()
      const forced = yield* LanguageModel.generateText({ prompt: "x", toolkit: Clock, toolChoice: "required" }).pipe(
        Effect.provide(Handlers),
        withModel(script),
        Effect.flip
      )
      const file = yield* LanguageModel.generateText({
        prompt: [{
          role: "user",
          content: [{ type: "file", mediaType: "image/png", data: new Uint8Array([1]) }]
        }]
      }).pipe(withModel(script), Effect.flip)
      for (const error of [forced, file]) {
        assert.strictEqual((error as AiError.AiError).reason._tag, "InvalidRequestError")
      }
      assert.strictEqual(script.requests.length, 0)
    }))

  it.effect("fails with the transport's reason", () =>
    Effect.gen(function*() {
      const script = scripted(failure("RateLimitError", { retryAfterMillis: 3000 }))
      const error = yield* LanguageModel.generateText({ prompt: "x" }).pipe(withModel(script), Effect.flip)
      assert.strictEqual(error.reason._tag, "RateLimitError")
      assert.strictEqual(Duration.toMillis(error.retryAfter!), 3000)
    }))
})

describe("a LanguageModel as a transport", () => {
  const overBoth = (script: ReturnType<typeof scripted>) =>
    ModelTransport.pipe(Effect.provide(
      FromLanguageModel.layer({ name: "both", settings: { model: "m" } }).pipe(
        Layer.provide(ToLanguageModel.layer),
        Layer.provide(script.layer)
      )
    ))
  const request = (transport: ModelTransport["Service"]): ModelRequest => ({
    header: { system: "Be brief.", tools: [tool, { ...tool, name: "time" }], settings: transport.settings },
    messages: [
      user("a"),
      assistant("b", { reasoning: "r", calls: [{ id: "c1", name: "read_file", arguments: "{\"path\":\"x\"}" }] }),
      { role: "tool", call: "c1", name: "read_file", text: "text" }
    ],
    tail: "now plan"
  })
  const run = (...replies: ReadonlyArray<ReadonlyArray<ModelPart> | TransportError>) =>
    Effect.gen(function*() {
      const script = scripted(...replies)
      const transport = yield* overBoth(script)
      const parts: Array<ModelPart> = []
      const error = yield* transport.stream(request(transport)).pipe(
        Stream.runForEach((part) => Effect.sync(() => void parts.push(part))),
        Effect.match({ onFailure: (failed) => failed, onSuccess: () => undefined })
      )
      return { script, transport, parts, error }
    })

  it.effect("sends the whole request and gives the reply back, there and back again", () =>
    Effect.gen(function*() {
      const { error, parts, script, transport } = yield* run(said)
      assert.strictEqual(error, undefined)
      assert.deepStrictEqual(parts, said)
      const sent = script.requests[0]!
      assert.strictEqual(sent.header.system, "Be brief.")
      assert.deepStrictEqual(sent.header.tools, request(transport).header.tools)
      assert.deepStrictEqual(sent.messages, [...request(transport).messages, user("now plan")])
    }))

  it.effect("gives tool calls back undone, only at the end", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* run(called)
      assert.strictEqual(error, undefined)
      assert.deepStrictEqual(parts.map((part) => part._tag), ["ToolInput", "ToolInput", "Usage", "ToolCall", "Finish"])
      const call = parts.find((part) => part._tag === "ToolCall")!
      assert.deepStrictEqual([call.name, call.arguments], ["time", "{\"zone\":\"utc\"}"])
    }))

  it.effect("case 152: keeps broken arguments as they are, and drops calls of a cut reply", () =>
    Effect.gen(function*() {
      const broken = called.map((part) => part._tag === "ToolCall" ? { ...part, arguments: "{\"zone\": \"u" } : part)
      assert.strictEqual(
        (yield* run(broken)).parts.find((part) => part._tag === "ToolCall")!.arguments,
        "{\"zone\": \"u"
      )
      const cut = called.map((part): ModelPart => part._tag === "Finish" ? { _tag: "Finish", reason: "length" } : part)
      const { parts } = yield* run(cut)
      assert.isFalse(parts.some((part) => part._tag === "ToolCall"))
      assert.deepStrictEqual(parts.at(-1), { _tag: "Finish", reason: "length" })
    }))

  it.effect("takes nothing for success that is none", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* run(said.slice(0, -1))).error?.code, "truncated")
      assert.strictEqual((yield* run([{ _tag: "Finish", reason: "stop" }])).error?.code, "empty")
    }))

  it.effect("passes every failure on, there and back again, without a loss", () =>
    Effect.gen(function*() {
      for (const reason of TransportReason.literals) {
        if (reason === "NetworkError") continue
        const error = failure(reason, {
          retryable: reason === "InternalProviderError",
          status: 418,
          retryAfterMillis: 7
        })
        assert.deepStrictEqual((yield* run(error)).error, error)
      }
      const network = failure("NetworkError")
      assert.deepStrictEqual((yield* run(network)).error, network)
    }))

  it.effect("has an encoding of its own, the same for the same request", () =>
    Effect.gen(function*() {
      const transport = yield* overBoth(scripted())
      assert.strictEqual(transport.encoding, "effect-ai/1")
      const again = JSON.parse(JSON.stringify(request(transport))) as ModelRequest
      assert.deepStrictEqual(transport.encode(request(transport)), transport.encode(again))
    }))
})

describe("the reasons of effect/ai", () => {
  const of = (reason: AiError.AiErrorReason) => fromAiError(AiError.make({ module: "m", method: "f", reason }))

  it("all have one here", () => {
    const rows: ReadonlyArray<readonly [AiError.AiErrorReason, TransportReason, boolean]> = [
      [new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "u" }), "NetworkError", true],
      [new AiError.RateLimitError({ retryAfter: Duration.seconds(2) }), "RateLimitError", true],
      [new AiError.QuotaExhaustedError({}), "QuotaExhaustedError", false],
      [new AiError.AuthenticationError({ kind: "InvalidKey" }), "AuthenticationError", false],
      [new AiError.ContentPolicyError({ description: "d" }), "ContentPolicyError", false],
      [new AiError.InvalidRequestError({ description: "d" }), "InvalidRequestError", false],
      [new AiError.InvalidRequestError({ description: "maximum context length is 5" }), "ContextLength", false],
      [new AiError.InvalidResponseError({ description: "d" }), "InvalidOutputError", false],
      [new AiError.InternalProviderError({ description: "d" }), "InternalProviderError", true],
      [new AiError.InvalidOutputError({ description: "d" }), "InvalidOutputError", true],
      [new AiError.UnknownError({}), "UnknownError", false],
      [new AiError.InvalidUserInputError({ description: "d" }), "InvalidRequestError", false]
    ]
    for (const [reason, expected, retryable] of rows) {
      assert.deepStrictEqual([of(reason).reason, of(reason).retryable], [expected, retryable])
    }
    assert.strictEqual(of(new AiError.RateLimitError({ retryAfter: Duration.seconds(2) })).retryAfterMillis, 2000)
    assert.strictEqual(of(new AiError.QuotaExhaustedError({})).code, "quota-exhausted")
  })

  it("are those of the transport", () => {
    for (const reason of TransportReason.literals) {
      const expected = reason === "ContextLength" ? "InvalidRequestError" : reason
      assert.strictEqual(toAiError(failure(reason), "streamText").reason._tag, expected)
    }
  })
})
