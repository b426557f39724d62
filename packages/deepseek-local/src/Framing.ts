import type { Completion, CompletionCall } from "./Completion.ts"
import type { Usage } from "./Protocol.ts"

/** What all frames of one answer share. */
export interface FrameHead {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
}

/** How the frames of one stream look. */
export interface FrameOptions extends FrameHead {
  /** `stream_options.include_usage`: then every frame has a `usage` key, null except in the last. */
  readonly includeUsage: boolean
  readonly usage: Usage | undefined
  readonly trailingUsage: boolean
  readonly finish: boolean
  readonly splitReasoning: boolean
  readonly pieces: (text: string) => ReadonlyArray<string>
}

const fingerprint = "fp_holdfast_local"

const wireCall = (call: CompletionCall): object => ({
  ...(call.index === undefined ? {} : { index: call.index }),
  ...(call.id === undefined ? {} : { id: call.id }),
  type: "function",
  function: { name: call.name, arguments: "" }
})

/**
 * The frames of a stream, in DeepSeek's order (reasoning, content, calls) and one token in each: `data:` lines with
 * their empty line, `[DONE]` not included.
 */
export function* frames(completion: Completion, options: FrameOptions): Generator<string> {
  const start = `data: {"id":${JSON.stringify(options.id)},"object":"chat.completion.chunk",` +
    `"created":${options.created},"model":${JSON.stringify(options.model)},"system_fingerprint":"${fingerprint}",` +
    `"choices":[{"index":0,"delta":`
  const tail = options.includeUsage ? `],"usage":null}\n\n` : `]}\n\n`
  const end = `,"logprobs":null,"finish_reason":null}${tail}`
  const { thinking } = completion
  yield start + (thinking
    ? `{"role":"assistant","content":null,"reasoning_content":""}`
    : `{"role":"assistant","content":""}`) +
    end
  let count = 0
  for (const piece of options.pieces(completion.reasoning)) {
    yield `${start}{"content":null,"reasoning_content":${JSON.stringify(piece)}}${end}`
    count += 1
    if (options.splitReasoning && count % 3 === 0) yield `${start}{"tool_calls":[]}${end}`
  }
  const contentEnd = thinking ? `,"reasoning_content":null}${end}` : `}${end}`
  for (const piece of options.pieces(completion.content)) {
    yield `${start}{"content":${JSON.stringify(piece)}${contentEnd}`
  }
  for (const call of completion.calls) {
    const index = call.index === undefined ? "" : `"index":${call.index},`
    yield `${start}${JSON.stringify({ tool_calls: [wireCall(call)] })}${end}`
    for (const piece of options.pieces(call.arguments)) {
      yield `${start}{"tool_calls":[{${index}"function":{"arguments":${JSON.stringify(piece)}}}]}${end}`
    }
  }
  const reason = options.finish ? JSON.stringify(completion.finishReason) : "null"
  const usage = options.usage === undefined ? "null" : JSON.stringify(options.usage)
  const lastUsage = options.trailingUsage ? "null" : usage
  yield `${start}{"content":""${thinking ? `,"reasoning_content":null` : ""}},"logprobs":null,` +
    `"finish_reason":${reason}}],"usage":${lastUsage}}\n\n`
  if (options.trailingUsage) {
    yield `data: {"id":${JSON.stringify(options.id)},"object":"chat.completion.chunk","created":${options.created},` +
      `"model":${
        JSON.stringify(options.model)
      },"system_fingerprint":"${fingerprint}","choices":[],"usage":${usage}}\n\n`
  }
}

/** The body of an answer that is not streamed. */
export const plainBody = (
  completion: Completion,
  head: FrameHead,
  usage: Usage | undefined,
  withChoices = true
): string => {
  const message = {
    role: "assistant",
    content: completion.content,
    ...(completion.thinking ? { reasoning_content: completion.reasoning } : {}),
    ...(completion.calls.length === 0 ? {} : {
      tool_calls: completion.calls.map((call) => ({
        ...wireCall(call),
        function: { name: call.name, arguments: call.arguments }
      }))
    })
  }
  return JSON.stringify({
    id: head.id,
    object: "chat.completion",
    created: head.created,
    model: head.model,
    ...(withChoices
      ? { choices: [{ index: 0, message, logprobs: null, finish_reason: completion.finishReason }] }
      : {}),
    ...(usage === undefined ? {} : { usage }),
    system_fingerprint: fingerprint
  })
}
