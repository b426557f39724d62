/**
 * The boundary: everything that a step begins with, decided in one transaction.
 *
 * Pure. Order: what comes into force, the messages that waited, notices, the header if it must change, `step/open`.
 */
import type { Schema } from "effect"
import type { Decision, SessionView } from "../journal/Session.ts"
import { type NewEvent, SessionEvent } from "../journal/SessionEvent.ts"
import type { BoundaryContribution } from "../model/Boundary.ts"
import {
  assemble,
  dueAppended,
  dueHeader,
  HeaderProjection,
  renderTail,
  type StateSections,
  type TailPart
} from "../model/ModelRequest.ts"
import type { ModelRequest } from "../model/ModelTransport.ts"
import type { PromptSection } from "../model/PromptSection.ts"
import { PlanProjection } from "../plan/PlanState.ts"
import type { CatalogTool } from "../tools/ToolCatalog.ts"
import type { ToolGate } from "../tools/ToolGate.ts"
import { deliver } from "./Inbox.ts"
import { TurnProjection, upcomingStep } from "./Turn.ts"

/** What a program brings to a boundary. */
export interface StepParts {
  readonly boundaries: ReadonlyArray<BoundaryContribution>
  readonly sections: ReadonlyArray<PromptSection>
  readonly tools: ReadonlyArray<CatalogTool>
  readonly gates: ReadonlyArray<ToolGate>
  readonly placement: StateSections
  readonly encoding: string
  readonly settings: { readonly [key: string]: Schema.Json }
  readonly tail: (view: SessionView) => ReadonlyArray<TailPart>
}

export interface OpenedStep {
  readonly step: number
  readonly attempt: number
  readonly request: ModelRequest
}

/** Opens the next step, or the next attempt at the current one. */
export const openStep = (start: SessionView, parts: StepParts): Decision<OpenedStep> => {
  const events: Array<NewEvent> = []
  let view = start
  const add = (more: ReadonlyArray<NewEvent>) => {
    if (more.length === 0) return
    events.push(...more)
    view = view.after(more)
  }
  for (const { commit } of parts.boundaries) if (commit !== undefined) add(commit(view))
  add(deliver(view))
  for (const { notices } of parts.boundaries) if (notices !== undefined) add(notices(view))
  if (parts.placement === "history") add(dueAppended(view, parts.sections))
  const header = dueHeader(view, {
    encoding: parts.encoding,
    sections: parts.sections,
    tools: parts.tools.filter((tool) => tool.shown).map((tool) => tool.definition),
    hidden: hiddenTools(view, parts),
    settings: parts.settings,
    placement: parts.placement
  })
  if (header !== undefined) add([header])
  const tail = renderTail(view, parts.sections, parts.placement, parts.tail(view))
  const opened = upcomingStep(view.get(TurnProjection))
  add([SessionEvent.event("step/open", {
    turn: view.get(TurnProjection).turn,
    ...opened,
    headerHash: view.get(HeaderProjection).current?.hash ?? "",
    tail,
    planActive: view.get(PlanProjection).state.active
  })])
  return { events, value: { ...opened, request: assemble(view, tail) } }
}

const hiddenTools = (view: SessionView, { gates, tools }: StepParts): ReadonlyArray<string> => {
  const hiding = gates.flatMap((gate) => gate.hides === undefined ? [] : [gate.hides])
  if (hiding.length === 0) return []
  return tools.filter((tool) => hiding.some((hides) => hides(view, tool))).map((tool) => tool.name)
}
