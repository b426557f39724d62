/**
 * Every fact of a session, as one tagged union of events.
 *
 * A fact that the model sees, or that decides what may happen, is an event here before it acts. Embedders add types of
 * their own with {@link extend}; a reader that does not know a type refuses to open the session unless the stored event
 * says that it is `ignorable`.
 */
import { Context, Effect, Layer, Schema } from "effect"

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

const Settled = { request: Schema.String, text: Schema.optionalKey(Schema.String), by: Schema.String }

/** The payload of each event type that the core writes. */
export const payloads = {
  "session/created": Schema.Struct({
    depth: Schema.Natural,
    parent: Schema.optionalKey(Schema.Struct({ session: SessionId, call: Schema.optionalKey(Schema.String) })),
    origin: Schema.optionalKey(Schema.Struct({ session: SessionId, seq: Schema.Natural })),
    title: Schema.optionalKey(Schema.String),
    cwd: Schema.optionalKey(Schema.String),
    agent: Schema.optionalKey(Schema.String),
    authority: Schema.optionalKey(Schema.Array(Schema.String))
  }),
  "turn/start": Schema.Struct({ turn: Schema.Natural }),
  "turn/end": Schema.Struct({
    turn: Schema.Natural,
    reason: TurnEndReason,
    detail: Schema.optionalKey(Schema.String)
  }),
  "input/received": Schema.Struct({ input: Schema.String, text: Schema.String, source: MessageSource }),
  "message/user": Schema.Struct({
    input: Schema.optionalKey(Schema.String),
    text: Schema.String,
    source: MessageSource
  }),
  "message/assistant": Schema.Struct({
    step: Schema.Natural,
    text: Schema.String,
    reasoning: Schema.String,
    calls: Schema.Array(CallRecord),
    finish: Schema.String,
    interrupted: Schema.optionalKey(Schema.Literal(true)),
    usage: Schema.optionalKey(TokenUsage)
  }),
  "request/header": Schema.Struct({
    hash: Schema.String,
    reason: Schema.String,
    encoding: Schema.String,
    sections: Schema.Array(HeaderSection),
    stateSections: Schema.Array(HeaderSection),
    tools: Schema.Array(ToolDefinition),
    hidden: Schema.Array(Schema.String),
    settings: Schema.Record(Schema.String, Schema.Json)
  }),
  "request/adopted": Schema.Struct({ reason: Schema.String }),
  "step/open": Schema.Struct({
    turn: Schema.Natural,
    step: Schema.Natural,
    attempt: Schema.Natural,
    headerHash: Schema.String,
    tail: Schema.NullOr(Schema.String),
    planActive: Schema.Boolean,
    /** Absent: the request asks for the next reply. */
    purpose: Schema.optionalKey(RequestPurpose),
    /** The request carries only so many messages of the history. Absent: all of them. */
    through: Schema.optionalKey(Schema.Natural)
  }),
  "step/failed": Schema.Struct({
    step: Schema.Natural,
    attempt: Schema.Natural,
    reason: Schema.String,
    message: Schema.String,
    retryable: Schema.Boolean,
    retryAfterMillis: Schema.optionalKey(Schema.Natural),
    purpose: Schema.optionalKey(RequestPurpose)
  }),
  "session/compacted": Schema.Struct({
    step: Schema.Natural,
    attempt: Schema.Natural,
    reason: CompactionReason,
    /** How many messages, from the oldest on, the summary stands for. */
    replaced: Schema.Natural,
    /** What the model wrote. */
    summary: Schema.String,
    /** The message that stands in the history instead: the summary, and what the harness restates beside it. */
    text: Schema.String,
    usage: Schema.optionalKey(TokenUsage)
  }),
  "compaction/requested": Schema.Struct({ by: Schema.Literal("user") }),
  "compaction/dropped": Schema.Struct({
    reason: Schema.Literals(["nothing-to-replace", "failed", "interrupted"]),
    detail: Schema.optionalKey(Schema.String)
  }),
  "tool/started": Schema.Struct({
    call: Schema.String,
    name: Schema.String,
    arguments: Schema.optionalKey(Schema.String),
    hash: Schema.String,
    permission: Permission
  }),
  "tool/result": Schema.Struct({
    call: Schema.String,
    name: Schema.String,
    outcome: ToolOutcomeKind,
    content: Schema.String,
    code: Schema.optionalKey(Schema.String),
    by: Schema.optionalKey(Schema.String),
    artifact: Schema.optionalKey(Schema.String),
    facts: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
    endsTurn: Schema.optionalKey(Schema.Literal("awaiting-user"))
  }),
  "child/spawned": Schema.Struct({
    child: SessionId,
    call: Schema.String,
    label: Schema.String,
    depth: Schema.Natural,
    agent: Schema.optionalKey(Schema.String),
    isolation: Schema.optionalKey(Schema.Literal("worktree"))
  }),
  "child/ended": Schema.Struct({
    child: SessionId,
    call: Schema.String,
    status: ChildStatus,
    output: Schema.String,
    detail: Schema.optionalKey(Schema.String),
    gatedCalls: Schema.Natural,
    changed: Schema.Array(Schema.String),
    ranCommands: Schema.Boolean,
    patch: Schema.optionalKey(Schema.String),
    usage: TokenUsage
  }),
  "tree/counted": Schema.Struct({ child: SessionId, depth: Schema.Natural }),
  "plan/mode": Schema.Struct({ active: Schema.Boolean }),
  "plan/selected": Schema.Struct({ active: Schema.Boolean, by: Schema.Literals(["user", "model", "review"]) }),
  "review/asked": Schema.Struct({
    request: Schema.String,
    call: Schema.String,
    title: Schema.String,
    hash: Schema.String
  }),
  "review/answered": Schema.Struct({ ...Settled, outcome: ReviewOutcome }),
  "approval/asked": Schema.Struct({
    request: Schema.String,
    call: Schema.String,
    tool: Schema.String,
    title: Schema.String,
    hash: Schema.String,
    grantKey: Schema.optionalKey(Schema.String)
  }),
  "approval/answered": Schema.Struct({
    ...Settled,
    outcome: ApprovalOutcome,
    grant: Schema.optionalKey(Schema.String)
  }),
  "question/asked": Schema.Struct({ request: Schema.String, call: Schema.String, title: Schema.String }),
  "question/answered": Schema.Struct({
    ...Settled,
    outcome: QuestionOutcome,
    selected: Schema.optionalKey(Schema.Array(Schema.String))
  })
} as const

