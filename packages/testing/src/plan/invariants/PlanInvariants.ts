/** What plan mode promises about its own facts, and about what the model is told of them. */
import { foldPlanMode, type SessionEvent } from "@holdfast/core"
import { each, type Invariant, ofType } from "./Observation.ts"

const isNotice = (event: SessionEvent): boolean =>
  event.type === "message/user" && event.data.source.kind === "plugin" && event.data.source.plugin === "plan-mode"

const alternates = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  let active = false
  let wish: boolean | undefined
  for (const event of events) {
    if (event.type === "plan/selected") wish = event.data.active
    if (event.type !== "plan/mode") continue
    if (event.data.active === active) return `plan/mode at ${event.seq} changes nothing`
    if (wish !== event.data.active) return `plan/mode at ${event.seq} was not selected before`
    active = event.data.active
    wish = undefined
  }
  return undefined
}

/** What a `plan/mode` may be followed by until its step opens. */
const withinBoundary = new Set<string>(["plan/mode", "message/user", "request/header"])

const atBoundaries = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  let committed: number | undefined
  for (const event of events) {
    if (event.type === "plan/mode") committed = event.seq
    else if (committed === undefined) continue
    else if (event.type === "step/open") committed = undefined
    else if (!withinBoundary.has(event.type)) {
      return `plan/mode at ${committed} stands outside a boundary: ${event.type} at ${event.seq} comes before its step`
    }
  }
  return committed === undefined ? undefined : `plan/mode at ${committed} has no step`
}

const notices = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  let described: boolean | undefined
  let count = 0
  for (const event of events) {
    if (isNotice(event)) {
      if (described === undefined) return `the notice at ${event.seq} comes before any request`
      if (++count > 1) return `the notice at ${event.seq} is the second of its boundary`
    } else if (event.type === "message/user" && count > 0) {
      return `the message at ${event.seq} comes after the notice of its boundary`
    } else if (event.type === "step/open" && event.data.purpose === undefined) {
      described = event.data.planActive
      count = 0
    }
  }
  return undefined
}

/** A step needs a reason: a person's message, results, or a failed attempt. A notice is none. */
const causes = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  let cause = false
  for (const event of events) {
    if (event.type === "tool/result" || event.type === "step/failed" || event.type === "session/compacted") cause = true
    if (event.type === "message/user" && !isNotice(event)) cause = true
    if (event.type === "step/open" && event.data.attempt > 1) cause = true
    if (event.type !== "step/open") continue
    if (!cause) return `nothing but a notice caused the step at ${event.seq}`
    cause = false
  }
  return undefined
}

const exits = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  let previous: SessionEvent | undefined
  for (const event of events) {
    if (event.type === "plan/selected" && !event.data.active && event.data.by !== "user") {
      const consented = event.data.by === "review" && previous?.type === "review/answered" &&
        previous.data.outcome === "approved"
      if (!consented) return `the exit at ${event.seq} has no consent before it`
    }
    previous = event
  }
  return undefined
}

const header = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  let table: string | undefined
  let adopted = false
  for (const event of events) {
    if (event.type === "request/adopted") adopted = true
    if (event.type !== "request/header") continue
    const now = JSON.stringify(event.data.tools)
    if (table !== undefined && table !== now && !adopted) {
      return `the tool table changes at ${event.seq} and nobody adopted it`
    }
    table = now
    adopted = false
  }
  return undefined
}

export const planInvariants: ReadonlyArray<Invariant> = [
  {
    id: "S11",
    says: "plan/mode alternates, and each one was selected before",
    check: each(({ events }) => alternates(events))
  },
  {
    id: "S11 fold",
    says: "what a process knows of plan mode is the fold of what is stored",
    check: each(({ events, memory }) => {
      if (memory === undefined) return undefined
      if (memory.length > events.length) return `${memory.length} events are known and ${events.length} are stored`
      const stored = foldPlanMode(events.slice(0, memory.length))
      const [a, b] = [JSON.stringify(memory.plan), JSON.stringify(stored)]
      return a === b ? undefined : `known is ${a}, stored is ${b}`
    })
  },
  {
    id: "B10 boundary",
    says: "plan/mode stands only in the transaction that opens the step it holds for",
    check: each(({ events }) => atBoundaries(events))
  },
  {
    id: "B10 state",
    says: "a step says of plan mode what the fold at its boundary says",
    check: each(({ events }) => {
      for (const step of ofType(events, "step/open")) {
        const { active } = foldPlanMode(events.slice(0, step.seq))
        if (active !== step.data.planActive) {
          return `the step at ${step.seq} says ${step.data.planActive}, the fold ${active}`
        }
      }
      return undefined
    })
  },
  {
    id: "B10 guidance",
    says: "a request contains the guidance if and only if plan mode is in force at its boundary",
    check: ({ guidance, requests = [], sessions }) => {
      if (guidance === undefined) return undefined
      for (const { known, planOpen, request, session } of requests) {
        const events = sessions.find(({ id }) => id === session)?.events.slice(0, known) ?? []
        const { active } = foldPlanMode(events)
        const guided = request.tail?.includes(guidance) === true || request.header.system.includes(guidance)
        if (guided !== (active && planOpen)) {
          return `session ${session}: the request after event ${known - 1} is ${
            guided ? "" : "not "
          }guided, plan mode is ${active ? "on" : "off"}`
        }
      }
      return undefined
    }
  },
  {
    id: "B2-B5 notice",
    says: "a boundary has at most one notice, after its other messages, and none before the first request",
    check: each(({ events }) => notices(events))
  },
  { id: "B8", says: "a notice alone never causes a request", check: each(({ events }) => causes(events)) },
  { id: "B9", says: "no switch changes the tool table", check: each(({ events }) => header(events)) },
  {
    id: "E20 exit",
    says: "plan mode is left only by an exact consent or by the person's own wish",
    check: each(({ events }) => exits(events))
  }
]
