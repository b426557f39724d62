import { deepseek } from "@holdfast/deepseek"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { retryAfter } from "../src/Classify.ts"
import { against, apiKey, chunk, events, type Handler, json, settled } from "./server.ts"

const error = (message: string, type = "invalid_request_error", code: string | null = "invalid_request_error") => ({
  error: { message, type, param: null, code }
})

const long = "This model's maximum context length is 1048565 tokens. However, you requested 1080073 tokens " +
  "(1080072 in the messages, 1 in the completion). Please reduce the length of the messages or completion."

/** status, body, and what becomes of it */
const rows: ReadonlyArray<readonly [number, unknown, string, string, boolean]> = [
  [
    400,
    error("The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed X."),
    "InvalidRequestError",
    "bad-request",
    false
  ],
  [400, error(long), "ContextLength", "context-length", false],
  [
    400,
    error("Invalid max_tokens value, the valid range of max_tokens is [1, 393216]"),
    "InvalidRequestError",
    "bad-request",
    false
  ],
  [
    400,
    error("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
    "InvalidRequestError",
    "bad-request",
    false
  ],
  [400, error("Tool names must be unique."), "InvalidRequestError", "bad-request", false],
  [400, error("Thinking mode does not support this tool_choice"), "InvalidRequestError", "bad-request", false],
  [400, error("Content Exists Risk"), "ContentPolicyError", "content-policy", false],
  [
    401,
    error("Authentication Fails, Your api key: ****robe is invalid", "authentication_error"),
    "AuthenticationError",
    "unauthorized",
    false
  ],
  [402, error("Insufficient Balance", "unknown_error"), "QuotaExhaustedError", "insufficient-balance", false],
  [403, error("no"), "AuthenticationError", "forbidden", false],
  [404, "<html>not found</html>", "InvalidRequestError", "not-found", false],
  [408, "", "NetworkError", "timeout", true],
  [409, error("conflict"), "InternalProviderError", "conflict", true],
  [413, "too large", "ContextLength", "too-large", false],
  [418, "teapot", "UnknownError", "status-418", false],
  [422, error("Invalid Parameters"), "InvalidRequestError", "unprocessable", false],
  [429, error("Rate Limit Reached"), "RateLimitError", "rate-limit", true],
  [
    429,
    error("You exceeded your quota", "insufficient_quota", "insufficient_quota"),
    "QuotaExhaustedError",
    "insufficient-balance",
    false
  ],
  [500, error("Server Error"), "InternalProviderError", "server", true],
  [501, error("not here"), "InternalProviderError", "unsupported", false],
  [502, "<html>Bad gateway</html>", "InternalProviderError", "server", true],
  [503, error("Server Overloaded"), "InternalProviderError", "overloaded", true]
]

describe("a refused request", () => {
  for (const [status, body, reason, code, retryable] of rows) {
    const said = typeof body === "string" ? body : (body as ReturnType<typeof error>).error.message
    it.effect(`${status} "${said.slice(0, 40)}" is ${reason} (${code}) and asked once`, () =>
      Effect.gen(function*() {
        const outcome = yield* against(json(status, body))
        assert.deepStrictEqual(
          [outcome.error?.reason, outcome.error?.code, outcome.error?.retryable, outcome.error?.status],
          [reason, code, retryable, status]
        )
        if (said !== "") assert.include(outcome.error!.detail, said)
        assert.strictEqual(outcome.server.received.length, 1)
      }))
  }

  it.effect("tells the id under which the server knows it", () =>
    Effect.gen(function*() {
      const { error: failed } = yield* against(json(500, error("Server Error"), { "x-request-id": "req-7" }))
      assert.include(failed!.detail, "req-7")
    }))

  it.effect("never shows the key, not even when the server repeats it", () =>
    Effect.gen(function*() {
      const message =
        `Your api key: ${apiKey} is bad; header was Authorization: Bearer ${apiKey}; also sk-abcdefgh12345678`
      for (
        const handler of [
          json(401, error(message)),
          json(500, message),
          events({ error: { message } }),
          json(200, error(message))
        ]
      ) {
        const { error: failed } = yield* against(handler)
        const shown = JSON.stringify(failed) + failed!.message + failed!.stack
        assert.notInclude(shown, apiKey)
        assert.notInclude(shown, "sk-abcdefgh")
        assert.include(failed!.detail, "[redacted]")
      }
    }))

  it.effect("is shortened when it is a page", () =>
    Effect.gen(function*() {
      const { error: failed } = yield* against(json(500, "x".repeat(100_000)))
      assert.isBelow(failed!.detail.length, 1000)
    }))
})

describe("Retry-After", () => {
  it.effect("case 159: comes as seconds, as a date, or in milliseconds", () =>
    Effect.gen(function*() {
      const millisOf = (headers: Record<string, string>) =>
        Effect.map(
          against(json(429, error("Rate Limit Reached"), headers)),
          (outcome) => outcome.error!.retryAfterMillis
        )
      assert.strictEqual(yield* millisOf({ "retry-after": "3" }), 3000)
      // The test's clock stands at the epoch.
      assert.strictEqual(yield* millisOf({ "retry-after": new Date(7000).toUTCString() }), 7000)
      assert.strictEqual(yield* millisOf({ "retry-after-ms": "250", "retry-after": "9" }), 250)
      assert.strictEqual(yield* millisOf({ "retry-after": "soon" }), undefined)
      assert.strictEqual(yield* millisOf({}), undefined)
      assert.strictEqual(yield* millisOf({ "retry-after": "3600" }), 3_600_000)
    }))

  it("is 0 for a date that has passed", () => {
    assert.strictEqual(retryAfter(new Headers({ "retry-after": new Date(0).toUTCString() }), 5000), 0)
  })
})

describe("a reply with status 200", () => {
  const codeOf = (handler: Handler) =>
    Effect.map(against(handler), ({ error: failed }) => [failed?.reason, failed?.code, failed?.retryable])

  it.effect("may still be an error, in JSON or in the stream", () =>
    Effect.gen(function*() {
      const overloaded = ["InternalProviderError", "overloaded", true]
      assert.deepStrictEqual(yield* codeOf(json(200, error(long))), ["ContextLength", "context-length", false])
      assert.deepStrictEqual(yield* codeOf(json(200, { error: "down" })), [
        "InternalProviderError",
        "stream-error",
        true
      ])
      assert.deepStrictEqual(
        yield* codeOf(events(chunk({ content: "a" }), error("busy", "overloaded_error", null))),
        overloaded
      )
      assert.deepStrictEqual(yield* codeOf(events({ error: { message: "m", code: 503 } })), overloaded)
      assert.deepStrictEqual(yield* codeOf(events({ error: { message: "m", code: "429" } })), [
        "RateLimitError",
        "rate-limit",
        true
      ])
      assert.deepStrictEqual(yield* codeOf(events({ error: { message: "boom" } })), [
        "InternalProviderError",
        "stream-error",
        true
      ])
    }))

  it.effect("may have no choices, or be no stream at all", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* codeOf(json(200, "\n\n{\"id\": \"x\"}")), [
        "InvalidOutputError",
        "no-choices",
        true
      ])
      assert.deepStrictEqual(yield* codeOf(json(200, { choices: [] })), ["InvalidOutputError", "not-a-stream", false])
      assert.deepStrictEqual(yield* codeOf(json(200, "<html>log in</html>")), [
        "InvalidOutputError",
        "not-a-stream",
        true
      ])
      assert.deepStrictEqual(yield* codeOf(json(200, "null")), ["InvalidOutputError", "no-choices", true])
      assert.deepStrictEqual(yield* codeOf(events("not json", ...settled)), ["InvalidOutputError", "malformed", true])
      assert.deepStrictEqual(yield* codeOf(events()), ["NetworkError", "truncated", true])
    }))

  it.effect("is read as a stream if it is one, whatever its content type", () =>
    Effect.gen(function*() {
      const outcome = yield* against((response) => {
        response.writeHead(200, { "content-type": "text/plain" })
        response.end(settled.map((v) => `data: ${typeof v === "string" ? v : JSON.stringify(v)}\n\n`).join(""))
      })
      assert.strictEqual(outcome.error, undefined)
    }))
})

