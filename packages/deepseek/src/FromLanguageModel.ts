/**
 * Any `LanguageModel` of `effect/ai` as a `ModelTransport`, so that every provider of Effect serves the harness.
 *
 * The provider only generates: tool calls come back undone and unchecked, and the harness judges, asks and runs. A
 * provider's own request bytes are out of reach, so `encode` describes the request in a form of this bridge.
 */
import {
  canonicalJson,
  type Message,
  type ModelPart,
  type ModelRequest,
  ModelTransport,
  TransportError
} from "@holdfast/core"
import { Effect, Layer, type Schema, Stream } from "effect"
import { type AiError, LanguageModel, Prompt, type Response, Tool, Toolkit } from "effect/ai"
import { fromAiError } from "./AiErrors.ts"

/** The version of this bridge's `encode`. */
export const encoding = "effect-ai/1"

export interface FromLanguageModelOptions {
  /** For people: the provider. Default: `effect-ai`. */
  readonly name?: string
  /** What the journal keeps of the model's configuration, such as its name. The provider itself never sees it. */
  readonly settings?: { readonly [key: string]: Schema.Json }
}

const failure = (
  reason: TransportError["reason"],
  code: string,
  detail: string,
  retryable: boolean
): TransportError => new TransportError({ reason, code, detail, retryable })

const paramsOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

const toPrompt = (message: Message): Prompt.MessageEncoded => {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.text }
    case "assistant":
      return {
        role: "assistant",
        content: [
          ...(message.reasoning === "" ? [] : [{ type: "reasoning" as const, text: message.reasoning }]),
          ...(message.text === "" ? [] : [{ type: "text" as const, text: message.text }]),
          ...message.calls.map((call) => ({
            type: "tool-call" as const,
            id: call.id,
            name: call.name,
            params: paramsOf(call.arguments)
          }))
        ]
      }
    case "tool":
      return {
        role: "tool",
        content: [{ type: "tool-result", id: message.call, name: message.name, isFailure: false, result: message.text }]
      }
  }
}

const promptOf = (request: ModelRequest): Prompt.Prompt =>
  Prompt.make([
    ...(request.header.system === "" ? [] : [{ role: "system" as const, content: request.header.system }]),
    ...request.messages.map(toPrompt),
    ...(request.tail === null ? [] : [{ role: "user" as const, content: request.tail }])
  ])

const toolkitOf = (request: ModelRequest) =>
  Toolkit.make(
    ...request.header.tools.map((tool) =>
      Tool.dynamic(tool.name, {
        description: tool.description,
        parameters: tool.parameters as unknown as { readonly [key: string]: unknown }
      })
    )
  )

const count = (value: number | undefined): number => value === undefined || !(value > 0) ? 0 : Math.trunc(value)

const toUsage = (usage: Response.Usage): Extract<ModelPart, { readonly _tag: "Usage" }> => {
  const { inputTokens, outputTokens } = usage
  const prompt = count(inputTokens.total ?? count(inputTokens.uncached) + count(inputTokens.cacheRead))
  const hit = Math.min(prompt, count(inputTokens.cacheRead))
  return {
    _tag: "Usage",
    usage: {
      prompt,
      hit,
      miss: prompt - hit,
      completion: count(outputTokens.total ?? count(outputTokens.text) + count(outputTokens.reasoning)),
      reasoning: count(outputTokens.reasoning)
    }
  }
}

/** The parts that this bridge reads; others (files, sources, metadata) have no place in the harness. */
interface Part {
  readonly type: string
  readonly id?: string
  readonly name?: string
  readonly delta?: string
  readonly params?: unknown
  readonly providerExecuted?: boolean
  readonly reason?: Response.FinishReason
  readonly usage?: Response.Usage
  readonly error?: unknown
}

