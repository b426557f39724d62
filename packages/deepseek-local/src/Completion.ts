import { createHash } from "node:crypto"
import type { Fault } from "./Faults.ts"
import { findFault } from "./Faults.ts"
import type { PromptTemplate } from "./PromptRendering.ts"
import { renderReply, renderToolCalls } from "./PromptRendering.ts"
import type { FinishReason } from "./Protocol.ts"
import { pythonJson } from "./PythonJson.ts"
import type { ParsedRequest, Reply } from "./Scenario.ts"
import type { Tokenizer } from "./Tokenizer.ts"

/** A call as it goes over the wire; a fault can take away its id or its index. */
export interface CompletionCall {
  readonly id: string | undefined
  readonly index: number | undefined
  readonly name: string
  readonly arguments: string
}

/** A reply with everything decided: ids, argument text, cut at `max_tokens`, faults of the model applied. */
export interface Completion {
  readonly thinking: boolean
  readonly reasoning: string
  readonly content: string
  readonly calls: ReadonlyArray<CompletionCall>
  readonly finishReason: FinishReason
}

/** Letters and digits that depend only on the parts, for ids that are the same in every run. */
export const stableId = (length: number, ...parts: ReadonlyArray<string | number>): string => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
  const digest = createHash("sha512").update(parts.join("/")).digest()
  return Array.from({ length }, (_, index) => alphabet[(digest[index] ?? 0) % alphabet.length]).join("")
}

/** The longest prefix of a text that has at most so many tokens. */
const take = (tokenizer: Tokenizer, text: string, limit: number): string => {
  const pieces = tokenizer.pieces(text)
  let low = 0
  let high = pieces.length
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const count = tokenizer.tokenise([{ text: pieces.slice(0, middle).join("") }]).length
    if (count <= limit) low = middle
    else high = middle - 1
  }
  return pieces.slice(0, low).join("")
}

/** `max_tokens` caps reasoning and answer together, reasoning first: a long thought starves the answer. */
const cut = (completion: Completion, tokenizer: Tokenizer, template: PromptTemplate, maximum: number): Completion => {
  const tokens = (text: string): number => text === "" ? 0 : tokenizer.tokenise([{ text }]).length
  const whole = tokenizer.tokenise(renderReply(
    { reasoning: completion.reasoning, content: completion.content, toolCalls: completion.calls },
    completion.thinking,
    template
  ))
  if (whole.length <= maximum) return completion
  let left = maximum
  const spend = (text: string): string => {
    const kept = left > 0 ? take(tokenizer, text, left) : ""
    left -= tokens(kept)
    return kept
  }
  const reasoning = spend(completion.reasoning)
  if (completion.thinking) left -= tokens("</think>")
  const content = spend(completion.content)
  const calls: Array<CompletionCall> = []
  for (const call of completion.calls) {
    const cost = tokens(renderToolCalls([call], template))
    if (left >= cost) calls.push(call)
    else {
      // The frame around the arguments costs as much as a call without any.
      left -= tokens(renderToolCalls([{ name: call.name, arguments: "" }], template))
      if (left > 0) calls.push({ ...call, arguments: spend(call.arguments) })
      break
    }
    left -= cost
  }
  return { ...completion, reasoning, content, calls, finishReason: "length" }
}

const mapArguments = (
  completion: Completion,
  change: (call: CompletionCall, index: number) => string
): Completion => ({
  ...completion,
  calls: completion.calls.map((call, index) => ({ ...call, arguments: change(call, index) }))
})

