/**
 * Whatever can go wrong between here and the server, as a `TransportError`.
 *
 * Statuses and texts are those of the DeepSeek API; other servers of the protocol use the same. No key and no header is
 * ever in the result.
 */
import { TransportError, type TransportReason } from "@holdfast/core"
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai"

/** What classification needs to know: the wall clock for dates, and what must not be shown. */
export interface ClassifyContext {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly secrets: ReadonlyArray<string>
}

/** Longest detail of an error, in characters: room for every documented text, none for an HTML page. */
const detailLimit = 800

const bearer = /\b(bearer\s+|authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s,;"'}]+/gi
const key = /\bsk-[A-Za-z0-9_-]{8,}/g

/** A text without the secrets: the key wherever it stands, bearer tokens, and what looks like a key. */
export const redact = (text: string, secrets: ReadonlyArray<string>): string => {
  let out = text
  for (const secret of secrets) if (secret !== "") out = out.replaceAll(secret, "[redacted]")
  out = out.replace(bearer, "$1[redacted]").replace(key, "[redacted]")
  return out.length > detailLimit ? `${out.slice(0, detailLimit)}…` : out
}

/**
 * How long a server asks to wait, in milliseconds: `Retry-After` in seconds or as a date, or `retry-after-ms`.
 *
 * @example
 * retryAfter(new Headers({ "retry-after": "3" }), Date.now()) // 3000
 */
export const retryAfter = (headers: Headers | undefined, now: number): number | undefined => {
  const millis = headers?.get("retry-after-ms")?.trim()
  if (millis !== undefined && /^\d+(\.\d+)?$/.test(millis)) return Math.ceil(Number(millis))
  const value = headers?.get("retry-after")?.trim()
  if (value === undefined || value === "") return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil(at - now))
}

interface ErrorBody {
  readonly message?: unknown
  readonly code?: unknown
  readonly type?: unknown
}

interface Kind {
  readonly reason: TransportReason
  readonly code: string
  readonly retryable: boolean
}

const kind = (reason: TransportReason, code: string, retryable = false): Kind => ({ reason, code, retryable })

const contextLength = kind("ContextLength", "context-length")

/** Whether a refusal says that the request is longer than the model's context. */
export const isContextLength = (text: string): boolean =>
  /maximum context length|context[_ ]length[_ ]exceeded|context window|prompt is too long/i.test(text)

/** Kinds that the text tells and the status does not. */
const byText = (text: string): Kind | undefined => {
  if (isContextLength(text)) return contextLength
  if (/content exists risk|content[_ ]policy|content_filter/i.test(text)) {
    return kind("ContentPolicyError", "content-policy")
  }
  if (/insufficient[_ ](balance|quota)/i.test(text)) return kind("QuotaExhaustedError", "insufficient-balance")
  return undefined
}

const byStatus = (status: number, text: string): Kind => {
  switch (status) {
    case 400:
    case 422:
      return byText(text) ?? kind("InvalidRequestError", status === 400 ? "bad-request" : "unprocessable")
    case 401:
      return kind("AuthenticationError", "unauthorized")
    case 402:
      return kind("QuotaExhaustedError", "insufficient-balance")
    case 403:
      return kind("AuthenticationError", "forbidden")
    case 404:
      return kind("InvalidRequestError", "not-found")
    case 408:
      return kind("NetworkError", "timeout", true)
    case 409:
      return kind("InternalProviderError", "conflict", true)
    case 413:
      return kind("ContextLength", "too-large")
    case 429:
      return byText(text) ?? kind("RateLimitError", "rate-limit", true)
    case 501:
    case 505:
      return kind("InternalProviderError", "unsupported")
    case 503:
    case 529:
      return kind("InternalProviderError", "overloaded", true)
  }
  if (status >= 500) return kind("InternalProviderError", "server", true)
  return kind("UnknownError", `status-${status}`)
}

const statusOfType: { readonly [type: string]: number } = {
  authentication_error: 401,
  invalid_request_error: 400,
  rate_limit_error: 429,
  overloaded_error: 503
}

/** An error object inside a stream has no status; its code or type may stand for one. */
const byBody = (body: ErrorBody, text: string): Kind => {
  const code = typeof body.code === "string" || typeof body.code === "number" ? Number(body.code) : Number.NaN
  if (code >= 400 && code < 600) return byStatus(code, text)
  const status = statusOfType[String(body.type)] ?? statusOfType[String(body.code)]
  if (status !== undefined) return byStatus(status, text)
  return byText(text) ?? kind("InternalProviderError", "stream-error", true)
}

