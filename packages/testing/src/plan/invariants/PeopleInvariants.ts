/** What reviews, approvals and questions promise to the person. */
import { foldPlanMode, type SessionEvent } from "@holdfast/core"
import { each, type Invariant, isSettled, ofType } from "./Observation.ts"

const oneOutcome = (events: ReadonlyArray<SessionEvent>, settled: boolean): string | undefined => {
  const outcomes = new Map<string, number>()
  for (const event of events) {
    switch (event.type) {
      case "review/asked":
      case "approval/asked":
      case "question/asked":
        if (outcomes.has(event.data.request)) return `${event.data.request} is asked again at ${event.seq}`
        outcomes.set(event.data.request, 0)
        break
      case "review/answered":
      case "approval/answered":
      case "question/answered": {
        const { request } = event.data
        const count = outcomes.get(request)
        if (count === undefined) return `${request} is answered at ${event.seq} and was never asked`
        if (count > 0) return `${request} has a second outcome at ${event.seq}`
        outcomes.set(request, 1)
      }
    }
  }
  const open = settled ? [...outcomes].find(([, count]) => count === 0) : undefined
  return open === undefined ? undefined : `${open[0]} has no outcome`
}

/** A call that was answered is not asked about again, unless what would run has changed. */
const askedAgain = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  const asked = new Map<string, { readonly call: string; readonly hash: string }>()
  const answered = new Set<string>()
  for (const event of events) {
    if (event.type === "review/asked" || event.type === "approval/asked") {
      const { call, hash, request } = event.data
      if (answered.has(`${event.type} ${call} ${hash}`)) return `${call} is asked about again at ${event.seq}`
      asked.set(request, { call, hash })
    }
    if (event.type !== "review/answered" && event.type !== "approval/answered") continue
    const about = asked.get(event.data.request)
    if (about === undefined || (event.data.outcome === "withdrawn" && event.data.by !== "user")) continue
    answered.add(`${event.type.replace("answered", "asked")} ${about.call} ${about.hash}`)
  }
  return undefined
}

/** What was approved is what starts: the same call, the same bytes, once, on consent. */
const approvals = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  const asked = new Map<string, { readonly call: string; readonly hash: string; outcome?: string }>()
  const grants = new Set<string>()
  const used = new Set<string>()
  for (const event of events) {
    if (event.type === "approval/asked") asked.set(event.data.request, { call: event.data.call, hash: event.data.hash })
    if (event.type === "approval/answered") {
      const about = asked.get(event.data.request)
      if (about !== undefined) about.outcome = event.data.outcome
      if (event.data.outcome === "session" && event.data.grant !== undefined) grants.add(event.data.grant)
    }
    if (event.type !== "tool/started") continue
    const { call, hash, permission } = event.data
    if (permission.by === "grant" && !grants.has(permission.key)) return `${call} starts on a grant that nobody gave`
    if (permission.by !== "person") continue
    const about = asked.get(permission.request)
    if (about?.outcome !== "once" && about?.outcome !== "session") {
      return `${call} starts at ${event.seq} without consent`
    }
    if (about.call !== call || about.hash !== hash) return `${call} starts at ${event.seq} on consent to something else`
    if (used.has(permission.request)) return `the consent ${permission.request} is used twice`
    used.add(permission.request)
  }
  return undefined
}

const oneApproval = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  let approved = false
  for (const event of events) {
    if (event.type === "step/open") approved = false
    if (event.type === "review/asked" && approved) {
      return `a plan is reviewed at ${event.seq} in a step that has its approval`
    }
    if (event.type === "review/answered" && event.data.outcome === "approved") approved = true
  }
  return undefined
}

/** Who has left plan mode has no plan under review any more, whatever the answer says. */
const approvedWhilePlanning = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  for (const { data, seq } of ofType(events, "review/answered")) {
    if (data.outcome !== "approved") continue
    const { active, pending } = foldPlanMode(events.slice(0, seq))
    if (!(pending?.active ?? active)) return `the plan is approved at ${seq}, after plan mode was left`
  }
  return undefined
}

const isExactly = (answer: unknown, options: ReadonlyArray<string>): boolean => {
  if (typeof answer !== "object" || answer === null || !("selected" in answer) || "text" in answer) return false
  const { selected } = answer
  return Array.isArray(selected) && selected.length === 1 && options.includes(String(selected[0]))
}

const consents = new Set<string>(["approved", "once", "session"])

export const peopleInvariants: ReadonlyArray<Invariant> = [
  {
    id: "E20 outcome",
    says: "every question has exactly one outcome",
    check: each((session) => oneOutcome(session.events, isSettled(session)))
  },
  {
    id: "E20 consent",
    says: "nothing is consent but exactly the permitting choice of the person, with no text beside it",
    check: ({ questions, sessions }) => {
      if (questions === undefined) return undefined
      for (const { events, id } of sessions) {
        for (const event of events) {
          if (event.type !== "review/answered" && event.type !== "approval/answered") continue
          const { outcome, request } = event.data
          if (!consents.has(outcome)) continue
          const seen = questions.find(({ question }) => question.id === `${id}/${request}`)
          const intent = seen?.question.intent
          const options = intent?.name === "plan-review"
            ? [intent.approve]
            : intent?.name === "approval"
            ? intent.allow
            : []
          if (!isExactly(seen?.answer, options)) {
            return `session ${id}: ${request} counts as "${outcome}" on the answer ${JSON.stringify(seen?.answer)}`
          }
        }
      }
      return undefined
    }
  },
  {
    id: "C6",
    says: "a review that the person ended by leaving plan mode is not answered by what comes after",
    check: each(({ events }) => approvedWhilePlanning(events))
  },
  { id: "E11", says: "one approval of a plan a step", check: each(({ events }) => oneApproval(events)) },
  {
    id: "E12",
    says: "what was answered is not asked again",
    check: each(({ events }) => askedAgain(events))
  },
  { id: "6 approval", says: "what was reviewed is what runs, once", check: each(({ events }) => approvals(events)) },
  {
    id: "6 attention",
    says: "no more questions are shown at once than the person can look at",
    check: ({ shown }) =>
      shown === undefined || shown.most <= shown.capacity ? undefined : `${shown.most} questions were shown at once`
  },
  {
    id: "E3",
    says: "the person sees the plan byte for byte",
    check: ({ questions = [], sessions }) => {
      for (const { events, id } of sessions) {
        const calls = ofType(events, "message/assistant").flatMap(({ data }) => data.calls)
        for (const { data } of ofType(events, "review/asked")) {
          const shown = questions.find(({ question }) => question.id === `${id}/${data.request}`)
          const written = calls.find((call) => call.id === data.call)
          if (shown === undefined || written === undefined) continue
          const { plan } = JSON.parse(written.arguments) as { readonly plan?: unknown }
          if (plan !== shown.question.detail) {
            return `session ${id}: ${data.request} shows another plan than ${data.call}`
          }
        }
      }
      return undefined
    }
  }
]
