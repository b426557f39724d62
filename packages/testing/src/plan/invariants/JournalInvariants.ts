/** What the journal promises: no gaps, one result for each call, and nothing that a model sees that is not in it. */
import type { Message, SessionEvent } from "@holdfast/core"
import { each, type Invariant, isSettled, ofType } from "./Observation.ts"

const results = (events: ReadonlyArray<SessionEvent>, settled: boolean): string | undefined => {
  let waiting: Array<string> = []
  const seen = new Set<string>()
  for (const event of events) {
    switch (event.type) {
      case "message/assistant":
        if (waiting.length > 0) return `the reply at ${event.seq} comes before the result of ${waiting[0]}`
        for (const { id } of event.data.calls) {
          if (seen.has(id)) return `the call id ${id} is used again at ${event.seq}`
          seen.add(id)
        }
        waiting = event.data.calls.map((call) => call.id)
        break
      case "tool/result": {
        const next = waiting.shift()
        if (next !== event.data.call) return `the result at ${event.seq} is that of ${event.data.call}, due is ${next}`
        break
      }
      case "message/user":
      case "step/open":
      case "turn/end":
        if (waiting.length > 0) return `${event.type} at ${event.seq} comes before the result of ${waiting[0]}`
    }
  }
  return settled && waiting.length > 0 ? `${waiting[0]} has no result` : undefined
}

/** What is out of order among turns, their steps and the attempts at them, if anything is. */
export const turns = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  let open = false
  let step = 0
  let attempt = 0
  for (const event of events) {
    switch (event.type) {
      case "turn/start":
        if (open) return `a turn starts at ${event.seq} inside another`
        open = true
        attempt = 0
        break
      case "turn/end":
        if (!open) return `a turn ends at ${event.seq} and none is open`
        open = false
        break
      case "message/assistant":
        attempt = 0
        break
      case "step/open": {
        if (event.data.purpose !== undefined) break
        if (!open) return `a step opens at ${event.seq} outside a turn`
        const expected = attempt === 0 ? [step + 1, 1] : [step, attempt + 1]
        if (event.data.step !== expected[0] || event.data.attempt !== expected[1]) {
          return `step ${event.data.step}, attempt ${event.data.attempt} at ${event.seq} is out of order`
        }
        step = event.data.step
        attempt = event.data.attempt
      }
    }
  }
  return undefined
}

const startedOnce = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  const started = new Set<string>()
  for (const { data, seq } of ofType(events, "tool/started")) {
    if (started.has(data.call)) return `${data.call} starts again at ${seq}`
    started.add(data.call)
  }
  return undefined
}

const historyOf = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => {
    switch (event.type) {
      case "message/user":
        return [`user ${event.data.text}`]
      case "message/assistant":
        // An interrupted reply that had said nothing yet is no message.
        return event.data.interrupted === true && event.data.text === "" && event.data.reasoning === ""
          ? []
          : [`assistant ${event.data.text} ${event.data.calls.map(({ id }) => id).join(" ")}`]
      case "tool/result":
        return [`tool ${event.data.call} ${event.data.content}`]
      default:
        return []
    }
  })

const said = (message: Message): string => {
  switch (message.role) {
    case "user":
      return `user ${message.text}`
    case "assistant":
      return `assistant ${message.text} ${message.calls.map(({ id }) => id).join(" ")}`
    case "tool":
      return `tool ${message.call} ${message.text}`
  }
}

export const journalInvariants: ReadonlyArray<Invariant> = [
  {
    id: "3 order",
    says: "events are numbered from 0 without gaps",
    check: each(({ events }) => {
      const gap = events.findIndex(({ seq }, i) => seq !== i)
      return gap === -1 ? undefined : `event ${gap} is numbered ${events[gap]?.seq}`
    })
  },
  { id: "3 turns", says: "turns, steps and attempts follow each other", check: each(({ events }) => turns(events)) },
  {
    id: "6 results",
    says: "every call has exactly one result, in call order, before anything else is said",
    check: each((session) => results(session.events, isSettled(session)))
  },
  { id: "3 once", says: "no call starts twice", check: each(({ events }) => startedOnce(events)) },
  {
    id: "3 started",
    says: "a body starts after its start is durable, and once",
    check: ({ sessions, starts = [] }) => {
      const seen = new Set<string>()
      for (const { call, known, session, tool } of starts) {
        const key = `${session} ${call}`
        if (seen.has(key)) return `session ${session}: the body of ${tool} (${call}) ran twice`
        seen.add(key)
        const events = sessions.find(({ id }) => id === session)?.events.slice(0, known.get(session) ?? 0) ?? []
        if (!ofType(events, "tool/started").some(({ data }) => data.call === call)) {
          return `session ${session}: the body of ${tool} (${call}) ran before its start was in the journal`
        }
      }
      return undefined
    }
  },
  {
    id: "3 visible",
    says: "a model sees exactly what its journal holds; each request has a step of its own (B6)",
    check: ({ requests = [], sessions }) => {
      const used = new Set<string>()
      for (const { known, request, session } of requests) {
        const events = sessions.find(({ id }) => id === session)?.events.slice(0, known) ?? []
        const step = ofType(events, "step/open").at(-1)
        const key = `${session} ${step?.seq}`
        if (step === undefined || used.has(key)) {
          return `session ${session}: a request was sent that no step/open stands for`
        }
        used.add(key)
        if (request.tail !== step.data.tail) {
          return `session ${session}: the tail is not that of the step at ${step.seq}`
        }
        if (ofType(events, "session/compacted").length > 0) continue
        const logged = historyOf(events.slice(0, step.seq)).slice(0, step.data.through)
        const sent = request.messages.map(said)
        if (JSON.stringify(logged) !== JSON.stringify(sent)) {
          return `session ${session}: the request of the step at ${step.seq} holds other messages than the journal: ${
            JSON.stringify(sent)
          } and ${JSON.stringify(logged)}`
        }
      }
      return undefined
    }
  }
]
