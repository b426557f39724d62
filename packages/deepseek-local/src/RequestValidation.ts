import type { ApiError } from "./ApiErrors.ts"
import { badRequest } from "./ApiErrors.ts"
import type { ChatMessage, ChatRequest, ReasoningEffort, ToolChoice, WireTool, WireToolCall } from "./Protocol.ts"
import { models, textOf } from "./Protocol.ts"

/** What the server insists on. */
export interface ValidationOptions {
  /**
   * `strict` (default): every rule that DeepSeek documents or was seen to enforce. `lenient`: without the rules that the
   * live API was also seen to let pass, or that only self-hosted servers enforce (missing `reasoning_content`, invalid
   * JSON in the arguments of earlier calls).
   */
  readonly mode?: "strict" | "lenient"
  /** Accepted model names; default: those of DeepSeek in autumn 2026. */
  readonly models?: ReadonlyArray<string>
}

/** A request with its defaults, or the error that the API answers with. */
export type ValidationResult =
  | { readonly ok: true; readonly request: ChatRequest }
  | { readonly ok: false; readonly error: ApiError }

interface Fields {
  readonly [key: string]: unknown
}

class Rejected extends Error {
  readonly error: ApiError
  constructor(error: ApiError) {
    super(error.message)
    this.error = error
  }
}

