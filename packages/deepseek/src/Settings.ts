/**
 * Everything of a transport's options that changes the bytes of a request. It stands in the header of every request, and
 * so in the journal: with it, `encode` needs nothing else.
 */
import { TransportError } from "@holdfast/core"
import { Option, Schema } from "effect"

export const Settings = Schema.Struct({
  model: Schema.NonEmptyString,
  maxTokens: Schema.Int,
  maxTokensField: Schema.Literals(["max_tokens", "max_completion_tokens"]),
  /** `null`: the field is not sent. */
  thinking: Schema.NullOr(Schema.Literals(["enabled", "disabled"])),
  /** `null`: the field is not sent. */
  effort: Schema.NullOr(Schema.Literals(["low", "high", "max"])),
  /** Replies are JSON objects. */
  json: Schema.Boolean,
  /** Tools whose schema allows it are sent as strict. */
  strict: Schema.Boolean,
  userId: Schema.NullOr(Schema.String),
  reasoning: Schema.Literals(["with-tools", "always", "never"]),
  tail: Schema.Literals(["after-history", "in-last-message"]),
  /** Further fields of the body, as they are. */
  extra: Schema.Record(Schema.String, Schema.Json)
})
export type Settings = typeof Settings.Type

const decode = Schema.decodeUnknownOption(Settings)

/**
 * Reads the settings of a header.
 *
 * Throws a `TransportError` (`InvalidRequestError`, code `settings`) for a header that another transport wrote.
 */
export const fromHeader = (settings: { readonly [key: string]: Schema.Json }): Settings => {
  const decoded = decode(settings)
  if (Option.isSome(decoded)) return decoded.value
  throw new TransportError({
    reason: "InvalidRequestError",
    code: "settings",
    detail: "the settings in the header of this request were not written by the DeepSeek transport",
    retryable: false
  })
}