const parseObject = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {}
  } catch {
    return {}
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const optionalParameters = (request: ParsedRequest, tool: string): ReadonlyArray<string> => {
  const parameters = request.tools.find((item) => item.function.name === tool)?.function["parameters"]
  if (!isRecord(parameters) || !isRecord(parameters["properties"])) return []
  const required = Array.isArray(parameters["required"]) ? parameters["required"] : []
  return Object.keys(parameters["properties"]).filter((name) => !required.includes(name))
}

const leak = (completion: Completion, template: PromptTemplate, variant: string): Completion => {
  let markup = renderToolCalls(completion.calls, template)
  if (variant === "v4.1") markup = markup.replaceAll(/(｜DSML｜)(tool_)?(calls|invoke|parameter)/g, "｜$1｜ $3")
  if (variant === "double-bar") markup = markup.replaceAll("｜DSML｜", "‖DSML‖")
  if (variant === "plain-bar") markup = markup.replaceAll("｜", "|")
  return { ...completion, content: completion.content + markup, calls: [], finishReason: "stop" }
}

const applyFault = (
  completion: Completion,
  fault: Fault,
  request: ParsedRequest,
  template: PromptTemplate
): Completion => {
  const withCalls = (change: (call: CompletionCall, index: number) => Partial<CompletionCall>): Completion => ({
    ...completion,
    calls: completion.calls.map((call, index) => ({ ...call, ...change(call, index) }))
  })
  switch (fault.type) {
    case "markup-leak":
      return leak(completion, template, fault.variant ?? "v4")
    case "brace-missing":
      return mapArguments(completion, (call) => call.arguments.replace(/\}$/, ""))
    case "brace-extra":
      return mapArguments(completion, (call) => `${call.arguments}}`)
    case "brace-early":
      return mapArguments(completion, (call) => call.arguments.replace(/", "/, "\"}, \""))
    case "arguments-cut":
      return mapArguments(
        completion,
        (call) => call.arguments.slice(0, fault.at ?? Math.floor(call.arguments.length / 2))
      )
    case "arrays-as-strings":
      return mapArguments(completion, (call) =>
        pythonJson(Object.fromEntries(
          Object.entries(parseObject(call.arguments)).map(([key, value]) => [
            key,
            Array.isArray(value) ? pythonJson(value) : value
          ])
        )))
    case "placeholders":
      return mapArguments(completion, (call) =>
        pythonJson({
          ...Object.fromEntries(
            optionalParameters(request, call.name).map((name) => [name, fault.value === undefined ? null : fault.value])
          ),
          ...parseObject(call.arguments)
        }))
    case "text-lost":
      return { ...completion, content: completion.content.replace(/\s?\S+\s*$/u, "") }
    case "reasoning-only":
      return { ...completion, content: "", calls: [], finishReason: "stop" }
    case "empty":
      return { ...completion, reasoning: "", content: "", calls: [], finishReason: "stop" }
    case "id-empty":
      return withCalls(() => ({ id: "" }))
    case "id-blank":
      return withCalls(() => ({ id: " " }))
    case "id-missing":
      return withCalls(() => ({ id: undefined }))
    case "id-repeated":
      return withCalls(() => ({ id: completion.calls[0]?.id }))
    case "index-missing":
      return withCalls(() => ({ index: undefined }))
    case "index-shifted":
      return withCalls((_, index) => ({ index: index + 1 }))
    case "index-reused":
      return withCalls(() => ({ index: 0 }))
    default:
      return completion
  }
}

/**
 * Decides a scripted reply for one request: what exactly is said, with which ids, and how it ends.
 *
 * @param idSeed what the ids of calls are derived from, so that equal requests get equal ids
 */
export const complete = (
  request: ParsedRequest,
  reply: Reply,
  faults: ReadonlyArray<Fault>,
  context: { readonly tokenizer: Tokenizer; readonly template: PromptTemplate; readonly idSeed: string }
): Completion => {
  const scripted = reply.toolCalls ?? []
  const calls = scripted.map((call, index): CompletionCall => ({
    id: call.id ?? `call_${String(index).padStart(2, "0")}_${stableId(24, context.idSeed, index)}`,
    index,
    name: call.name,
    arguments: typeof call.arguments === "string" ? call.arguments : pythonJson(call.arguments)
  }))
  const whole: Completion = {
    thinking: request.thinking,
    reasoning: request.thinking ? reply.reasoning ?? "" : "",
    content: reply.content ?? "",
    calls,
    finishReason: reply.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop")
  }
  const limited = request.maxTokens === undefined
    ? whole
    : cut(whole, context.tokenizer, context.template, request.maxTokens)
  return faults.reduce((result, fault) => applyFault(result, fault, request, context.template), limited)
}

/** Whether the reasoning of a stream is to be interrupted by empty lists of calls. */
export const splitsReasoning = (faults: ReadonlyArray<Fault>): boolean =>
  findFault(faults, "reasoning-split") !== undefined
