/** What a stored session must satisfy, as a pure function of its events. */
import { OpenAsks, Projection, type SessionEvent, type StoredEvent, ToolBatch } from "@holdfast/core"

export interface Finding {
  readonly seq: number
  readonly text: string
}

/** Faults of the stored form: a gap, another session's event, a clock that went backwards (which is allowed, and said). */
export const storedFindings = (events: ReadonlyArray<StoredEvent>): ReadonlyArray<Finding> =>
  events.flatMap((event, i) => [
    ...(event.seq === i ? [] : [{ seq: i, text: `event ${i} has the number ${event.seq}` }]),
    ...(event.session === events[0]?.session
      ? []
      : [{ seq: i, text: `event ${i} belongs to session ${event.session}` }]),
    ...(i === 0 && event.type !== "session/created"
      ? [{ seq: 0, text: `the first event is ${event.type} and not session/created` }]
      : [])
  ])

/** Faults of what the events say: results without calls, answers without questions, `plan/mode` that does not alternate. */
export const meaningFindings = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  const results = new Set<string>()
  const calls = new Set<string>()
  const asked = new Set<string>()
  let planning = false
  const note = (event: SessionEvent, text: string) => findings.push({ seq: event.seq, text })
  for (const event of events) {
    switch (event.type) {
      case "message/assistant":
        for (const call of event.data.calls) calls.add(call.id)
        break
      case "tool/result":
        if (!calls.has(event.data.call)) note(event, `a result for the unknown call ${event.data.call}`)
        if (results.has(event.data.call)) note(event, `a second result for ${event.data.call}`)
        results.add(event.data.call)
        break
      case "review/asked":
      case "approval/asked":
      case "question/asked":
        if (asked.has(event.data.request)) note(event, `the request ${event.data.request} was asked twice`)
        asked.add(event.data.request)
        break
      case "review/answered":
      case "approval/answered":
      case "question/answered":
        if (!asked.has(event.data.request)) note(event, `an answer to the unknown request ${event.data.request}`)
        break
      case "plan/mode":
        if (event.data.active === planning) note(event, `plan/mode repeats ${String(planning)}`)
        planning = event.data.active
    }
  }
  return findings
}

/** What the next opening would put right: open calls and questions. It is no fault. */
export const unfinished = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<string> => {
  const batch = Projection.fold(ToolBatch, events)
  const open = batch.calls.filter((call) => call.status !== "done").map((call) =>
    `${call.record.name} has no result yet`
  )
  const asks = [...Projection.fold(OpenAsks, events).keys()].map((request) => `${request} is not answered yet`)
  return [...open, ...asks]
}