describe("a server that cannot be reached", () => {
  const failing = (cause: unknown) =>
    Effect.map(
      against(events(), { fetch: () => Promise.reject(new TypeError("fetch failed", { cause })) }),
      ({ error: failed }) => [failed!.reason, failed!.code, failed!.retryable]
    )
  it.effect("is a network error that says why", () =>
    Effect.gen(function*() {
      const cause = (code: string) => Object.assign(new Error(code), { code })
      assert.deepStrictEqual(yield* failing(cause("ECONNREFUSED")), ["NetworkError", "refused", true])
      assert.deepStrictEqual(yield* failing(cause("ENOTFOUND")), ["NetworkError", "dns", true])
      assert.deepStrictEqual(yield* failing(cause("UND_ERR_CONNECT_TIMEOUT")), ["NetworkError", "timeout", true])
      assert.deepStrictEqual(yield* failing(cause("DEPTH_ZERO_SELF_SIGNED_CERT")), ["NetworkError", "tls", false])
      assert.deepStrictEqual(yield* failing(new AggregateError([cause("ECONNREFUSED")])), [
        "NetworkError",
        "refused",
        true
      ])
      assert.deepStrictEqual(yield* failing(undefined), ["NetworkError", "connection", true])
    }))

  it.effect("is one with a real socket too", () =>
    Effect.gen(function*() {
      const { error: failed } = yield* against(events(), { baseURL: "http://127.0.0.1:1" })
      assert.strictEqual(failed!.reason, "NetworkError")
      assert.strictEqual(deepseek.name, "deepseek")
    }))
})
