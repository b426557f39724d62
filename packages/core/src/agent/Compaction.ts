/**
 * Compaction: a summary, written by the model itself, takes the place of the older part of the history.
 *
 * Pure decisions. The request for a summary carries the session's own header and the messages that will be replaced, with
 * the instruction as its tail, so that it reads from the provider's cache; it is opened by a `step/open` like any other.
 * Only the history changes: plan state, grants, usage, header and waiting messages are folds of facts that stay.
 */
import { Context, type Duration, Layer } from "effect"
import type { Decision, SessionView } from "../journal/Session.ts"
import { type CompactionReason, type EventData, type NewEvent, SessionEvent } from "../journal/SessionEvent.ts"
import { History } from "../model/History.ts"
import { assemble, HeaderProjection } from "../model/ModelRequest.ts"
import { type ModelRequest, TransportError } from "../model/ModelTransport.ts"
import { planInHand } from "../plan/PlanInHand.ts"
import { PlanProjection } from "../plan/PlanState.ts"
import { CompactionProjection, INTERRUPTED } from "./CompactionState.ts"
import { findCut } from "./Cut.ts"
import * as texts from "./texts.ts"
import { turnEnd, TurnProjection, upcomingStep } from "./Turn.ts"

export interface CompactionOptions {
  /**
   * A prompt of more tokens, as the provider counted the last one, is compacted before the next step. Default 800,000:
   * three quarters of the 1,048,565 that DeepSeek's models take (`deepseek-api.md` 1.7), so that one step of large results
   * still fits.
   */
  readonly maxPromptTokens: number
  /**
   * Estimated tokens at the end of the history that stay as they are. Default 20,000, some steps of ordinary work. A
   * compaction that a person asked for, or that a refused request needs, keeps at most half of the history.
   */
  readonly keepTokens: number
}

export const compactionDefaults: CompactionOptions = { maxPromptTokens: 800_000, keepTokens: 20_000 }

/** Failed requests for a summary in a row after which no more are made by themselves (design, section 10). */
export const COMPACTION_TRIES = 3

/**
 * When the harness compacts by itself. Not provided (`undefined`): never; a context that is too long then ends the turn
 * with `context-length`. `AgentHandle.compact` works either way.
 */
export class CompactionLimits extends Context.Reference<CompactionOptions | undefined>(
  "@holdfast/core/CompactionLimits",
  { defaultValue: (): CompactionOptions | undefined => undefined }
) {
  /**
   * @example
   * Harness.layer().pipe(Layer.provide(CompactionLimits.layer({ maxPromptTokens: 400_000 })))
   */
  static readonly layer = (options: Partial<CompactionOptions> = {}): Layer.Layer<never> =>
    Layer.succeed(CompactionLimits, { ...compactionDefaults, ...options })
}

type Limits = CompactionOptions | undefined

/**
 * Where the history can be cut, for a request of the length that is next to be tried. At the limit, a cut that frees less
 * than it keeps is not worth a request; whoever must have room, or asked for it, gets at least half.
 */
const cutOf = (view: SessionView, limits: Limits, reason: CompactionReason): number | undefined => {
  if (view.get(HeaderProjection).request === undefined) return undefined
  const { keepTokens } = limits ?? compactionDefaults
  return findCut(view.get(History).toArray(), {
    keepTokens,
    keepShare: reason === "limit" ? 1 : 0.5,
    halvings: view.get(CompactionProjection).halvings,
    worth: reason === "limit" ? keepTokens : 0
  })
}

/** Whether there is anything that a summary could replace. */
export const canCompact = (view: SessionView, limits: Limits, reason: CompactionReason): boolean =>
  cutOf(view, limits, reason) !== undefined

/** Why a summary must be asked for before anything else, if that is so. The session stands at a boundary, or rests. */
export const dueCompaction = (view: SessionView, limits: Limits): CompactionReason | undefined => {
  const state = view.get(CompactionProjection)
  if (state.wanted !== undefined) return state.wanted
  if (limits === undefined || view.get(TurnProjection).phase === "idle") return undefined
  if (state.prompt === undefined || state.prompt <= limits.maxPromptTokens) return undefined
  // It has been given up, or what it would free is less than what it keeps: the request goes out as it is.
  if (state.failures >= COMPACTION_TRIES && state.tries === 0) return undefined
  return canCompact(view, limits, "limit") ? "limit" : undefined
}

/** What becomes of a turn whose request was too long: `undefined` when a compaction comes next and then another attempt. */
export const contextLengthEnd = (
  view: SessionView,
  limits: Limits
): { readonly reason: "context-length" | "compaction-failed"; readonly detail?: string } | undefined => {
  const { failures, madeRoomFor } = view.get(CompactionProjection)
  if (
    limits === undefined || madeRoomFor === view.get(TurnProjection).step || !canCompact(view, limits, "context-length")
  ) {
    return { reason: "context-length" }
  }
  return failures < COMPACTION_TRIES
    ? undefined
    : { reason: "compaction-failed", detail: `compaction failed ${failures} times in a row` }
}

export interface OpenedCompaction {
  readonly step: number
  readonly request: ModelRequest
}

