/**
 * What differs between OpenAI-compatible endpoints, as data: where they are, which fields they take, what they want back.
 *
 * The transport is written for DeepSeek; a profile lets it speak to a gateway or a self-hosted server of the same
 * protocol. Whatever of a profile changes the bytes of a request goes into the header's settings, so that the body can
 * be made again from the journal without the profile at hand.
 */

/**
 * When an assistant message carries its reasoning back to the server.
 *
 * - `with-tools`: when thinking is on and the request has tools, on every assistant message, also if it is empty
 * - `always`: on every assistant message
 * - `never`: on none
 */
export type ReasoningReplay = "with-tools" | "always" | "never"

/**
 * Where the tail of a request goes.
 *
 * - `after-history`: a `user` message of its own, last
 * - `in-last-message`: at the end of the last user or tool message, for servers whose templates refuse two user messages
 *   in a row, or take a user message after tool results for a new turn and drop the reasoning before it
 */
export type TailPlacement = "after-history" | "in-last-message"

/** Where a reply's `usage` holds its numbers: paths with dots, the first that leads to a number counts. */
export interface UsageFields {
  readonly prompt: ReadonlyArray<string>
  readonly hit: ReadonlyArray<string>
  readonly completion: ReadonlyArray<string>
  readonly reasoning: ReadonlyArray<string>
}

/**
 * An endpoint and its conventions.
 *
 * @example
 * const gateway: Profile = { ...deepseek, name: "gateway", baseURL: "https://llm.example.com/v1", strictBaseURL: null }
 */
export interface Profile {
  /** For people: the name of the transport. */
  readonly name: string
  readonly baseURL: string
  /** Where strict tools are served; `null`: at `baseURL` too. */
  readonly strictBaseURL: string | null
  readonly model: string
  readonly maxTokensField: "max_tokens" | "max_completion_tokens"
  /** Tokens of one reply, reasoning included, unless the options say otherwise. */
  readonly maxTokens: number
  /** The largest `maxTokens` that the endpoint takes. */
  readonly maxTokensLimit: number
  /** Whether the endpoint knows `thinking`; without it the field is never sent. */
  readonly thinking: boolean
  readonly reasoning: ReasoningReplay
  readonly tail: TailPlacement
  readonly usage: UsageFields
}

/**
 * The DeepSeek API.
 *
 * Limits are those that its 400 replies name: output up to 393216 tokens, prompt and output together up to 1048565. The
 * default of 131072 leaves 917493 tokens for the prompt and is far above the longest reasoning that was measured.
 */
export const deepseek: Profile = {
  name: "deepseek",
  baseURL: "https://api.deepseek.com",
  strictBaseURL: "https://api.deepseek.com/beta",
  model: "deepseek-flash",
  maxTokensField: "max_tokens",
  maxTokens: 131_072,
  maxTokensLimit: 393_216,
  thinking: true,
  reasoning: "with-tools",
  tail: "after-history",
  usage: {
    prompt: ["prompt_tokens"],
    hit: ["prompt_cache_hit_tokens", "prompt_tokens_details.cached_tokens"],
    completion: ["completion_tokens"],
    reasoning: ["completion_tokens_details.reasoning_tokens"]
  }
}