type Payloads = typeof payloads

/** The type of a core event. */
export type EventType = keyof Payloads

/** The payload of the core event `K`. */
export type EventData<K extends EventType> = Payloads[K]["Type"]

/** An event that is about to be written: what happened, not yet where it stands. */
export type NewEvent =
  | { readonly [K in EventType]: { readonly type: K; readonly data: EventData<K> } }[EventType]
  | ExtensionEvent

/**
 * An event of a type that an embedder added with {@link extend}. Its type name starts with the embedder's own prefix
 * (`x-`), so that it can never be taken for one of the core. `data` is a value of the type's schema; it is encoded when
 * it is written.
 */
export interface ExtensionEvent {
  readonly type: `x-${string}`
  readonly data: unknown
}

/**
 * An event as it stands in a journal. `seq` starts at 0 and has no gaps; `at` is milliseconds since the epoch;
 * `version` is the version of its payload's schema; an `ignorable` event may be skipped by a reader that does not know
 * its type.
 */
export interface StoredEvent {
  readonly session: SessionId
  readonly seq: number
  readonly at: number
  readonly type: string
  readonly version: number
  readonly ignorable?: true
  readonly data: Schema.Json
}

/**
 * A decoded event with its place in the journal. `skipped` marks an ignorable event of a type that this program does not
 * know: no fold listens to it, and its `data` is what is stored.
 */
