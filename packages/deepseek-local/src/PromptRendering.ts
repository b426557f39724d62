import type { ChatMessage, ChatRequest, ReasoningEffort, WireToolCall } from "./Protocol.ts"
import { textOf } from "./Protocol.ts"
import { pythonJson } from "./PythonJson.ts"

/**
 * A piece of a rendered prompt. `fixed` stands for a passage of DeepSeek's own that is the same in every prompt (the
 * instructions around the tools, the text for an effort): only its position and its length matter for counts and
 * for the cache, so the passage itself is not in this package.
 */
export type Segment =
  | { readonly text: string }
  | { readonly fixed: string; readonly tokens: number; readonly bytes: number }

/** What a reply puts into the context; also how an assistant message of the history is rendered. */
export interface RenderedReply {
  readonly reasoning?: string
  readonly content?: string
  readonly toolCalls?: ReadonlyArray<{ readonly name: string; readonly arguments: string }>
}

/**
 * The lengths that differ between model generations. Those of V4-Flash-0731 were counted with the published
 * tokenizer and agree with the `prompt_tokens` that the live API reported for known prompts.
 */
export interface PromptTemplate {
  readonly name: string
  readonly effort: Readonly<Record<ReasoningEffort, { readonly tokens: number; readonly bytes: number }>>
  readonly block: string
  readonly invoke: string
  readonly parameter: string
  /** The instructions between the heading of the tools and their schemas. */
  readonly instructions: { readonly tokens: number; readonly bytes: number }
  /** One token before the head of the prompt and before every later system message; V4 has none. */
  readonly systemMarker: boolean
}

/** DeepSeek-V4 as published with the open weights. */
export const v4: PromptTemplate = {
  name: "v4",
  effort: { low: { tokens: 0, bytes: 0 }, high: { tokens: 79, bytes: 476 }, max: { tokens: 92, bytes: 528 } },
  block: "tool_calls",
  invoke: "invoke",
  parameter: "parameter",
  instructions: { tokens: 200, bytes: 880 },
  systemMarker: false
}

/**
 * DeepSeek-V4.1, from its published encoding. Its effort texts are short and all of the same length. No counts of the live
 * API for known prompts were found, so these are as good as that encoding.
 */
export const v41: PromptTemplate = {
  name: "v4.1",
  effort: { low: { tokens: 25, bytes: 91 }, high: { tokens: 25, bytes: 91 }, max: { tokens: 25, bytes: 92 } },
  block: " calls",
  invoke: " invoke",
  parameter: " parameter",
  instructions: { tokens: 190, bytes: 874 },
  systemMarker: true
}

const bos = "<｜begin▁of▁sentence｜>"
const eos = "<｜end▁of▁sentence｜>"
const user = "<｜User｜>"
const assistant = "<｜Assistant｜>"
const dsml = "｜DSML｜"

const parseArguments = (text: string): ReadonlyArray<readonly [string, unknown]> => {
  if (text === "") return []
  try {
    const value: unknown = JSON.parse(text)
    if (value === null) return []
    if (typeof value === "object" && !Array.isArray(value)) return Object.entries(value)
  } catch {
    // A history with broken arguments reaches this point only in lenient mode; its bytes still count.
  }
  return [["arguments", text]]
}

/** Tool calls in the model's own notation, with the arguments re-encoded: their JSON whitespace is not in the prompt. */
export const renderToolCalls = (
  calls: ReadonlyArray<{ readonly name: string; readonly arguments: string }>,
  template: PromptTemplate = v4
): string => {
  if (calls.length === 0) return ""
  const rendered = calls.map((call) => {
    const parameters = parseArguments(call.arguments).map(([key, value]) =>
      `<${dsml}${template.parameter} name="${key}" string="${typeof value === "string"}">` +
      `${typeof value === "string" ? value : pythonJson(value)}</${dsml}${template.parameter}>`
    )
    return `<${dsml}${template.invoke} name="${call.name}">\n${parameters.join("\n")}\n</${dsml}${template.invoke}>`
  })
  return `\n\n<${dsml}${template.block}>\n${rendered.join("\n")}\n</${dsml}${template.block}>`
}

/** What the model has written when it finished this reply, the end-of-sentence token not counted. */
export const renderReply = (
  reply: RenderedReply,
  thinking: boolean,
  template: PromptTemplate = v4
): ReadonlyArray<Segment> => {
  const answer = (reply.content ?? "") + renderToolCalls(reply.toolCalls ?? [], template)
  const segments: Array<Segment> = []
  if (thinking) {
    if (reply.reasoning) segments.push({ text: reply.reasoning })
    segments.push({ text: "</think>" })
  }
  if (answer !== "") segments.push({ text: answer })
  return segments
}

type Item =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly blocks: Array<{ readonly call: string | undefined; readonly text: string }> }
  | {
    readonly role: "assistant"
    readonly reasoning: string
    readonly content: string
    readonly calls: ReadonlyArray<WireToolCall>
    readonly open: boolean
  }