const causes: { readonly [code: string]: Kind } = {
  ECONNREFUSED: kind("NetworkError", "refused", true),
  ENOTFOUND: kind("NetworkError", "dns", true),
  EAI_AGAIN: kind("NetworkError", "dns", true),
  ECONNRESET: kind("NetworkError", "reset", true),
  EPIPE: kind("NetworkError", "reset", true),
  UND_ERR_SOCKET: kind("NetworkError", "reset", true),
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: kind("NetworkError", "reset", true),
  ETIMEDOUT: kind("NetworkError", "timeout", true),
  UND_ERR_CONNECT_TIMEOUT: kind("NetworkError", "timeout", true),
  UND_ERR_HEADERS_TIMEOUT: kind("NetworkError", "timeout", true),
  UND_ERR_BODY_TIMEOUT: kind("NetworkError", "timeout", true)
}

/** The first error code in a chain of causes; some runtimes put several errors in `errors`. */
const codeOf = (cause: unknown): string | undefined => {
  let value = cause
  for (let depth = 0; depth < 8 && value !== null && typeof value === "object"; depth++) {
    const node = value as { readonly code?: unknown; readonly cause?: unknown; readonly errors?: unknown }
    if (typeof node.code === "string" && node.code !== "") return node.code
    value = node.cause ?? (Array.isArray(node.errors) ? node.errors[0] : undefined)
  }
  return undefined
}

const network = (code: string | undefined): Kind => {
  if (code === undefined) return kind("NetworkError", "connection", true)
  // A certificate does not become good by asking again.
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/.test(code)) return kind("NetworkError", "tls")
  return causes[code] ?? kind("NetworkError", "connection", true)
}

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/** What a failed request or a broken stream means. `whileReading`: the reply had begun. */
export const classify = (cause: unknown, context: ClassifyContext, whileReading = false): TransportError => {
  if (cause instanceof TransportError) return cause
  const make = (
    found: Kind,
    text: string,
    more: { readonly status?: number; readonly retryAfterMillis?: number } = {}
  ) => new TransportError({ ...found, ...more, detail: redact(text, context.secrets) })
  if (cause instanceof APIConnectionTimeoutError) return make(kind("NetworkError", "timeout", true), cause.message)
  if (cause instanceof APIConnectionError) {
    const code = codeOf(cause.cause)
    return make(network(code), code === undefined ? cause.message : `${cause.message} (${code})`)
  }
  if (cause instanceof APIError) {
    const body = (cause.error ?? {}) as ErrorBody
    const said = typeof body.message === "string" ? body.message : cause.message
    const text = `${said} ${String(body.code ?? "")} ${String(body.type ?? "")}`
    const request = typeof cause.requestID === "string" ? ` [request ${cause.requestID}]` : ""
    const after = retryAfter(cause.headers, context.now)
    const more = after === undefined ? {} : { retryAfterMillis: after }
    return typeof cause.status === "number"
      ? make(byStatus(cause.status, text), said + request, { status: cause.status, ...more })
      : make(byBody(body, text), said)
  }
  if (cause instanceof SyntaxError) {
    return make(kind("InvalidOutputError", "malformed", true), "the stream contains an event that is not JSON")
  }
  const code = codeOf(cause)
  if (code !== undefined || whileReading) {
    return make(code === undefined ? kind("NetworkError", "reset", true) : network(code), messageOf(cause))
  }
  return make(kind("UnknownError", "unknown"), messageOf(cause))
}

/** What a reply with status 200 means that is no event stream; `text` is its beginning. */
export const classifyPlain = (text: string, context: ClassifyContext): TransportError => {
  const make = (found: Kind, detail: string) =>
    new TransportError({ ...found, detail: redact(detail, context.secrets) })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return make(
      kind("InvalidOutputError", "not-a-stream", true),
      `the server sent no event stream: ${text.slice(0, 200)}`
    )
  }
  const error = value !== null && typeof value === "object" ? (value as { readonly error?: unknown }).error : undefined
  if (error !== undefined && error !== null) {
    const body = (typeof error === "object" ? error : { message: error }) as ErrorBody
    const said = String(body.message ?? "the server sent an error without a message")
    return make(byBody(body, said), said)
  }
  return Array.isArray((value as { readonly choices?: unknown } | null)?.choices)
    ? make(kind("InvalidOutputError", "not-a-stream"), "the server ignored `stream` and sent a whole reply")
    : make(kind("InvalidOutputError", "no-choices", true), "the reply has no choices")
}
