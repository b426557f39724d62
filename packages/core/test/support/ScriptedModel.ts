/** A model that answers by a function of the request, and a record of every request that it got. */
import { Effect, Layer, Stream } from "effect"
import { type Message, type ModelPart, type ModelRequest, ModelTransport, TransportError } from "../../src/index.ts"

export interface Reply {
  readonly text?: string
  readonly reasoning?: string
  readonly calls?: ReadonlyArray<readonly [name: string, args: unknown]>
  readonly finish?: "stop" | "tool-calls" | "length" | "content-filter"
  /** Runs before the reply streams: a place for a test to act in the middle of a request. */
  readonly before?: Effect.Effect<void>
  readonly error?: TransportError
  /** Streams its text and then never ends. */
  readonly hang?: boolean
}

export type Script = (request: ModelRequest, n: number) => Reply

export interface ScriptedModel {
  readonly requests: Array<ModelRequest>
  readonly bodies: Array<string>
  readonly layer: Layer.Layer<ModelTransport>
}

const wire = (message: Message) =>
  message.role === "user"
    ? { role: "user", content: message.text }
    : message.role === "tool"
    ? { role: "tool", tool_call_id: message.call, content: message.text }
    : { role: "assistant", content: message.text, reasoning: message.reasoning, calls: message.calls }

/** The body of a request, as this transport writes it. */
export const bodyOf = (request: ModelRequest): string =>
  JSON.stringify({
    header: request.header,
    messages: [
      ...request.messages.map(wire),
      ...(request.tail === null ? [] : [{ role: "user", content: request.tail }])
    ]
  })

export const scriptedModel = (script: Script): ScriptedModel => {
  const requests: Array<ModelRequest> = []
  const bodies: Array<string> = []
  const parts = (reply: Reply): ReadonlyArray<ModelPart> => [
    ...(reply.reasoning === undefined ? [] : [{ _tag: "Reasoning" as const, text: reply.reasoning }]),
    ...(reply.text === undefined ? [] : [...reply.text].map((text) => ({ _tag: "Text" as const, text }))),
    ...(reply.calls ?? []).map(([name, args], i) => ({
      _tag: "ToolCall" as const,
      id: `provider-${i}`,
      name,
      arguments: typeof args === "string" ? args : JSON.stringify(args)
    }))
  ]
  return {
    requests,
    bodies,
    layer: Layer.succeed(ModelTransport, {
      name: "scripted",
      encoding: "scripted/1",
      settings: { model: "scripted" },
      encode: (request) => new TextEncoder().encode(bodyOf(request)),
      stream: (request) =>
        Stream.unwrap(Effect.gen(function*() {
          requests.push(request)
          bodies.push(bodyOf(request))
          const reply = script(request, requests.length - 1)
          if (reply.before !== undefined) yield* reply.before
          if (reply.error !== undefined) return Stream.fail(reply.error)
          const streamed = Stream.fromIterable(parts(reply))
          if (reply.hang === true) return Stream.concat(streamed, Stream.never)
          return Stream.concat(
            streamed,
            Stream.fromIterable<ModelPart>([
              { _tag: "Usage", usage: { prompt: 100, hit: 64, miss: 36, completion: 10, reasoning: 0 } },
              { _tag: "Finish", reason: reply.finish ?? ((reply.calls ?? []).length > 0 ? "tool-calls" : "stop") }
            ])
          )
        }))
    })
  }
}

export const serverError = (options: Partial<TransportError> = {}): TransportError =>
  new TransportError({
    reason: "InternalProviderError",
    code: "500",
    detail: "server error",
    retryable: true,
    ...options
  })

/** Plays replies in order; the last one again and again. */
export const inOrder = (...replies: ReadonlyArray<Reply>): Script => (_, n) => replies[Math.min(n, replies.length - 1)]!
