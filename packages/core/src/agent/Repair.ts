/**
 * What a session needs after its process died: every open question settled, every call with a result or ready to run.
 *
 * Pure and idempotent: a session that needs nothing gets nothing. What a call had done when the process died is not
 * known, so it is never run again, unless its tool says that running it twice is the same as running it once.
 */
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import { type NewEvent, SessionEvent } from "../journal/SessionEvent.ts"
import { reviewResult } from "../plan/PlanReview.ts"
import { PlanProjection } from "../plan/PlanState.ts"
import { type BatchCall, closeBatch, notStartedOutcome, openCalls } from "../tools/ToolBatch.ts"
import type { ToolCatalog } from "../tools/ToolCatalog.ts"
import { resultEvent, type ToolOutcome } from "../tools/ToolOutcome.ts"
import * as texts from "../tools/texts.ts"
import { TurnProjection } from "./Turn.ts"

type AskKind = "review" | "approval" | "question"

/** The fold of requests that were asked and not answered. */
export const OpenAsks: Projection<ReadonlyMap<string, AskKind>> = Projection.make<ReadonlyMap<string, AskKind>>({
  name: "asks",
  initial: new Map(),
  on: {
    "review/asked": (open, { request }) => new Map([...open, [request, "review"]]),
    "approval/asked": (open, { request }) => new Map([...open, [request, "approval"]]),
    "question/asked": (open, { request }) => new Map([...open, [request, "question"]]),
    "review/answered": (open, { request }) => without(open, request),
    "approval/answered": (open, { request }) => without(open, request),
    "question/answered": (open, { request }) => without(open, request)
  }
})

const without = (open: ReadonlyMap<string, AskKind>, request: string) =>
  new Map([...open].filter(([id]) => id !== request))

/** `continue`: calls that never started run, the turn goes on. `close`: every call gets a result and the turn ends. */
export type ResumeMode = "continue" | "close"

/** The events that put a session right. */
export const repair = (
  view: SessionView,
  catalog: ToolCatalog["Service"],
  mode: ResumeMode
): ReadonlyArray<NewEvent> => {
  const asks = [...view.get(OpenAsks)].map(([request, kind]) => withdrawn(request, kind))
  if (view.get(TurnProjection).phase === "idle") return asks
  const after = view.after(asks)
  if (mode === "continue") return [...asks, ...unknownResults(after, catalog)]
  return [
    ...asks,
    ...closeBatch(after, new Map(), (call) => closedOutcome(after, call)),
    SessionEvent.event("turn/end", { turn: view.get(TurnProjection).turn, reason: "closed" })
  ]
}

const withdrawn = (request: string, kind: AskKind): NewEvent => {
  const settled = { request, outcome: "withdrawn" as const, by: "session" }
  switch (kind) {
    case "review":
      return SessionEvent.event("review/answered", settled)
    case "approval":
      return SessionEvent.event("approval/answered", settled)
    case "question":
      return SessionEvent.event("question/answered", settled)
  }
}

const unknown = ({ record }: BatchCall): ToolOutcome => ({
  outcome: "unknown",
  code: "outcome_unknown",
  content: texts.outcomeUnknown(record.name)
})

/** Results for the calls that had started: none if all of them can run again, else `unknown` for each. */
const unknownResults = (view: SessionView, catalog: ToolCatalog["Service"]): ReadonlyArray<NewEvent> => {
  const started = openCalls(view).filter((call) => call.status === "started")
  if (started.every(({ record }) => catalog.get(record.name)?.idempotent === true)) return []
  return started.map((call) => resultEvent(call.record, unknown(call)))
}

/** An answered review counts even when nobody carries the turn on; any other call that never started stays undone. */
const closedOutcome = (view: SessionView, call: BatchCall): ToolOutcome => {
  if (call.status === "started") return unknown(call)
  const fold = view.get(PlanProjection)
  const answer = fold.answers.get(call.record.id)
  if (answer !== undefined && answer.outcome !== "withdrawn") {
    return reviewResult(answer.outcome, answer.text, { wasActive: fold.state.active, by: "session" })
  }
  return notStartedOutcome(call.record.name)
}