/** Opens a request for a summary, or says why there is none. */
export const openCompaction = (
  view: SessionView,
  limits: Limits,
  reason: CompactionReason
): Decision<OpenedCompaction | undefined> => {
  const through = cutOf(view, limits, reason)
  if (through === undefined) return { events: giveUp(view, reason, "nothing-to-replace"), value: undefined }
  const turn = view.get(TurnProjection)
  const { step } = upcomingStep(turn)
  const tail = texts.compactionInstruction
  return {
    events: [SessionEvent.event("step/open", {
      turn: turn.turn,
      step,
      attempt: view.get(CompactionProjection).attempts + 1,
      headerHash: view.get(HeaderProjection).current?.hash ?? "",
      tail,
      planActive: view.get(PlanProjection).state.active,
      purpose: "compaction",
      through
    })],
    value: { step, request: assemble(view, tail, through) }
  }
}

/** The summary that a reply is, or why it is none. */
export const summaryOf = (reply: EventData<"message/assistant"> | TransportError): string | TransportError => {
  if (!("calls" in reply)) return reply
  const unusable = (code: string, detail: string) =>
    new TransportError({ reason: "InvalidOutputError", code, detail, retryable: true })
  if (reply.finish === "length") return unusable("truncated", "the summary was cut off at the token limit")
  if (reply.finish === "content-filter") return unusable("filtered", "the provider filtered the summary")
  return reply.text.trim() === "" ? unusable("empty", "the model wrote no summary") : reply.text
}

/** Puts the summary into the history, with the plan in hand beside it. */
export const logCompacted = (
  view: SessionView,
  summary: string,
  usage: EventData<"session/compacted">["usage"]
): Decision<void> => {
  const { open } = view.get(CompactionProjection)
  if (open === undefined) return { events: [], value: undefined }
  return {
    events: [SessionEvent.event("session/compacted", {
      step: open.step,
      attempt: open.attempt,
      reason: open.reason,
      replaced: open.through,
      summary,
      text: summaryText(view, summary, open.through),
      ...(usage === undefined ? {} : { usage })
    })],
    value: undefined
  }
}

/** The message that replaces `replaced` messages: the summary, and every plan in hand byte for byte exactly once. */
const summaryText = (view: SessionView, summary: string, replaced: number): string => {
  const plan = planInHand(view)
  if (plan === undefined) return texts.summaryMessage(summary, undefined)
  const kept = view.get(History).toArray().slice(replaced)
  const inHistory = kept.some((message) =>
    message.role === "assistant" && message.calls.some((call) => call.id === plan.call)
  )
  const told = summary.split(plan.plan).join(texts.planBeside)
  return texts.summaryMessage(told, texts.restatedPlan(plan, inHistory))
}

/** Logs a request for a summary that failed; `value` is the wait before the next one, or nothing when there is none. */
export const failCompaction = (
  view: SessionView,
  limits: Limits,
  error: TransportError,
  delay: (tries: number) => Duration.Duration | undefined
): Decision<Duration.Duration | undefined> => {
  const { open } = view.get(CompactionProjection)
  if (open === undefined) return { events: [], value: undefined }
  const event = SessionEvent.event("step/failed", {
    step: open.step,
    attempt: open.attempt,
    reason: error.reason,
    message: error.message,
    retryable: error.retryable,
    ...(error.retryAfterMillis === undefined ? {} : { retryAfterMillis: error.retryAfterMillis }),
    purpose: "compaction"
  })
  const after = view.after([event])
  const { tries } = after.get(CompactionProjection)
  const wait = delay(tries)
  const shorter = error.reason === "ContextLength" && canCompact(after, limits, open.reason)
  if (tries < COMPACTION_TRIES && (shorter || wait !== undefined)) return { events: [event], value: wait }
  return { events: [event, ...giveUp(after, open.reason, "failed", error.message)], value: undefined }
}

/** A wish is dropped and the turn goes on; without the compaction that a request or a limit needs, it cannot. */
const giveUp = (
  view: SessionView,
  reason: CompactionReason,
  why: "nothing-to-replace" | "failed",
  detail?: string
): ReadonlyArray<NewEvent> =>
  reason === "requested"
    ? [SessionEvent.event("compaction/dropped", { reason: why, ...(detail === undefined ? {} : { detail }) })]
    : [turnEnd(view, why === "failed" ? "compaction-failed" : "context-length", detail)]

/** What an interruption or a crash leaves of a compaction: the request is closed. Nothing was replaced. */
export const closeOpenCompaction = (view: SessionView): ReadonlyArray<NewEvent> => {
  const { open } = view.get(CompactionProjection)
  if (open === undefined) return []
  return [SessionEvent.event("step/failed", {
    step: open.step,
    attempt: open.attempt,
    reason: INTERRUPTED,
    message: "the request for a summary was interrupted",
    retryable: true,
    purpose: "compaction"
  })]
}

/** The same for an interruption by a person, which takes their wish back as well. */
export const interruptCompaction = (view: SessionView): ReadonlyArray<NewEvent> => [
  ...closeOpenCompaction(view),
  ...(view.get(CompactionProjection).wanted === "requested"
    ? [SessionEvent.event("compaction/dropped", { reason: "interrupted" })]
    : [])
]