/** Tool results become part of a user block; neighbouring assistant messages become one turn. */
const toItems = (messages: ReadonlyArray<ChatMessage>): ReadonlyArray<Item> => {
  const items: Array<Item> = []
  for (const message of messages) {
    const previous = items[items.length - 1]
    if (message.role === "system") {
      items.push({ role: "system", text: textOf(message) })
    } else if (message.role === "assistant") {
      const next = {
        role: "assistant",
        reasoning: message.reasoning_content ?? "",
        content: textOf(message),
        calls: message.tool_calls ?? [],
        open: message.prefix === true
      } as const
      if (previous?.role === "assistant") {
        items[items.length - 1] = {
          ...next,
          reasoning: [previous.reasoning, next.reasoning].filter((text) => text !== "").join("\n\n"),
          content: [previous.content, next.content].filter((text) => text !== "").join("\n\n"),
          calls: [...previous.calls, ...next.calls]
        }
      } else items.push(next)
    } else {
      const block = message.role === "tool"
        ? { call: message.tool_call_id ?? "", text: `<tool_result>${textOf(message, "\n\n")}</tool_result>` }
        : { call: undefined, text: textOf(message) }
      if (previous?.role === "user") previous.blocks.push(block)
      else items.push({ role: "user", blocks: [block] })
    }
  }
  return items
}

/** Results are rendered in the order of the calls, whatever order the request has them in. */
const blockText = (item: Extract<Item, { role: "user" }>, calls: ReadonlyArray<WireToolCall>): string => {
  const order = new Map(calls.map((call, index) => [call.id, index]))
  const results = item.blocks.filter((block) => block.call !== undefined)
    .sort((a, b) => (order.get(a.call ?? "") ?? 0) - (order.get(b.call ?? "") ?? 0))
  let next = 0
  return item.blocks.map((block) => block.call === undefined ? block.text : results[next++]?.text ?? "").join("\n\n")
}

/** Counted as the one token that it is in V4.1's vocabulary; the published V4 vocabulary would split it. */
const marker: Segment = { fixed: "system-marker", tokens: 1, bytes: 12 }

const head = (request: ChatRequest, template: PromptTemplate, hasSystem: boolean): Array<Segment> => {
  const segments: Array<Segment> = [{ text: bos }]
  const effort = template.effort[request.effort]
  const thinks = request.thinking && effort.tokens > 0
  if (template.systemMarker && (thinks || hasSystem)) segments.push(marker)
  if (thinks) segments.push({ fixed: `effort-${template.name}-${request.effort}`, ...effort })
  return segments
}

const toolSegments = (request: ChatRequest, template: PromptTemplate): ReadonlyArray<Segment> => {
  const segments: Array<Segment> = []
  if (request.tools.length > 0 && request.toolChoice !== "none") {
    segments.push(
      { text: "\n\n## Tools\n\n" },
      { fixed: `instructions-${template.name}`, ...template.instructions },
      { text: `${request.tools.map((tool) => pythonJson(tool.function)).join("\n")}\n\n` },
      { fixed: "tools-after", tokens: 18, bytes: 97 }
    )
  }
  if (request.responseFormat === "json_object") {
    segments.push({ text: "\n\n" }, { fixed: "response-format", tokens: 15, bytes: 80 }, {
      text: pythonJson({ type: "json_object" })
    })
  }
  return segments
}

/**
 * The prompt that a request becomes, in the encoding published with the open weights: begin token, text of the effort,
 * system text, tools, history, opening of the reply. It decides both the token count and what a prefix cache can reuse:
 * tool call ids, message names and sampling parameters are not in it; the effort is at its very start; the tools stand
 * between the system text and the history, and are gone with `tool_choice: "none"`; earlier reasoning is in it
 * only if the request carries tools.
 *
 * @example renderPrompt(request).map((segment) => "text" in segment ? segment.text : `[${segment.fixed}]`).join("")
 */
export const renderPrompt = (request: ChatRequest, template: PromptTemplate = v4): ReadonlyArray<Segment> => {
  const items = toItems(request.messages)
  const keepReasoning = request.tools.length > 0 && request.toolChoice !== "none"
  const lastUser = items.findLastIndex((item, index) =>
    item.role === "user" || (template.systemMarker && item.role === "system" && index > 0)
  )
  const [opening, ...rest] = toolSegments(request, template)
  const first = items[0]
  const segments = head(request, template, first?.role === "system" || opening !== undefined)
  const push = (text: string): void => {
    if (text !== "") segments.push({ text })
  }
  // The system text and the heading after it are one run of text for the tokenizer.
  push((first?.role === "system" ? first.text : "") + (opening !== undefined && "text" in opening ? opening.text : ""))
  segments.push(...rest)
  let calls: ReadonlyArray<WireToolCall> = []
  items.forEach((item, index) => {
    const following = items[index + 1]
    if (item.role === "system") {
      if (index > 0) {
        if (template.systemMarker) segments.push(marker)
        push(item.text)
      }
      if (following !== undefined && following.role !== "assistant") return
    } else if (item.role === "user") {
      push(user)
      push(blockText(item, calls))
      if (following !== undefined && following.role !== "assistant") return
    } else {
      calls = item.calls
      const thought = request.thinking && (keepReasoning || index > lastUser)
      const reply = {
        reasoning: item.reasoning,
        content: item.content,
        toolCalls: item.calls.map((call) => call.function)
      }
      for (const segment of renderReply(reply, thought, template)) segments.push(segment)
      if (!item.open) push(eos)
      return
    }
    push(assistant)
    push(request.thinking && (keepReasoning || index >= lastUser) ? "<think>" : "</think>")
  })
  return segments
}
