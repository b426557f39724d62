/** The options of the DeepSeek transport, their defaults, and what makes them wrong. */
import type { Duration, Redacted, Schema } from "effect"
import { Duration as D, Redacted as R, Result, Schema as S } from "effect"
import { defaultLimits, type LimiterOptions } from "./Limiter.ts"
import { deepseek, type Profile } from "./Profile.ts"
import type { Settings } from "./Settings.ts"
import { defaultTimeouts, resolveTimeouts, type Timeouts } from "./Watchdog.ts"

/** What the API takes for `reasoning_effort`, aliases included. */
export type Effort = "low" | "high" | "max" | "minimal" | "medium" | "xhigh" | "ultra"

/** The API's own mapping (thinking guide, September 2026): note that `xhigh` is `high`. */
const efforts: { readonly [name in Effort]: "low" | "high" | "max" } = {
  low: "low",
  high: "high",
  max: "max",
  minimal: "low",
  medium: "high",
  xhigh: "high",
  ultra: "max"
}

/** Options of `DeepSeek.layer`. Everything but the key has a default. */
export interface Options {
  readonly apiKey: Redacted.Redacted
  /** Default: the profile's, `https://api.deepseek.com`. */
  readonly baseURL?: string
  /** Default: the profile's, `deepseek-flash`. */
  readonly model?: string
  /** Tokens of one reply, reasoning included, 1 to 393216. Default: 131072. */
  readonly maxTokens?: number
  /** Default: `true`, which is also the server's. Changing it resets the prefix cache. */
  readonly thinking?: boolean
  /** How hard the model thinks. Default: `high`, which is also the server's. Changing it resets the prefix cache. */
  readonly effort?: Effort
  /** Sends tools whose schema allows it as strict, at the beta address. Default: `false`. */
  readonly strictTools?: boolean
  /** Replies are JSON objects; the prompt must contain the word "json". Default: `false`. */
  readonly json?: boolean
  /** 1 to 512 letters, digits, `_` or `-`. Splits the prefix cache: one for all sessions that share a head, or none. */
  readonly userId?: string
  /** Further fields of the request body, such as `temperature`. None that the transport writes itself. */
  readonly extraBody?: { readonly [field: string]: Schema.Json }
  /** Conventions of the endpoint. Default: those of DeepSeek. */
  readonly profile?: Profile
  /** Streams at once over all transports with this key in this process. Default: 8. */
  readonly concurrency?: number
  /** How long all requests of this key wait after a 429 that does not say how long. Default: 1 second. */
  readonly cooldown?: Duration.Input
  /** The longest that one reply can make all requests of this key wait. Default: 1 minute. */
  readonly maxCooldown?: Duration.Input
  /** When a reply counts as dead. Defaults: 10 minutes, 2 minutes, 11 minutes, 5 minutes. */
  readonly timeouts?: Partial<Timeouts>
  /** What to do with tool-call markup in the text of a reply. Default: `fail`. */
  readonly leakedMarkup?: "fail" | "pass"
  /** Replaces the global `fetch`, for a proxy or a test. */
  readonly fetch?: typeof globalThis.fetch
}

/** An option is wrong. `option` names it; correct it and build the layer again. */
export class InvalidDeepSeekOption extends S.TaggedError<InvalidDeepSeekOption>()("InvalidDeepSeekOption", {
  option: S.String,
  detail: S.String
}) {
  override get message() {
    return `DeepSeek option "${this.option}": ${this.detail}`
  }
}

/** Options with every default in place. */
export interface Resolved {
  readonly key: string
  readonly baseURL: string
  readonly profile: Profile
  readonly settings: Settings
  readonly limits: LimiterOptions
  readonly timeouts: ReturnType<typeof resolveTimeouts>
  readonly leakedMarkup: "fail" | "pass"
  readonly fetch: typeof globalThis.fetch
}

const known = new Set<string>([
  "apiKey",
  "baseURL",
  "model",
  "maxTokens",
  "thinking",
  "effort",
  "strictTools",
  "json",
  "userId",
  "extraBody",
  "profile",
  "concurrency",
  "cooldown",
  "maxCooldown",
  "timeouts",
  "leakedMarkup",
  "fetch"
])

/** Fields that the transport writes; `tool_choice` because it would take the tools out of the prompt or be refused. */
const written = new Set([
  "model",
  "max_tokens",
  "max_completion_tokens",
  "stream",
  "stream_options",
  "thinking",
  "reasoning_effort",
  "response_format",
  "user_id",
  "tools",
  "tool_choice",
  "messages",
  "n"
])

const millis = (input: Duration.Input): number | undefined => {
  const duration = D.fromInput(input)
  if (duration._tag === "None") return undefined
  const value = D.toMillis(duration.value)
  return value >= 0 ? value : undefined
}

