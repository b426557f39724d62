/**
 * The same failure in two vocabularies: `TransportError` here, `AiError` in `effect/ai`.
 *
 * Reasons map one to one where both know them. What `AiError` has no field for travels in its metadata, under
 * `holdfast`, so that a way there and back loses nothing.
 */
import { TransportError, TransportReason } from "@holdfast/core"
import { Duration, Option, Schema } from "effect"
import { AiError } from "effect/ai"
import { isContextLength, redact } from "./Classify.ts"

/** A `TransportError` as it travels in metadata. */
const Carried = Schema.Struct({
  reason: TransportReason,
  code: Schema.String,
  detail: Schema.String,
  retryable: Schema.Boolean,
  status: Schema.optionalKey(Schema.Int),
  retryAfterMillis: Schema.optionalKey(Schema.Natural)
})
const decodeCarried = Schema.decodeUnknownOption(Carried)

const reasonOf = (error: TransportError): AiError.AiErrorReason => {
  const { code, detail, reason, retryable } = error
  const carried = {
    reason,
    code,
    detail,
    retryable,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.retryAfterMillis === undefined ? {} : { retryAfterMillis: error.retryAfterMillis })
  }
  const metadata = { holdfast: carried }
  const described = { description: `${code}: ${detail}`, metadata }
  switch (reason) {
    case "NetworkError":
      // It has no metadata, so the error itself is its cause. Its retryable kind is named `TransportError`.
      return new AiError.NetworkError({
        reason: retryable ? "TransportError" : "InvalidUrlError",
        method: "POST",
        url: "model transport",
        description: described.description,
        cause: error
      })
    case "RateLimitError":
      return new AiError.RateLimitError({
        metadata,
        ...(error.retryAfterMillis === undefined ? {} : { retryAfter: Duration.millis(error.retryAfterMillis) })
      })
    case "QuotaExhaustedError":
      return new AiError.QuotaExhaustedError({ metadata })
    case "AuthenticationError":
      return new AiError.AuthenticationError({
        kind: code === "forbidden" ? "InsufficientPermissions" : "InvalidKey",
        ...described
      })
    case "ContentPolicyError":
      return new AiError.ContentPolicyError(described)
    case "InvalidRequestError":
    case "ContextLength":
      return new AiError.InvalidRequestError(described)
    case "InternalProviderError":
      return new AiError.InternalProviderError(described)
    case "InvalidOutputError":
      return new AiError.InvalidOutputError(described)
    case "UnknownError":
      return new AiError.UnknownError(described)
  }
}

/** A transport's failure for callers of `effect/ai`. */
export const toAiError = (error: TransportError, method: string): AiError.AiError =>
  AiError.make({ module: "Holdfast", method, reason: reasonOf(error) })

const names: { readonly [tag in AiError.AiErrorReason["_tag"]]: TransportReason } = {
  NetworkError: "NetworkError",
  RateLimitError: "RateLimitError",
  QuotaExhaustedError: "QuotaExhaustedError",
  AuthenticationError: "AuthenticationError",
  ContentPolicyError: "ContentPolicyError",
  InvalidRequestError: "InvalidRequestError",
  InternalProviderError: "InternalProviderError",
  InvalidOutputError: "InvalidOutputError",
  UnknownError: "UnknownError",
  InvalidResponseError: "InvalidOutputError",
  StructuredOutputError: "InvalidOutputError",
  UnsupportedSchemaError: "InvalidRequestError",
  ToolNotFoundError: "InvalidOutputError",
  ToolParameterValidationError: "InvalidOutputError",
  InvalidToolResultError: "InvalidRequestError",
  ToolResultEncodingError: "InvalidRequestError",
  ToolConfigurationError: "InvalidRequestError",
  ToolkitRequiredError: "InvalidRequestError",
  InvalidUserInputError: "InvalidRequestError"
}

const codeOf = (tag: string): string =>
  tag.replace(/Error$/, "").replace(/[A-Z]/g, (letter, at: number) => (at === 0 ? "" : "-") + letter.toLowerCase())

/** A failure of an `effect/ai` provider for the harness. */
export const fromAiError = (error: AiError.AiError): TransportError => {
  const { reason } = error
  const carried = decodeCarried("metadata" in reason ? reason.metadata.holdfast : undefined)
  if (Option.isSome(carried)) return new TransportError(carried.value)
  if (reason._tag === "NetworkError" && reason.cause instanceof TransportError) return reason.cause
  const detail = redact("description" in reason ? reason.description ?? reason.message : reason.message, [])
  if (reason._tag === "InvalidRequestError" && isContextLength(detail)) {
    return new TransportError({ reason: "ContextLength", code: "context-length", detail, retryable: false })
  }
  return new TransportError({
    reason: names[reason._tag],
    code: codeOf(reason._tag),
    detail,
    retryable: error.isRetryable,
    ...(error.retryAfter === undefined
      ? {}
      : { retryAfterMillis: Math.max(0, Math.ceil(Duration.toMillis(error.retryAfter))) })
  })
}
