/**
 * The seam to a model: one attempt at one request, as a stream of typed parts or a typed error.
 *
 * A transport makes one attempt. Retries belong to `RetryPolicy`, which sees the error's `retryable` and `retryAfter`.
 * `encode` is a pure function, so that the bytes of any request can be made again from the journal.
 */
import { Context, Duration, Option, Schema, type Stream } from "effect"
import type { TokenUsage, ToolDefinition } from "../journal/SessionEvent.ts"
import type { Message } from "./Message.ts"

/** The part of a request that does not move: system text, tool table and the model's settings. */
export interface RequestHeader {
  readonly system: string
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly settings: { readonly [key: string]: Schema.Json }
}

/** `tail` is one user message after the history, for this request only. */
export interface ModelRequest {
  readonly header: RequestHeader
  readonly messages: ReadonlyArray<Message>
  readonly tail: string | null
}

export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter"

/**
 * What a model sends. `Text`, `Reasoning` and `ToolInput` are fragments as they arrive; `ToolCall` is one complete call
 * with its arguments as the model wrote them, sent only when the stream has terminated it; `Finish` is last.
 */
export type ModelPart =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Reasoning"; readonly text: string }
  | { readonly _tag: "ToolInput"; readonly index: number; readonly name: string; readonly text: string }
  | {
    readonly _tag: "ToolCall"
    readonly id: string
    readonly name: string
    readonly arguments: string
    /** What the model wrote, where the transport had to mend it. */
    readonly received?: string
  }
  | { readonly _tag: "Usage"; readonly usage: TokenUsage }
  | { readonly _tag: "Finish"; readonly reason: FinishReason }

/** Why an attempt failed. The names are those of the reasons of `effect/ai`'s `AiError`, and `ContextLength` beside them. */
export const TransportReason = Schema.Literals([
  "NetworkError",
  "RateLimitError",
  "QuotaExhaustedError",
  "AuthenticationError",
  "ContentPolicyError",
  "InvalidRequestError",
  "InternalProviderError",
  "InvalidOutputError",
  "UnknownError",
  "ContextLength"
])
export type TransportReason = typeof TransportReason.Type

/**
 * One attempt failed. `code` names the case within the reason (`idle`, `truncated`, `empty`, `reset` …); `retryAfter` is
 * how long the server asked to wait. `message` never holds a key or a header.
 */
export class TransportError extends Schema.TaggedError<TransportError>()("TransportError", {
  reason: TransportReason,
  code: Schema.String,
  detail: Schema.String,
  retryable: Schema.Boolean,
  status: Schema.optionalKey(Schema.Int),
  retryAfterMillis: Schema.optionalKey(Schema.Natural)
}) {
  override get message() {
    return `${this.reason} (${this.code}): ${this.detail}`
  }
  get retryAfter(): Option.Option<Duration.Duration> {
    return Option.map(Option.fromUndefinedOr(this.retryAfterMillis), Duration.millis)
  }
}

/** What a vendor's adapter implements. */
export class ModelTransport extends Context.Service<ModelTransport, {
  /** Vendor and protocol, for people: `deepseek`. */
  readonly name: string
  /** The version of `encode`; it changes whenever the bytes for the same request would. */
  readonly encoding: string
  /** Model name, output limit, thinking and the like; part of the header and so of the journal. */
  readonly settings: { readonly [key: string]: Schema.Json }
  /** The body of the request, byte for byte. Pure; what it keeps of a message, it keeps by the message's identity. */
  readonly encode: (request: ModelRequest) => Uint8Array
  /** One attempt. Interrupting the stream closes the connection. It ends with `Finish` or fails. */
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, TransportError>
}>()("@holdfast/core/ModelTransport") {}