const isHttp = (text: string): boolean => {
  try {
    return /^https?:$/.test(new URL(text).protocol)
  } catch {
    return false
  }
}

const isWhole = (value: unknown, min: number, max: number): boolean =>
  typeof value === "number" && Number.isInteger(value) && value >= min && value <= max

/** The first thing that is wrong with options, as `[option, detail]`. */
const faultOf = (options: Options, profile: Profile): readonly [string, string] | undefined => {
  for (const key of Object.keys(options)) if (!known.has(key)) return [key, "there is no such option"]
  const key = R.isRedacted(options.apiKey) ? R.value(options.apiKey) : undefined
  if (typeof key !== "string" || key.trim() === "") return ["apiKey", "must be a redacted string that is not blank"]
  if (/[^\x21-\x7e]/.test(key)) return ["apiKey", "must be one line of ASCII without spaces"]
  if (!isHttp(options.baseURL ?? profile.baseURL)) return ["baseURL", "must be an http or https address"]
  if ((options.model ?? profile.model).trim() === "") return ["model", "must not be blank"]
  if (!isWhole(options.maxTokens ?? profile.maxTokens, 1, profile.maxTokensLimit)) {
    return ["maxTokens", `must be a whole number from 1 to ${profile.maxTokensLimit}`]
  }
  if (options.effort !== undefined && !Object.hasOwn(efforts, options.effort)) {
    return ["effort", `must be one of ${Object.keys(efforts).join(", ")}`]
  }
  if (options.effort !== undefined && options.thinking === false) return ["effort", "has no meaning without thinking"]
  if (options.userId !== undefined && !/^[a-zA-Z0-9_-]{1,512}$/.test(options.userId)) {
    return ["userId", "must be 1 to 512 letters, digits, _ or -"]
  }
  for (const field of Object.keys(options.extraBody ?? {})) {
    if (written.has(field)) return ["extraBody", `"${field}" is written by the transport`]
  }
  if (!isWhole(options.concurrency ?? 1, 1, 10_000)) return ["concurrency", "must be a whole number from 1 to 10000"]
  for (const name of ["cooldown", "maxCooldown"] as const) {
    const value = options[name]
    if (value !== undefined && millis(value) === undefined) return [name, "must be a duration"]
  }
  for (const [name, value] of Object.entries(options.timeouts ?? {})) {
    if (!Object.hasOwn(defaultTimeouts, name)) return [`timeouts.${name}`, "there is no such option"]
    if (value !== undefined && !((millis(value) ?? 0) > 0)) return [`timeouts.${name}`, "must be a duration above 0"]
  }
  if (options.leakedMarkup !== undefined && !["fail", "pass"].includes(options.leakedMarkup)) {
    return ["leakedMarkup", "must be fail or pass"]
  }
  return undefined
}

const settingsOf = (options: Options, profile: Profile): Settings => ({
  model: options.model ?? profile.model,
  maxTokens: options.maxTokens ?? profile.maxTokens,
  maxTokensField: profile.maxTokensField,
  thinking: profile.thinking ? options.thinking === false ? "disabled" : "enabled" : null,
  effort: options.thinking === false || (!profile.thinking && options.effort === undefined)
    ? null
    : efforts[options.effort ?? "high"],
  json: options.json ?? false,
  strict: options.strictTools ?? false,
  userId: options.userId ?? null,
  reasoning: profile.reasoning,
  tail: profile.tail,
  extra: options.extraBody ?? {}
})

/** Checks options and puts the defaults in. */
export const resolve = (options: Options): Result.Result<Resolved, InvalidDeepSeekOption> => {
  const profile = options.profile ?? deepseek
  const fault = faultOf(options, profile)
  if (fault !== undefined) return Result.fail(new InvalidDeepSeekOption({ option: fault[0], detail: fault[1] }))
  const strict = options.strictTools === true && options.baseURL === undefined ? profile.strictBaseURL : null
  return Result.succeed({
    key: R.value(options.apiKey),
    baseURL: options.baseURL ?? strict ?? profile.baseURL,
    profile,
    settings: settingsOf(options, profile),
    limits: {
      concurrency: options.concurrency ?? defaultLimits.concurrency,
      cooldown: millis(options.cooldown ?? defaultLimits.cooldown)!,
      maxCooldown: millis(options.maxCooldown ?? defaultLimits.maxCooldown)!
    },
    timeouts: resolveTimeouts({ ...defaultTimeouts, ...options.timeouts }),
    leakedMarkup: options.leakedMarkup ?? "fail",
    fetch: options.fetch ?? globalThis.fetch
  })
}
