/** The words that events are made of: ids, reasons and outcomes. */
import { Schema } from "effect"

export const SessionId = Schema.NonEmptyString.pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** Where a user message comes from: a person, or a part of the harness that speaks in the user's role. */
export const MessageSource = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("user") }),
  Schema.Struct({ kind: Schema.Literal("plugin"), plugin: Schema.String, form: Schema.String })
])
export type MessageSource = typeof MessageSource.Type

/** Why a turn ended. `completed` is the only success. */
export const TurnEndReason = Schema.Literals([
  "completed",
  "awaiting-user",
  "interrupted",
  "closed",
  "failed",
  "context-length",
  "compaction-failed",
  "round-limit",
  "repeat-limit",
  "budget"
])
export type TurnEndReason = typeof TurnEndReason.Type

/** Tokens of one request, as the provider counted them. `prompt` = `hit` + `miss`. */
export const TokenUsage = Schema.Struct({
  prompt: Schema.Natural,
  hit: Schema.Natural,
  miss: Schema.Natural,
  completion: Schema.Natural,
  reasoning: Schema.Natural
})
export type TokenUsage = typeof TokenUsage.Type

/**
 * A tool call of one reply. `id` is minted by the harness and is also the id on the wire; `arguments` is always a JSON
 * object in text form. What the model sent instead, when it differs, is kept in `received`; `fault` says why the call
 * cannot run.
 */
export const CallRecord = Schema.Struct({
  id: Schema.NonEmptyString,
  name: Schema.String,
  arguments: Schema.String,
  fault: Schema.optionalKey(Schema.String),
  received: Schema.optionalKey(Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    name: Schema.optionalKey(Schema.String),
    arguments: Schema.optionalKey(Schema.String)
  }))
})
export type CallRecord = typeof CallRecord.Type

/** How a tool call ended. Only `ok` means that it did what it was asked to do. */
export const ToolOutcomeKind = Schema.Literals(["ok", "error", "refused", "interrupted", "not-started", "unknown"])
export type ToolOutcomeKind = typeof ToolOutcomeKind.Type

/** What became of a plan review. `approved` is the only consent. */
export const ReviewOutcome = Schema.Literals([
  "approved",
  "keep-planning",
  "feedback",
  "dismissed",
  "invalid",
  "unavailable",
  "failed",
  "expired",
  "withdrawn"
])
export type ReviewOutcome = typeof ReviewOutcome.Type

/** What became of an approval request. `once`, `session` and `granted` are the only consents. */
export const ApprovalOutcome = Schema.Literals([
  "once",
  "session",
  "granted",
  "no",
  "dismissed",
  "invalid",
  "unavailable",
  "failed",
  "expired",
  "withdrawn",
  "gated"
])
export type ApprovalOutcome = typeof ApprovalOutcome.Type

/** What became of a question that the model asked. */
export const QuestionOutcome = Schema.Literals([
  "answered",
  "dismissed",
  "invalid",
  "unavailable",
  "failed",
  "expired",
  "withdrawn"
])
export type QuestionOutcome = typeof QuestionOutcome.Type

/**
 * How a child agent ended. `GatedOnly`: it finished, but all that it tried to change was refused by a gate. Only
 * `Completed` is a success.
 */
export const ChildStatus = Schema.Literals([
  "Completed",
  "GatedOnly",
  "Refused",
  "Failed",
  "Interrupted",
  "LimitReached"
])
export type ChildStatus = typeof ChildStatus.Type

/** On what authority a call was started. */
export const Permission = Schema.Union([
  Schema.Struct({ by: Schema.Literal("none") }),
  Schema.Struct({ by: Schema.Literal("person"), request: Schema.String }),
  Schema.Struct({ by: Schema.Literal("grant"), key: Schema.String }),
  Schema.Struct({ by: Schema.Literal("policy"), rule: Schema.String })
])
export type Permission = typeof Permission.Type

/** A named part of the system prompt. */
export const HeaderSection = Schema.Struct({ name: Schema.NonEmptyString, order: Schema.Int, text: Schema.String })
export type HeaderSection = typeof HeaderSection.Type

/** A tool as the model sees it. `parameters` is JSON Schema with its keys in canonical order. */
export const ToolDefinition = Schema.Struct({
  name: Schema.NonEmptyString,
  description: Schema.String,
  parameters: Schema.Json
})
export type ToolDefinition = typeof ToolDefinition.Type

/** What a request is for, when it is not for the next reply. */
export const RequestPurpose = Schema.Literal("compaction")
export type RequestPurpose = typeof RequestPurpose.Type

/**
 * Why the history was compacted: a person asked for it, the prompt grew past `maxPromptTokens`, or the provider refused
 * a request as too long.
 */
export const CompactionReason = Schema.Literals(["requested", "limit", "context-length"])
export type CompactionReason = typeof CompactionReason.Type
