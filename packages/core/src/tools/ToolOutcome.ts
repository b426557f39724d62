/**
 * How a call ended, as data: what the model is told, and what programs can tell apart.
 *
 * Every call id gets exactly one outcome, whatever happens. Texts too long for the model are cut at both ends and kept
 * whole beside the session where the program can.
 */
import { Cause, Context, Effect, Layer, Option, type Schema } from "effect"
import {
  type EventData,
  type NewEvent,
  SessionEvent,
  type SessionId,
  type ToolOutcomeKind
} from "../journal/SessionEvent.ts"
import * as texts from "./texts.ts"

export interface ToolOutcome {
  readonly outcome: ToolOutcomeKind
  readonly content: string
  /** Tells refusals and errors apart for programs: `plan_gate`, `unknown_tool`, `invalid_arguments` … */
  readonly code?: string
  /** Who decided against it: `gate`, `person`, `policy`, `hook`, `timeout`, `session`. */
  readonly by?: string
  readonly artifact?: string
  readonly facts?: { readonly [name: string]: Schema.Json }
  /** The turn ends after this batch and waits for the person. */
  readonly endsTurn?: "awaiting-user"
}

/** The event that records an outcome. */
export const resultEvent = (call: { readonly id: string; readonly name: string }, outcome: ToolOutcome): NewEvent =>
  SessionEvent.event(
    "tool/result",
    { call: call.id, name: call.name, ...outcome } satisfies EventData<"tool/result">
  )

export const refused = (code: string, by: string, content: string): ToolOutcome => ({
  outcome: "refused",
  code,
  by,
  content
})

export const failedOutcome = (code: string, content: string): ToolOutcome => ({ outcome: "error", code, content })

/** What a tool's success or failure value says to the model: a text as it is, anything else as JSON. */
export const render = (value: unknown): string => {
  if (typeof value === "string") return value
  if (value === undefined || value === null) return texts.noOutput
  if (typeof value === "object" && "message" in value && typeof value.message === "string" && "_tag" in value) {
    return value.message
  }
  try {
    return JSON.stringify(value) ?? texts.noOutput
  } catch {
    return texts.notJson
  }
}

/** The tag of a declared error tells programs which of a tool's failures it was. */
const tagOf = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null && "_tag" in value && typeof value._tag === "string"
    ? value._tag
    : undefined

/** The outcome of a body that ended with a cause instead of a value. */
export const fromCause = (name: string, cause: Cause.Cause<unknown>): ToolOutcome => {
  const failure = Cause.findErrorOption(cause)
  if (Option.isSome(failure)) {
    const text = render(failure.value)
    return failedOutcome(tagOf(failure.value) ?? "tool_failed", text.trim() === "" ? texts.failedSilently(name) : text)
  }
  if (Cause.hasDies(cause)) return failedOutcome("tool_defect", texts.defect(name))
  return { outcome: "interrupted", code: "interrupted", content: texts.interrupted(name) }
}

/**
 * Limits on what one result may put into the history. `characters` is the most that the model sees of it, head and tail
 * together (30,000, about 8K tokens: what the larger terminal agents use).
 */
export interface OutputLimit {
  readonly characters: number
}

export class ToolOutputLimit extends Context.Reference<OutputLimit>("@holdfast/core/ToolOutputLimit", {
  defaultValue: (): OutputLimit => ({ characters: 30_000 })
}) {
  static readonly layer = (limit: OutputLimit): Layer.Layer<never> => Layer.succeed(ToolOutputLimit, limit)
}

/** Cuts out the middle of a text that is longer than `limit`, never inside a surrogate pair. */
export const cut = (text: string, limit: number, where: string | undefined): string => {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  const head = text.slice(0, isHigh(text, half - 1) ? half - 1 : half)
  const start = text.length - half
  const tail = text.slice(isHigh(text, start - 1) ? start + 1 : start)
  return `${head}\n${texts.cutMarker(text.length - head.length - tail.length, text.length, where)}\n${tail}`
}

const isHigh = (text: string, index: number): boolean => {
  const code = text.charCodeAt(index)
  return code >= 0xd800 && code <= 0xdbff
}

/** Keeps texts that are too long for the model; returns where, or nothing when this program keeps none. */
export class Artifacts extends Context.Reference<{
  readonly keep: (session: SessionId, name: string, text: string) => Effect.Effect<string | undefined>
}>("@holdfast/core/Artifacts", {
  defaultValue: () => ({ keep: () => Effect.undefined })
}) {}
