/**
 * The wire types of DeepSeek's chat completions, as far as the stand-in reads or writes them.
 *
 * @see https://api-docs.deepseek.com/api/create-chat-completion
 */

/** One part of a message whose content is a list. */
export interface ContentPart {
  readonly type: string
  readonly text?: string
}

/** A tool call as an assistant message carries it; `arguments` is JSON text, not a value. */
export interface WireToolCall {
  readonly id: string
  readonly type: "function"
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A message of the request, in the four roles that DeepSeek accepts. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool"
  readonly content?: string | null | ReadonlyArray<ContentPart>
  readonly reasoning_content?: string | null
  readonly tool_calls?: ReadonlyArray<WireToolCall>
  readonly tool_call_id?: string
  readonly name?: string
  /** Last assistant message only: the reply continues it (chat prefix completion). */
  readonly prefix?: boolean
}

/** A tool declaration; what is inside `function` is rendered into the prompt key by key, in the order sent. */
export interface WireTool {
  readonly type: "function"
  readonly function: { readonly name: string; readonly [key: string]: unknown }
}

/** `auto` is the default; `none` also removes the tools from the prompt, and so resets the prefix cache. */
export type ToolChoice = "none" | "auto" | "required" | { readonly function: { readonly name: string } }

/** How long the model is told to think; part of the first tokens of the prompt. */
export type ReasoningEffort = "low" | "high" | "max"

/** A request after validation, with DeepSeek's defaults filled in. */
export interface ChatRequest {
  readonly model: string
  readonly messages: ReadonlyArray<ChatMessage>
  readonly tools: ReadonlyArray<WireTool>
  readonly toolChoice: ToolChoice
  /** On unless the request says `thinking: { type: "disabled" }`. */
  readonly thinking: boolean
  readonly effort: ReasoningEffort
  readonly responseFormat: "text" | "json_object"
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly maxTokens: number | undefined
  readonly userId: string
}

/** Token accounting of one request. Hit and miss add up to the prompt. */
export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number }
  /** Absent when thinking is off. */
  readonly completion_tokens_details?: { readonly reasoning_tokens: number }
  readonly prompt_cache_hit_tokens: number
  readonly prompt_cache_miss_tokens: number
}

/** Why a reply ended, in DeepSeek's words. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "insufficient_system_resource"

/** The names that the API accepts; the third and fourth are older names of the first (DeepSeek's change log). */
export const models: ReadonlyArray<string> = [
  "deepseek-flash",
  "deepseek-v4-pro",
  "deepseek-v4-flash",
  "deepseek-v4-flash-vision-exp"
]

/** The model that serves a name: older names share the cache of the one they stand for. */
export const canonicalModel = (name: string): string => name.startsWith("deepseek-v4-flash") ? "deepseek-flash" : name

/** The text of a message, whether its content is a string, parts or missing. */
export const textOf = (message: ChatMessage, separator = ""): string => {
  const content = message.content
  if (typeof content === "string") return content
  if (content === null || content === undefined) return ""
  return content.map((part) => part.type === "text" ? part.text ?? "" : "<｜deepseek_image｜>").join(separator)
}
