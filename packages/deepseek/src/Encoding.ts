/**
 * A request as the bytes of its body.
 *
 * The bytes are a function of the request alone and have a version. What was encoded once is kept: the header and the
 * messages after it in one growing buffer per header object, each message by its identity. A step therefore costs the
 * encoding of what is new in it and one copy of the buffer. `messages` is the last key of the body, so that the bytes of
 * a conversation only ever grow at the end.
 */
import {
  type AssistantMessage,
  canonicalJson,
  type Message,
  type ModelRequest,
  type RequestHeader
} from "@holdfast/core"
import { fromHeader, type Settings } from "./Settings.ts"
import { isStrictSchema } from "./StrictSchema.ts"

/** The version of {@link encode}: it changes whenever the bytes for the same request would. */
export const encoding = "deepseek-chat/1"

const utf8 = new TextEncoder()
const end = utf8.encode("]}")

/** History that calls with broken arguments would make every later request fail: the server parses them again. */
const validArguments = (text: string): string => {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === "object" && !Array.isArray(value) ? text : "{}"
  } catch {
    return "{}"
  }
}

const assistant = (message: AssistantMessage, withReasoning: boolean) => ({
  role: "assistant",
  // Never null: a null without tool calls is refused.
  content: message.text,
  // Present even if empty: the server checks that the key is there.
  ...(withReasoning ? { reasoning_content: message.reasoning } : {}),
  ...(message.calls.length > 0
    ? {
      tool_calls: message.calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.name, arguments: validArguments(call.arguments) }
      }))
    }
    : {})
})

const wire = (message: Message, withReasoning: boolean, tail: string) => {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.text + tail }
    case "assistant":
      return assistant(message, withReasoning)
    case "tool":
      return { role: "tool", tool_call_id: message.call, content: message.text + tail }
  }
}

const json = (value: unknown): Uint8Array => utf8.encode(`,${JSON.stringify(value)}`)

const plainPieces = new WeakMap<Message, Uint8Array>()
const reasoningPieces = new WeakMap<Message, Uint8Array>()

const piece = (message: Message, withReasoning: boolean): Uint8Array => {
  const pieces = withReasoning && message.role === "assistant" ? reasoningPieces : plainPieces
  let bytes = pieces.get(message)
  if (bytes === undefined) {
    bytes = json(wire(message, withReasoning, ""))
    pieces.set(message, bytes)
  }
  return bytes
}

const tools = (header: RequestHeader, settings: Settings) =>
  header.tools.map((tool) => ({
    type: "function",
    function: {
      name: tool.name,
      description: tool.description,
      parameters: canonicalJson(tool.parameters),
      ...(settings.strict && isStrictSchema(tool.parameters) ? { strict: true } : {})
    }
  }))

const headText = (header: RequestHeader, settings: Settings): string => {
  const body = {
    model: settings.model,
    [settings.maxTokensField]: settings.maxTokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(settings.thinking === null ? {} : { thinking: { type: settings.thinking } }),
    ...(settings.effort === null ? {} : { reasoning_effort: settings.effort }),
    ...(settings.json ? { response_format: { type: "json_object" } } : {}),
    ...(settings.userId === null ? {} : { user_id: settings.userId }),
    ...canonicalJson(settings.extra) as object,
    ...(header.tools.length === 0 ? {} : { tools: tools(header, settings) })
  }
  const system = header.system === "" ? "" : JSON.stringify({ role: "system", content: header.system })
  return `${JSON.stringify(body).slice(0, -1)},"messages":[${system}`
}

/** The bytes of a header and of the messages that followed it when it was last sent. */
class Prefix {
  readonly settings: Settings
  readonly withReasoning: boolean
  /** Whether an element of `messages` stands before the history, so that its first message needs a comma. */
  readonly system: boolean
  readonly messages: Array<Message> = []
  /** Where each message of `messages` ends in `bytes`. */
  readonly ends: Array<number> = []
  readonly head: number
  bytes: Uint8Array

  constructor(header: RequestHeader) {
    this.settings = fromHeader(header.settings)
    this.system = header.system !== ""
    this.withReasoning = this.settings.reasoning === "always" ||
      (this.settings.reasoning === "with-tools" && this.settings.thinking === "enabled" && header.tools.length > 0)
    this.bytes = utf8.encode(headText(header, this.settings))
    this.head = this.bytes.length
  }

  get length(): number {
    return this.ends.length === 0 ? this.head : this.ends[this.ends.length - 1]!
  }

  /** Makes the buffer hold the first `count` of `messages`, from the first message that differs from the last request. */
  hold(messages: ReadonlyArray<Message>, count: number): void {
    let same = 0
    const known = Math.min(this.messages.length, count)
    while (same < known && this.messages[same] === messages[same]) same++
    this.messages.length = same
    this.ends.length = same
    for (let i = same; i < count; i++) {
      const message = messages[i]!
      this.append(piece(message, this.withReasoning))
      this.messages.push(message)
    }
  }

  private append(withComma: Uint8Array): void {
    const bytes = this.separated(withComma)
    const start = this.length
    const stop = start + bytes.length
    if (stop > this.bytes.length) {
      const grown = new Uint8Array(Math.max(stop, this.bytes.length * 2))
      grown.set(this.bytes.subarray(0, start))
      this.bytes = grown
    }
    this.bytes.set(bytes, start)
    this.ends.push(stop)
  }

  separated(withComma: Uint8Array): Uint8Array {
    return this.system || this.ends.length > 0 ? withComma : withComma.subarray(1)
  }
}

const prefixes = new WeakMap<RequestHeader, Prefix>()

const prefixOf = (header: RequestHeader): Prefix => {
  let prefix = prefixes.get(header)
  if (prefix === undefined) {
    prefix = new Prefix(header)
    prefixes.set(header, prefix)
  }
  return prefix
}

/**
 * The body of a request.
 *
 * Throws a `TransportError` (code `settings`) if the header's settings are not those of this transport.
 */
export const encode = (request: ModelRequest): Uint8Array => {
  const prefix = prefixOf(request.header)
  const { messages, tail } = request
  const last = messages[messages.length - 1]
  const into = tail !== null && prefix.settings.tail === "in-last-message" && last !== undefined &&
      last.role !== "assistant"
    ? last
    : undefined
  prefix.hold(messages, into === undefined ? messages.length : messages.length - 1)
  const closing = tail === null
    ? undefined
    : prefix.separated(
      json(into === undefined ? { role: "user", content: tail } : wire(into, prefix.withReasoning, `\n\n${tail}`))
    )
  const length = prefix.length
  const body = new Uint8Array(length + (closing?.length ?? 0) + end.length)
  body.set(prefix.bytes.subarray(0, length))
  if (closing !== undefined) body.set(closing, length)
  body.set(end, body.length - end.length)
  return body
}
