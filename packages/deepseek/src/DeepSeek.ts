/**
 * The transport to the DeepSeek API, on the `openai` client.
 *
 * It makes one attempt per request, streams typed parts, and turns every failure into a `TransportError` that says
 * whether another attempt makes sense. It never retries, never runs a tool and never keeps a conversation.
 */
import { type ModelRequest, ModelTransport, TransportError } from "@holdfast/core"
import { Config, Effect, Layer, Option, Stream } from "effect"
import OpenAI from "openai"
import { encode, encoding } from "./Encoding.ts"
import { joinLimiter } from "./Limiter.ts"
import { type InvalidDeepSeekOption, type Options, resolve } from "./Options.ts"
import { reply, type ReplyOptions } from "./Reply.ts"
import { fromHeader } from "./Settings.ts"

export { type Effort, InvalidDeepSeekOption, type Options } from "./Options.ts"

/** The client's own timeout ends with the headers and would only get in the way of the watchdogs: as long as timers go. */
const noTimeout = 2 ** 31 - 1

/** The body of a request and the limit in it, or the error of a header that is not ours. */
const prepare = (request: ModelRequest): Effect.Effect<readonly [Uint8Array, number], TransportError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed([encode(request), fromHeader(request.header.settings).maxTokens] as const)
    } catch (cause) {
      return cause instanceof TransportError ? Effect.fail(cause) : Effect.die(cause)
    }
  })

const make = Effect.fnUntraced(function*(options: Options) {
  const resolved = yield* Effect.fromResult(resolve(options))
  const client = new OpenAI({
    apiKey: resolved.key,
    baseURL: resolved.baseURL,
    // Retries belong to the harness; two layers of them multiply.
    maxRetries: 0,
    timeout: noTimeout,
    logLevel: "off",
    // Else these come from environment variables meant for another vendor.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null
  })
  const attempt: ReplyOptions = {
    client,
    key: resolved.key,
    fetch: resolved.fetch,
    assembly: { usage: resolved.profile.usage, leakedMarkup: resolved.leakedMarkup },
    timeouts: resolved.timeouts,
    limiter: yield* joinLimiter(resolved.key, resolved.baseURL, resolved.limits),
    limits: resolved.limits
  }
  return ModelTransport.of({
    name: resolved.profile.name,
    encoding,
    settings: resolved.settings,
    encode,
    stream: (request) =>
      Stream.unwrap(Effect.map(prepare(request), ([body, maxTokens]) => reply(body, maxTokens, attempt))).pipe(
        Stream.withSpan("DeepSeek.stream", { kind: "client", attributes: { model: resolved.settings.model } })
      )
  })
})

/**
 * A `ModelTransport` for the DeepSeek API or an endpoint like it.
 *
 * Fails with `InvalidDeepSeekOption` if an option is wrong.
 *
 * @example
 * const Model = layer({ apiKey: Redacted.make("sk-…"), model: "deepseek-flash", effort: "max" })
 */
export const layer = (options: Options): Layer.Layer<ModelTransport, InvalidDeepSeekOption> =>
  Layer.effect(ModelTransport, make(options))

/**
 * The same, with the key from `DEEPSEEK_API_KEY` and, if it is set, the address from `DEEPSEEK_BASE_URL`. An address in
 * the options wins over the variable.
 *
 * @example
 * const Model = layerConfig({ model: "deepseek-v4-pro" })
 */
export const layerConfig = (
  options: Omit<Options, "apiKey"> = {}
): Layer.Layer<ModelTransport, InvalidDeepSeekOption | Config.ConfigError> =>
  Layer.effect(
    ModelTransport,
    Effect.gen(function*() {
      const apiKey = yield* Config.Redacted("DEEPSEEK_API_KEY")
      const baseURL = yield* Config.option(Config.NonEmptyString("DEEPSEEK_BASE_URL"))
      return yield* make({
        ...(Option.isSome(baseURL) ? { baseURL: baseURL.value } : {}),
        ...options,
        apiKey
      })
    })
  )
