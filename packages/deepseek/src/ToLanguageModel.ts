/**
 * Any `ModelTransport` as a `LanguageModel` of `effect/ai`, for programs that are written against that.
 *
 * It is a bridge for text, reasoning and tools: files in a prompt and a forced tool choice are refused, because the
 * transport has no words for them. Tools run as `effect/ai` runs them, outside any gate of the harness.
 */
import {
  type Message,
  type ModelPart,
  type ModelRequest,
  ModelTransport,
  type TokenUsage,
  type ToolDefinition
} from "@holdfast/core"
import { Array as Arr, Effect, Layer, type Schema, Stream } from "effect"
import { AiError, IdGenerator, LanguageModel, Prompt, type Response, Tool } from "effect/ai"
import { toAiError } from "./AiErrors.ts"
import { objectInstruction } from "./texts.ts"

const refuse = (method: string, description: string): AiError.AiError =>
  AiError.make({ module: "Holdfast", method, reason: new AiError.InvalidRequestError({ description }) })

const joined = (parts: ReadonlyArray<Prompt.Part>, type: "text" | "reasoning"): string =>
  parts.map((part) => part.type === type ? (part as Prompt.TextPart).text : "").join("")

const resultText = (part: Prompt.ToolResultPart): string => {
  if (part.modelOutput !== undefined) return Prompt.toolModelOutputToText(part.modelOutput)
  return typeof part.result === "string" ? part.result : JSON.stringify(part.result) ?? ""
}

const toolResults = (parts: ReadonlyArray<Prompt.Part>): ReadonlyArray<Message> =>
  parts.flatMap((part): ReadonlyArray<Message> =>
    part.type === "tool-result" ? [{ role: "tool", call: part.id, name: part.name, text: resultText(part) }] : []
  )

const toMessages = (message: Prompt.Message): ReadonlyArray<Message> => {
  switch (message.role) {
    case "system":
      return []
    case "user":
      return [{ role: "user", text: joined(message.content, "text"), source: { kind: "user" } }]
    case "assistant":
      return [
        {
          role: "assistant",
          text: joined(message.content, "text"),
          reasoning: joined(message.content, "reasoning"),
          calls: message.content.flatMap((part) =>
            part.type === "tool-call"
              ? [{ id: part.id, name: part.name, arguments: JSON.stringify(part.params) ?? "{}" }]
              : []
          )
        },
        ...toolResults(message.content)
      ]
    case "tool":
      return toolResults(message.content)
  }
}

const toDefinition = (tool: Tool.Any): ToolDefinition => ({
  name: tool.name,
  description: Tool.getDescription(tool) ?? "",
  parameters: Tool.getJsonSchema(tool) as unknown as Schema.Json
})

const toRequest = (
  options: LanguageModel.ProviderOptions,
  settings: ModelRequest["header"]["settings"],
  method: string
): Effect.Effect<ModelRequest, AiError.AiError> => {
  const { prompt, responseFormat, toolChoice, tools } = options
  const files = prompt.content.some((message) =>
    message.role !== "system" && message.content.some((part) => part.type === "file")
  )
  if (files) return Effect.fail(refuse(method, "this model takes no files"))
  const forced = typeof toolChoice === "object"
    ? !("oneOf" in toolChoice) || toolChoice.mode === "required"
    : toolChoice === "required"
  if (forced) return Effect.fail(refuse(method, "this model cannot be made to call a tool"))
  if (tools.some(Tool.isProviderDefined)) return Effect.fail(refuse(method, "this model has no tools of its own"))
  const system = prompt.content.flatMap((message) => message.role === "system" ? [message.content] : [])
  const wantsObject = responseFormat.type === "json"
  if (wantsObject) {
    system.push(objectInstruction(JSON.stringify(Tool.getJsonSchemaFromSchema(responseFormat.schema))))
  }
  return Effect.succeed({
    header: {
      system: system.join("\n\n"),
      tools: toolChoice === "none" ? [] : tools.map(toDefinition),
      settings: wantsObject && "json" in settings ? { ...settings, json: true } : settings
    },
    messages: prompt.content.flatMap(toMessages),
    tail: null
  })
}

const paramsOf = (text: string): unknown => {
  if (text.trim() === "") return {}
  try {
    return JSON.parse(text)
  } catch {
    // Not an object: the check of the parameters refuses it, and nothing is run in its place.
    return text
  }
}

const toUsage = (usage: TokenUsage | undefined): Response.FinishPartEncoded["usage"] => ({
  inputTokens: { total: usage?.prompt, cacheRead: usage?.hit, uncached: usage?.miss, cacheWrite: undefined },
  outputTokens: {
    total: usage?.completion,
    reasoning: usage?.reasoning,
    text: usage === undefined ? undefined : Math.max(0, usage.completion - usage.reasoning)
  }
})

