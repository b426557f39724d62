/**
 * An error answer of the API: HTTP status and the body `{ error: { message, type, param, code } }`.
 * The texts are those that DeepSeek's API was seen to send in 2026; where only the title of an error is
 * documented (429, 500, 503) the title is the message.
 */
export interface ApiError {
  readonly status: number
  readonly message: string
  readonly type: string
  readonly code: string
  /** Seconds, sent as the header `retry-after`. */
  readonly retryAfter?: number
}

/** Builds an error; the type defaults to what DeepSeek sends for most of them. */
export const apiError = (
  status: number,
  message: string,
  type = "invalid_request_error",
  code = "invalid_request_error"
): ApiError => ({ status, message, type, code })

/** A 400 with a message. */
export const badRequest = (message: string): ApiError => apiError(400, message)

const documented: ReadonlyMap<number, { readonly message: string; readonly type: string }> = new Map([
  [400, { message: "Invalid Format", type: "invalid_request_error" }],
  [401, { message: "Authentication Fails", type: "authentication_error" }],
  [402, { message: "Insufficient Balance", type: "unknown_error" }],
  [422, { message: "Invalid Parameters", type: "invalid_request_error" }],
  [429, { message: "Rate Limit Reached", type: "rate_limit_error" }],
  [500, { message: "Server Error", type: "server_error" }],
  [503, { message: "Server Overloaded", type: "server_error" }]
])

/** The error that DeepSeek documents for a status, for faults that name a status only. */
export const documentedError = (status: number): ApiError => {
  const known = documented.get(status)
  return apiError(status, known?.message ?? "Error", known?.type ?? "invalid_request_error")
}

/** 401; the API shows the last four characters of the key. */
export const invalidKey = (key: string): ApiError =>
  apiError(401, `Authentication Fails, Your api key: ****${key.slice(-4)} is invalid`, "authentication_error")

/** 400: prompt and `max_tokens` together exceed the context. The enforced number of V4 is 1048565. */
export const contextExceeded = (limit: number, prompt: number, completion: number): ApiError =>
  badRequest(
    `This model's maximum context length is ${limit} tokens. However, you requested ${prompt + completion} tokens ` +
      `(${prompt} in the messages, ${completion} in the completion). ` +
      `Please reduce the length of the messages or completion.`
  )

/** The JSON body of an error. */
export const errorBody = (error: ApiError): string =>
  JSON.stringify({ error: { message: error.message, type: error.type, param: null, code: error.code } })