/** Turns the parts of one reply; calls wait for the finish, because only it says that they are complete. */
const makeTranslator = () => {
  const inputs = new Map<string, { readonly index: number; readonly name: string }>()
  const calls: Array<ModelPart> = []
  let said = false
  let finished = false

  const finish = (part: Part, out: Array<ModelPart>): TransportError | undefined => {
    finished = true
    const cut = part.reason === "length" || part.reason === "content-filter"
    if (part.usage !== undefined) out.push(toUsage(part.usage))
    switch (part.reason) {
      case "stop":
      case "tool-calls":
        if (!said && calls.length === 0) {
          return failure("InvalidOutputError", "empty", "the reply has neither text nor tool calls", true)
        }
        if (part.reason === "tool-calls" && calls.length === 0) {
          return failure("InvalidOutputError", "missing-calls", "the reply ended for tool calls but has none", true)
        }
        out.push(...calls)
        break
      case "length":
      case "content-filter":
        break
      case "error":
        return failure("InternalProviderError", "stream-error", "the provider ended the reply with an error", true)
      default:
        return failure("InvalidOutputError", "finish-reason", `unknown finish reason "${String(part.reason)}"`, false)
    }
    out.push({
      _tag: "Finish",
      reason: cut ? part.reason as "length" | "content-filter" : calls.length > 0 ? "tool-calls" : "stop"
    })
    return undefined
  }

  const push = (part: Part, out: Array<ModelPart>): TransportError | undefined => {
    switch (part.type) {
      case "text-delta":
        if (part.delta!.trim() !== "") said = true
        out.push({ _tag: "Text", text: part.delta! })
        return undefined
      case "reasoning-delta":
        out.push({ _tag: "Reasoning", text: part.delta! })
        return undefined
      case "tool-params-start": {
        if (part.providerExecuted === true) return undefined
        const input = { index: inputs.size, name: part.name! }
        inputs.set(part.id!, input)
        out.push({ _tag: "ToolInput", ...input, text: "" })
        return undefined
      }
      case "tool-params-delta": {
        const input = inputs.get(part.id!)
        if (input !== undefined) out.push({ _tag: "ToolInput", ...input, text: part.delta! })
        return undefined
      }
      case "tool-call":
        if (part.providerExecuted === true) return undefined
        calls.push({
          _tag: "ToolCall",
          id: part.id!,
          name: part.name!,
          arguments: typeof part.params === "string" ? part.params : JSON.stringify(part.params) ?? ""
        })
        return undefined
      case "error":
        return failure("InternalProviderError", "stream-error", String(part.error).slice(0, 500), true)
      case "finish":
        return finish(part, out)
      default:
        return undefined
    }
  }
  return {
    push,
    end: (): TransportError | undefined =>
      finished
        ? undefined
        : failure("NetworkError", "truncated", "the stream ended before the reply was complete", true)
  }
}

const stream = (
  model: LanguageModel.LanguageModel,
  request: ModelRequest
): Stream.Stream<ModelPart, TransportError> =>
  Stream.suspend(() => {
    const translator = makeTranslator()
    const parts = model.streamText({
      prompt: promptOf(request),
      toolkit: toolkitOf(request),
      disableToolCallResolution: true,
      toolCallValidation: "deferred"
    }) as Stream.Stream<Part, AiError.AiError>
    return parts.pipe(
      Stream.mapError(fromAiError),
      Stream.chunks,
      Stream.flatMap((batch) => {
        const out: Array<ModelPart> = []
        for (const part of batch) {
          const error = translator.push(part, out)
          // What came before the error is told before it.
          if (error !== undefined) return Stream.concat(Stream.fromArray(out), Stream.fail(error))
        }
        return Stream.fromArray(out)
      }),
      Stream.concat(Stream.suspend(() => {
        const error = translator.end()
        return error === undefined ? Stream.empty : Stream.fail(error)
      }))
    )
  })

const utf8 = new TextEncoder()

/**
 * A `ModelTransport` on whatever `LanguageModel` is provided. Failures carry the reason of the provider's `AiError`.
 *
 * @example
 * const Model = layer({ name: "other", settings: { model: "m-1" } }).pipe(Layer.provide(OtherProvider))
 */
export const layer = (
  options: FromLanguageModelOptions = {}
): Layer.Layer<ModelTransport, never, LanguageModel.LanguageModel> =>
  Layer.effect(
    ModelTransport,
    Effect.map(LanguageModel.LanguageModel, (model) =>
      ModelTransport.of({
        name: options.name ?? "effect-ai",
        encoding,
        settings: options.settings ?? {},
        encode: (request) => utf8.encode(JSON.stringify(canonicalJson(request as unknown as Schema.Json))),
        stream: (request) => stream(model, request)
      }))
  )
