import { assert, describe, it } from "@effect/vitest"
import { ModelTransport } from "@holdfast/core"
import { DeepSeek, deepseek, type Profile } from "@holdfast/deepseek"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { apiKey, attempt, events, requestOf, serve, settled } from "./server.ts"

const wrong: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
  ["apiKey", { apiKey: Redacted.make("  ") }],
  ["apiKey", { apiKey: "plain" }],
  ["apiKey", { apiKey: Redacted.make("two\nlines") }],
  ["baseURL", { baseURL: "api.deepseek.com" }],
  ["baseURL", { baseURL: "file:///etc" }],
  ["model", { model: " " }],
  ["maxTokens", { maxTokens: 0 }],
  ["maxTokens", { maxTokens: 393_217 }],
  ["maxTokens", { maxTokens: 1.5 }],
  ["effort", { effort: "hard" }],
  ["effort", { effort: "high", thinking: false }],
  ["userId", { userId: "no spaces" }],
  ["userId", { userId: "x".repeat(513) }],
  ["extraBody", { extraBody: { tool_choice: "none" } }],
  ["extraBody", { extraBody: { messages: [] } }],
  ["concurrency", { concurrency: 0 }],
  ["cooldown", { cooldown: "soon" }],
  ["maxCooldown", { maxCooldown: -1 }],
  ["timeouts.bytes", { timeouts: { bytes: 0 } }],
  ["timeouts.byte", { timeouts: { byte: 1 } }],
  ["leakedMarkup", { leakedMarkup: "show" }],
  ["reasoningEffort", { reasoningEffort: "high" }]
]

describe("DeepSeek.layer", () => {
  for (const [option, value] of wrong) {
    it.effect(`fails at once for ${option} = ${JSON.stringify(value)}`, () =>
      Effect.gen(function*() {
        const options = { apiKey: Redacted.make(apiKey), ...value } as DeepSeek.Options
        const error = yield* Effect.flip(Layer.build(DeepSeek.layer(options)))
        assert.instanceOf(error, DeepSeek.InvalidDeepSeekOption)
        assert.strictEqual(error.option, option)
        assert.notInclude(error.message, apiKey)
      }))
  }

  it.effect("maps the names of efforts as the API does", () =>
    Effect.gen(function*() {
      const expected = {
        minimal: "low",
        low: "low",
        medium: "high",
        high: "high",
        xhigh: "high",
        max: "max",
        ultra: "max"
      }
      for (const [effort, sent] of Object.entries(expected)) {
        const layer = DeepSeek.layer({ apiKey: Redacted.make(apiKey), effort: effort as DeepSeek.Effort })
        const transport = yield* ModelTransport.pipe(Effect.provide(layer))
        assert.strictEqual(transport.settings.effort, sent)
      }
    }))

  it.effect("sends no effort when thinking is off", () =>
    Effect.gen(function*() {
      const layer = DeepSeek.layer({ apiKey: Redacted.make(apiKey), thinking: false })
      const transport = yield* ModelTransport.pipe(Effect.provide(layer))
      const body = JSON.parse(new TextDecoder().decode(transport.encode(requestOf(transport))))
      assert.deepStrictEqual(body.thinking, { type: "disabled" })
      assert.notProperty(body, "reasoning_effort")
    }))

  it.effect("speaks to another endpoint by a profile", () =>
    Effect.gen(function*() {
      const server = yield* serve(events(...settled))
      const profile: Profile = {
        ...deepseek,
        name: "gateway",
        baseURL: `${server.url}/v1`,
        model: "own",
        maxTokensField: "max_completion_tokens",
        maxTokens: 1000,
        thinking: false,
        reasoning: "never"
      }
      const layer = DeepSeek.layer({ apiKey: Redacted.make(apiKey), profile })
      const transport = yield* ModelTransport.pipe(Effect.provide(layer))
      assert.strictEqual(transport.name, "gateway")
      yield* attempt(transport)
      const body = JSON.parse(server.received[0]!.body)
      assert.strictEqual(server.received[0]!.path, "/v1/chat/completions")
      assert.strictEqual(body.model, "own")
      assert.strictEqual(body.max_completion_tokens, 1000)
      for (const field of ["max_tokens", "thinking", "reasoning_effort"]) assert.notProperty(body, field)
    }))

  it.effect("sends strict tools to the beta address", () =>
    Effect.gen(function*() {
      let asked = ""
      const fetch: typeof globalThis.fetch = (url) => {
        asked = String(url)
        return Promise.reject(new Error("not in a test"))
      }
      const layer = DeepSeek.layer({ apiKey: Redacted.make(apiKey), strictTools: true, fetch })
      yield* attempt(yield* ModelTransport.pipe(Effect.provide(layer)))
      assert.strictEqual(asked, "https://api.deepseek.com/beta/chat/completions")
    }))
})

describe("DeepSeek.layerConfig", () => {
  const withEnv = (env: Record<string, string>) =>
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(env))

  it.effect("takes key and address from the environment", () =>
    Effect.gen(function*() {
      const server = yield* serve(events(...settled))
      const env = { DEEPSEEK_API_KEY: apiKey, DEEPSEEK_BASE_URL: server.url }
      const context = yield* Layer.build(DeepSeek.layerConfig({ model: "m" })).pipe(withEnv(env))
      const transport = yield* ModelTransport.pipe(Effect.provide(context))
      assert.strictEqual((yield* attempt(transport)).error, undefined)
      assert.strictEqual(server.received[0]!.headers.authorization, `Bearer ${apiKey}`)
      assert.notInclude(JSON.stringify(transport.settings), apiKey)
    }))

  it.effect("fails without a key, and with an address that is none", () =>
    Effect.gen(function*() {
      const missing = yield* Effect.flip(Layer.build(DeepSeek.layerConfig()).pipe(withEnv({})))
      assert.strictEqual(missing._tag, "ConfigError")
      const bad = yield* Effect.flip(
        Layer.build(DeepSeek.layerConfig()).pipe(withEnv({ DEEPSEEK_API_KEY: apiKey, DEEPSEEK_BASE_URL: "nowhere" }))
      )
      assert.strictEqual(bad._tag, "InvalidDeepSeekOption")
    }))
})
