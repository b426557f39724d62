/**
 * Every fact of a session, as one tagged union of events.
 *
 * A fact that the model sees, or that decides what may happen, is an event here before it acts. Embedders add types of
 * their own with {@link extend}; a reader that does not know a type refuses to open the session unless the stored event
 * says that it is `ignorable`.
 */
import { Context, Effect, Layer, Schema } from "effect"
import {
  ApprovalOutcome,
  CallRecord,
  ChildStatus,
  CompactionReason,
  HeaderSection,
  MessageSource,
  Permission,
  QuestionOutcome,
  RequestPurpose,
  ReviewOutcome,
  SessionId,
  TokenUsage,
  ToolDefinition,
  ToolOutcomeKind,
  TurnEndReason
} from "./Vocabulary.ts"

export * from "./Vocabulary.ts"

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
