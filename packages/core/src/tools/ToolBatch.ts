/** The fold of the tool calls of the newest reply: which wait, which have started, which have their result. */
import { Projection } from "../journal/Projection.ts"
import type { CallRecord, NewEvent } from "../journal/SessionEvent.ts"
import type { SessionView } from "../journal/Session.ts"
import type { CatalogTool } from "./ToolCatalog.ts"
import { resultEvent, type ToolOutcome } from "./ToolOutcome.ts"
import * as texts from "./texts.ts"

export interface BatchCall {
  readonly record: CallRecord
  readonly status: "waiting" | "started" | "done"
}

export interface Batch {
  readonly calls: ReadonlyArray<BatchCall>
  /** A result of this batch said that the turn ends and waits for the person. */
  readonly endsTurn: "awaiting-user" | undefined
}

const update = (batch: Batch, id: string, status: BatchCall["status"]): ReadonlyArray<BatchCall> =>
  batch.calls.map((call) => call.record.id === id ? { ...call, status } : call)

export const ToolBatch: Projection<Batch> = Projection.make<Batch>({
  name: "batch",
  initial: { calls: [], endsTurn: undefined },
  on: {
    "message/assistant": (_, { calls }) => ({
      calls: calls.map((record) => ({ record, status: "waiting" })),
      endsTurn: undefined
    }),
    "tool/started": (batch, { call }) => ({ ...batch, calls: update(batch, call, "started") }),
    "tool/result": (batch, { call, endsTurn }) => ({
      calls: update(batch, call, "done"),
      endsTurn: batch.endsTurn ?? endsTurn
    })
  }
})

/** The calls of the newest reply that have no result yet. */
export const openCalls = (view: SessionView): ReadonlyArray<BatchCall> =>
  view.get(ToolBatch).calls.filter((call) => call.status !== "done")

/**
 * The results that can be logged now: those of the calls that come next in call order. Results never overtake each other,
 * so a call that is still open holds back those behind it.
 */
export const dueResults = (view: SessionView, outcomes: ReadonlyMap<string, ToolOutcome>): ReadonlyArray<NewEvent> => {
  const events: Array<NewEvent> = []
  for (const { record } of openCalls(view)) {
    const outcome = outcomes.get(record.id)
    if (outcome === undefined) break
    events.push(resultEvent(record, outcome))
  }
  return events
}

/** What is known of a call whose turn is interrupted before its result is there. */
export const interruptedOutcome = ({ record, status }: BatchCall): ToolOutcome =>
  status === "started"
    ? { outcome: "interrupted", code: "interrupted", content: texts.interrupted(record.name) }
    : notStartedOutcome(record.name)

/** The result of a call whose turn ended before it was started. */
export const notStartedOutcome = (name: string): ToolOutcome => ({
  outcome: "not-started",
  code: "not_started",
  content: texts.notStarted(name)
})

/** What is known of a call that was cut off: what a signal asked and was told, or that its turn was interrupted. */
export const interruptedCall = (
  catalog: { readonly get: (name: string) => Pick<CatalogTool, "settled"> | undefined },
  view: SessionView
) =>
(call: BatchCall): ToolOutcome =>
  catalog.get(call.record.name)?.settled?.(view, call.record.id, "interrupted") ?? interruptedOutcome(call)

/** Results for every call that has none: the known ones, and what `otherwise` says of the rest. */
export const closeBatch = (
  view: SessionView,
  outcomes: ReadonlyMap<string, ToolOutcome>,
  otherwise: (call: BatchCall) => ToolOutcome
): ReadonlyArray<NewEvent> =>
  openCalls(view).map((call) => resultEvent(call.record, outcomes.get(call.record.id) ?? otherwise(call)))