const reject = (message: string): never => {
  throw new Rejected(badRequest(message))
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "sequence" : typeof value === "object" ? "map" : typeof value

const show = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? "undefined"

const deserialise = (what: string): never => reject(`Failed to deserialize the JSON body into the target type: ${what}`)

const fields = (value: unknown, path: string): Fields =>
  isFields(value) ? value : deserialise(`${path}: invalid type: ${kindOf(value)}, expected a map`)

const list = (value: unknown, path: string): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value : deserialise(`${path}: invalid type: ${kindOf(value)}, expected a sequence`)

const text = (value: unknown, path: string): string =>
  typeof value === "string" ? value : deserialise(`${path}: invalid type: ${kindOf(value)}, expected a string`)

const toolCall = (value: unknown, path: string): WireToolCall => {
  const call = fields(value, path)
  const details = fields(call["function"], `${path}.function`)
  return {
    id: text(call["id"], `${path}.id`),
    type: "function",
    function: {
      name: text(details["name"], `${path}.function.name`),
      arguments: text(details["arguments"], `${path}.function.arguments`)
    }
  }
}

const content = (value: unknown, path: string): Exclude<ChatMessage["content"], undefined> => {
  if (value === undefined || value === null) return null
  if (typeof value === "string") return value
  return list(value, path).map((item, index) => {
    const part = fields(item, `${path}[${index}]`)
    const type = text(part["type"], `${path}[${index}].type`)
    return type === "text" ? { type, text: text(part["text"], `${path}[${index}].text`) } : { type }
  })
}

const message = (value: unknown, index: number): ChatMessage => {
  const path = `messages[${index}]`
  const raw = fields(value, path)
  const role = text(raw["role"], `${path}.role`)
  const body = content(raw["content"], `${path}.content`)
  switch (role) {
    case "system":
    case "user":
      if (body === null) deserialise(`${path}: missing field \`content\``)
      return { role, content: body }
    case "tool":
      if (body === null) deserialise(`${path}: missing field \`content\``)
      return { role, content: body, tool_call_id: text(raw["tool_call_id"], `${path}.tool_call_id`) }
    case "assistant": {
      const calls = raw["tool_calls"]
      const reasoning = raw["reasoning_content"]
      const parsed = calls === undefined || calls === null
        ? []
        : list(calls, `${path}.tool_calls`).map((call, at) => toolCall(call, `${path}.tool_calls[${at}]`))
      if (body === null && parsed.length === 0) {
        reject("Invalid assistant message: content or tool_calls must be set")
      }
      return {
        role,
        content: body,
        ...(typeof reasoning === "string" ? { reasoning_content: reasoning } : {}),
        ...(parsed.length > 0 ? { tool_calls: parsed } : {}),
        ...(raw["prefix"] === true ? { prefix: true } : {})
      }
    }
    default:
      return deserialise(
        `${path}.role: unknown variant \`${role}\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\``
      )
  }
}

const checkToolPairs = (messages: ReadonlyArray<ChatMessage>): void => {
  let waiting: Set<string> | undefined
  const settle = (): void => {
    if (waiting !== undefined && waiting.size > 0) {
      reject(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
          "(insufficient tool messages following tool_calls message)"
      )
    }
  }
  for (const item of messages) {
    if (item.role === "tool") {
      if (waiting === undefined || !waiting.delete(item.tool_call_id ?? "")) {
        reject("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
      }
      continue
    }
    settle()
    waiting = item.tool_calls === undefined ? undefined : new Set(item.tool_calls.map((call) => call.id))
  }
  settle()
}

const namePattern = /^[a-zA-Z0-9_-]+$/

const parseTools = (value: unknown): ReadonlyArray<WireTool> => {
  if (value === undefined || value === null) return []
  const items = list(value, "tools")
  if (items.length > 128) reject("Invalid 'tools': array too long. Expected an array with maximum length 128.")
  const tools = items.map((item, index): WireTool => {
    const tool = fields(item, `tools[${index}]`)
    if (tool["type"] !== "function") {
      deserialise(`tools[${index}].type: unknown variant \`${show(tool["type"])}\`, expected \`function\``)
    }
    const details = fields(tool["function"], `tools[${index}].function`)
    const name = text(details["name"], `tools[${index}].function.name`)
    if (!namePattern.test(name)) {
      reject(
        `Invalid 'tools[${index}].function.name': string does not match pattern. ` +
          `Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
      )
    }
    if (name.length > 64) {
      reject(`Invalid 'tools[${index}].function.name': string too long. Expected a string with maximum length 64.`)
    }
    return { type: "function", function: { ...details, name } }
  })
  if (new Set(tools.map((tool) => tool.function.name)).size < tools.length) reject("Tool names must be unique.")
  return tools
}

const parseToolChoice = (value: unknown): ToolChoice => {
  if (value === undefined || value === null) return "auto"
  if (value === "none" || value === "auto" || value === "required") return value
  const details = fields(fields(value, "tool_choice")["function"], "tool_choice.function")
  return { function: { name: text(details["name"], "tool_choice.function.name") } }
}

const efforts: ReadonlyMap<unknown, ReasoningEffort> = new Map([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "high"],
  ["high", "high"],
  ["xhigh", "high"],
  ["max", "max"],
  ["ultra", "max"]
])

const parseEffort = (value: unknown): ReasoningEffort => {
  if (value === undefined || value === null) return "high"
  return efforts.get(value) ?? deserialise(
    `reasoning_effort: unknown variant \`${show(value)}\`, expected one of \`low\`, \`high\`, \`max\``
  )
}

const parseMaxTokens = (value: unknown): number | undefined => {
  if (value === undefined || value === null) return undefined
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) {
    const kind = typeof value === "number" ? (Number.isInteger(value) ? "integer" : "floating point") : kindOf(value)
    return deserialise(`max_tokens: invalid value: ${kind} \`${show(value)}\`, expected u32`)
  }
  if (value < 1 || value > 393_216) reject("Invalid max_tokens value, the valid range of max_tokens is [1, 393216]")
  return value
}

const checkNumbers = (body: Fields): void => {
  if (body["n"] !== undefined && body["n"] !== null && body["n"] !== 1) {
    reject("Invalid n value (currently only n = 1 is supported)")
  }
  const temperature = body["temperature"]
  if (typeof temperature === "number" && (temperature < 0 || temperature > 2)) {
    reject("Invalid temperature value, the valid range of temperature is [0, 2]")
  }
  const stop = body["stop"]
  if (Array.isArray(stop) && stop.length > 16) {
    reject("Invalid 'stop': array too long. Expected an array with maximum length 16.")
  }
  const userId = body["user_id"]
  if (userId !== undefined && userId !== null && !/^[a-zA-Z0-9_-]{1,512}$/.test(text(userId, "user_id"))) {
    reject(
      "Invalid 'user_id': string does not match pattern. Expected a string that matches the pattern " +
        "'^[a-zA-Z0-9_-]{1,512}$'."
    )
  }
}

const checkHistory = (request: ChatRequest): void => {
  for (const item of request.messages) {
    if (item.role !== "assistant") continue
    if (request.thinking && request.tools.length > 0 && item.reasoning_content === undefined && item.prefix !== true) {
      reject("The `reasoning_content` in the thinking mode must be passed back to the API.")
    }
    for (const call of item.tool_calls ?? []) {
      try {
        if (call.function.arguments !== "") JSON.parse(call.function.arguments)
      } catch (cause) {
        reject(`Invalid arguments of tool call ${call.id}: ${cause instanceof Error ? cause.message : String(cause)}`)
      }
    }
  }
}

const validate = (value: unknown, options: ValidationOptions): ChatRequest => {
  const body = fields(value, "body")
  const model = text(body["model"], "model")
  const accepted = options.models ?? models
  const maxTokens = parseMaxTokens(body["max_tokens"])
  const messages = list(body["messages"], "messages").map(message)
  if (!accepted.includes(model)) {
    const names = accepted === models ? models.slice(0, 2) : accepted
    reject(`The supported API model names are ${names.join(", ")}, but you passed ${model}.`)
  }
  if (messages.length === 0) reject("Empty input messages")
  const tools = parseTools(body["tools"])
  const thinking = fields(body["thinking"] ?? {}, "thinking")["type"] !== "disabled"
  const toolChoice = parseToolChoice(body["tool_choice"])
  if (thinking && toolChoice !== "auto" && toolChoice !== "none") {
    reject("Thinking mode does not support this tool_choice")
  }
  checkNumbers(body)
  checkToolPairs(messages)
  const format = fields(body["response_format"] ?? {}, "response_format")["type"] ?? "text"
  if (format !== "text" && format !== "json_object") {
    deserialise(`response_format.type: unknown variant \`${show(format)}\`, expected \`text\` or \`json_object\``)
  }
  if (format === "json_object" && !messages.some((item) => /json/i.test(textOf(item)))) {
    reject("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")
  }
  const userId = body["user_id"]
  const request: ChatRequest = {
    model,
    messages,
    tools,
    toolChoice,
    thinking,
    effort: parseEffort(body["reasoning_effort"]),
    responseFormat: format === "json_object" ? format : "text",
    stream: body["stream"] === true,
    includeUsage: isFields(body["stream_options"]) && body["stream_options"]["include_usage"] === true,
    maxTokens,
    userId: typeof userId === "string" ? userId : ""
  }
  if (options.mode !== "lenient") checkHistory(request)
  return request
}

/**
 * Reads a request body as the API does: the request with its defaults, or the documented error.
 *
 * @example
 * const result = validateRequest(JSON.parse(body))
 * if (!result.ok) respond(result.error.status, errorBody(result.error))
 */
export const validateRequest = (body: unknown, options: ValidationOptions = {}): ValidationResult => {
  try {
    return { ok: true, request: validate(body, options) }
  } catch (cause) {
    if (cause instanceof Rejected) return { ok: false, error: cause.error }
    throw cause
  }
}
