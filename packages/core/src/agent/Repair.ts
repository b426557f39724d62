/**
 * What a session needs after its process died: every open question settled, every call with a result or ready to run.
 *
 * Pure and idempotent: a session that needs nothing gets nothing. What a call had done when the process died is not
 * known, so it is never run again, unless its tool says that running it twice is the same as running it once.
 */
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import { type NewEvent, SessionEvent } from "../journal/SessionEvent.ts"
import { type BatchCall, closeBatch, dueResults, notStartedOutcome, openCalls } from "../tools/ToolBatch.ts"
import type { ToolCatalog } from "../tools/ToolCatalog.ts"
import type { ToolOutcome } from "../tools/ToolOutcome.ts"
import * as texts from "../tools/texts.ts"
import { closeOpenCompaction } from "./Compaction.ts"
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
  const open = [
    ...[...view.get(OpenAsks)].map(([request, kind]) => withdrawn(request, kind)),
    ...closeOpenCompaction(view)
  ]
  if (view.get(TurnProjection).phase === "idle") return open
  const after = view.after(open)
  // Results keep the order of their calls: one that comes after a call that still runs is logged by the runner.
  if (mode === "continue") return [...open, ...dueResults(after, lostCalls(after, catalog))]
  return [
    ...open,
    ...closeBatch(after, new Map(), (call) => closedOutcome(after, catalog, call)),
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

/**
 * The outcomes of the calls that had started when the process died and may not be run again: all but those of tools that
 * say that running them twice is the same as running them once.
 */
export const lostCalls = (
  view: SessionView,
  catalog: ToolCatalog["Service"]
): ReadonlyMap<string, ToolOutcome> =>
  new Map(
    openCalls(view).flatMap(({ record, status }): ReadonlyArray<readonly [string, ToolOutcome]> =>
      status === "started" && catalog.get(record.name)?.idempotent !== true
        ? [[record.id, unknownOutcome(record.name)]]
        : []
    )
  )

const unknownOutcome = (name: string): ToolOutcome => ({
  outcome: "unknown",
  code: "outcome_unknown",
  content: texts.outcomeUnknown(name)
})

/** What was asked and answered counts even when nobody carries the turn on; a call that never started stays undone. */
const closedOutcome = (
  view: SessionView,
  catalog: ToolCatalog["Service"],
  { record, status }: BatchCall
): ToolOutcome =>
  status === "started"
    ? unknownOutcome(record.name)
    : catalog.get(record.name)?.settled?.(view, record.id, "closed") ?? notStartedOutcome(record.name)