/** Turns the parts of one reply; `id` makes its ids unique. */
const makeTranslator = (id: string) => {
  const inputs: Array<{ readonly name: string; used: boolean }> = []
  let open: { readonly type: "text" | "reasoning"; readonly id: string } | undefined
  let blocks = 0
  let usage: TokenUsage | undefined

  const close = (out: Array<Response.StreamPartEncoded>) => {
    if (open !== undefined) out.push({ type: `${open.type}-end`, id: open.id })
    open = undefined
  }
  const fragment = (type: "text" | "reasoning", delta: string, out: Array<Response.StreamPartEncoded>) => {
    if (open?.type !== type) {
      close(out)
      open = { type, id: `${id}_${type}_${blocks++}` }
      out.push({ type: `${type}-start`, id: open.id })
    }
    out.push({ type: `${type}-delta`, id: open.id, delta })
  }
  /** A call carries no index, so it is the first of its name that is not yet taken. */
  const callId = (name: string): string => {
    const at = inputs.findIndex((input) => input.name === name && !input.used)
    if (at !== -1) {
      inputs[at]!.used = true
      return `${id}_call_${at}`
    }
    inputs.push({ name, used: true })
    return `${id}_call_${inputs.length - 1}`
  }

  return (part: ModelPart, out: Array<Response.StreamPartEncoded>): void => {
    switch (part._tag) {
      case "Text":
        return fragment("text", part.text, out)
      case "Reasoning":
        return fragment("reasoning", part.text, out)
      case "ToolInput": {
        const call = `${id}_call_${part.index}`
        if (inputs[part.index] === undefined) {
          close(out)
          inputs[part.index] = { name: part.name, used: false }
          out.push({ type: "tool-params-start", id: call, name: part.name })
        }
        if (part.text !== "") out.push({ type: "tool-params-delta", id: call, delta: part.text })
        return
      }
      case "ToolCall": {
        close(out)
        const call = callId(part.name)
        out.push({ type: "tool-params-end", id: call })
        out.push({ type: "tool-call", id: call, name: part.name, params: paramsOf(part.arguments) })
        return
      }
      case "Usage":
        usage = part.usage
        return
      case "Finish":
        close(out)
        out.push({ type: "finish", reason: part.reason, usage: toUsage(usage), response: undefined })
    }
  }
}

const streamOf = (
  transport: ModelTransport["Service"],
  options: LanguageModel.ProviderOptions,
  method: string
): Stream.Stream<Response.StreamPartEncoded, AiError.AiError, IdGenerator.IdGenerator> =>
  Stream.unwrap(Effect.gen(function*() {
    const request = yield* toRequest(options, transport.settings, method)
    const generator = yield* IdGenerator.IdGenerator
    const translate = makeTranslator(yield* generator.generateId())
    return transport.stream(request).pipe(
      Stream.mapError((error) => toAiError(error, method)),
      Stream.chunks,
      Stream.map((parts) => {
        const out: Array<Response.StreamPartEncoded> = []
        for (const part of parts) translate(part, out)
        return out
      }),
      Stream.filter(Arr.isArrayNonEmpty),
      Stream.flattenArray
    )
  }))

const collect = (parts: ReadonlyArray<Response.StreamPartEncoded>): Array<Response.PartEncoded> => {
  const out: Array<Response.PartEncoded> = []
  const texts = { text: "", reasoning: "" }
  for (const part of parts) {
    switch (part.type) {
      case "text-delta":
        texts.text += part.delta
        break
      case "reasoning-delta":
        texts.reasoning += part.delta
        break
      case "tool-call":
      case "finish":
        out.push(part)
    }
  }
  if (texts.text !== "") out.unshift({ type: "text", text: texts.text })
  if (texts.reasoning !== "") out.unshift({ type: "reasoning", text: texts.reasoning })
  return out
}

/**
 * A `LanguageModel` on whatever `ModelTransport` is provided. Failures are `AiError`s with the transport's reason.
 *
 * @example
 * const Model = layer.pipe(Layer.provide(DeepSeek.layerConfig()))
 * const answer = LanguageModel.generateText({ prompt: "Hello" }).pipe(Effect.provide(Model))
 */
export const layer: Layer.Layer<LanguageModel.LanguageModel, never, ModelTransport> = Layer.effect(
  LanguageModel.LanguageModel,
  Effect.gen(function*() {
    const transport = yield* ModelTransport
    return yield* LanguageModel.make({
      streamText: (options) => streamOf(transport, options, "streamText"),
      generateText: (options) => Effect.map(Stream.runCollect(streamOf(transport, options, "generateText")), collect)
    })
  })
)