export type SessionEvent = NewEvent & {
  readonly session: SessionId
  readonly seq: number
  readonly at: number
  readonly skipped?: true
}

/** What a reader needs to know about an event type: its schema, its current version, and how to read older ones. */
export interface EventDefinition {
  readonly type: string
  readonly schema: Schema.Codec<unknown, Schema.Json>
  readonly version: number
  readonly unknown: "required" | "ignorable"
  /** Brings a payload of version `from` to `from + 1`; keyed by `from`. */
  readonly upcasters: { readonly [from: number]: (data: Schema.Json) => Schema.Json }
}

/** Makes the event record that is passed to `Session.transact`. */
const event = <K extends EventType>(type: K, data: EventData<K>): NewEvent => ({ type, data }) as unknown as NewEvent

/** An embedder's event type: what {@link SessionEvent.extend} returns. */
export interface ExtensionType<K extends `x-${string}`, T> extends EventDefinition {
  readonly type: K
  /** The event, for the list that a decision returns to `Session.transact`. */
  readonly make: (data: T) => ExtensionEvent
  /** A reducer for `Projection.make` that knows the type of the payload. */
  readonly on: <S>(
    reduce: (state: S, data: T, event: SessionEvent) => S
  ) => (state: S, data: unknown, event: SessionEvent) => S
}

/**
 * Describes an event type of an embedder. `unknown` says what a program does that opens a session and does not know the
 * type: `required` refuses with `UnknownEvent`, `ignorable` skips it and keeps it. `version` (default 1) is that of the
 * payload's schema; `upcasters[n]` turns a stored payload of version n into one of version n + 1. Register the type with
 * `EventTypes.layer`; writing one that is not registered fails with `EventRejected`.
 *
 * @example
 * const Ticket = SessionEvent.extend({
 *   type: "x-ticket",
 *   schema: Schema.Struct({ id: Schema.String }),
 *   unknown: "ignorable"
 * })
 * const OpenTicket = Projection.make({
 *   name: "ticket",
 *   initial: undefined as string | undefined,
 *   on: { "x-ticket": Ticket.on((_, { id }) => id) }
 * })
 */
const extend = <K extends `x-${string}`, T, E extends Schema.Json>(options: {
  readonly type: K
  readonly schema: Schema.Codec<T, E>
  readonly unknown: "required" | "ignorable"
  readonly version?: number
  readonly upcasters?: EventDefinition["upcasters"]
}): ExtensionType<K, T> => ({
  type: options.type,
  schema: options.schema as unknown as EventDefinition["schema"],
  version: options.version ?? 1,
  unknown: options.unknown,
  upcasters: options.upcasters ?? {},
  make: (data) => ({ type: options.type, data }),
  on: (reduce) => (state, data, event) => reduce(state, data as T, event)
})

const coreDefinitions: ReadonlyMap<string, EventDefinition> = new Map(
  Object.entries(payloads).map(([type, schema]): [string, EventDefinition] => [type, {
    type,
    schema: schema as unknown as EventDefinition["schema"],
    version: 1,
    unknown: "required",
    upcasters: {}
  }])
)

/** The event types that a process knows: those of the core and those that an embedder added. */
export class EventTypes extends Context.Reference<ReadonlyMap<string, EventDefinition>>("@holdfast/core/EventTypes", {
  defaultValue: () => coreDefinitions
}) {
  /** Adds an embedder's event types to those that are known around this layer. */
  static readonly layer = (...definitions: ReadonlyArray<EventDefinition>): Layer.Layer<never> =>
    Layer.effect(
      EventTypes,
      Effect.map(EventTypes, (known) => new Map([...known, ...definitions.map((d) => [d.type, d] as const)]))
    )
}

/** Constructors of events and of event types. */
export const SessionEvent = { event, extend }
