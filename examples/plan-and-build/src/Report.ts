/** What the program prints when the work is done: the diff, the journal as a timeline, and what the requests cost. */
import type { SessionEvent } from "@holdfast/core"
import { Format } from "@holdfast/terminal"

const short = (text: string, length = 90): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}

const permissions = {
  none: "",
  person: ", approved by the person",
  grant: ", granted for the session",
  policy: ", allowed by a rule"
} as const

const describe = (event: SessionEvent): string | undefined => {
  switch (event.type) {
    case "turn/start":
      return `turn ${event.data.turn} starts`
    case "turn/end":
      return `turn ${event.data.turn} ends: ${event.data.reason}${
        event.data.detail === undefined ? "" : ` (${short(event.data.detail)})`
      }`
    case "message/user":
      return `${event.data.source.kind === "user" ? "user" : event.data.source.plugin}: ${short(event.data.text)}`
    case "request/header":
      return `header of the requests: system prompt and ${event.data.tools.length} tools (${event.data.reason})`
    case "step/open":
      return `request ${event.data.step}${event.data.attempt > 1 ? `, attempt ${event.data.attempt}` : ""}${
        event.data.planActive ? ", with the guidance of plan mode" : ""
      }`
    case "step/failed":
      return `request ${event.data.step} failed: ${short(event.data.message)}`
    case "message/assistant": {
      const calls = event.data.calls.map((call) => call.name).join(", ")
      return `model: ${calls === "" ? short(event.data.text) : calls}`
    }
    case "plan/selected":
      return `plan mode selected ${event.data.active ? "on" : "off"} by the ${event.data.by}`
    case "plan/mode":
      return `plan mode is ${event.data.active ? "on" : "off"}`
    case "review/asked":
      return `review asked: ${short(event.data.title)}`
    case "approval/asked":
      return `approval asked: ${short(event.data.title)}`
    case "question/asked":
      return `question asked: ${short(event.data.title)}`
    case "review/answered":
    case "approval/answered":
    case "question/answered":
      return `answered: ${event.data.outcome}${event.data.text === undefined ? "" : ` "${short(event.data.text)}"`}`
    case "tool/started":
      return `${event.data.name} starts${permissions[event.data.permission.by]}`
    case "tool/result":
      return `${event.data.name}: ${event.data.outcome}${event.data.code === undefined ? "" : ` [${event.data.code}]`}`
    default:
      return undefined
  }
}

/** One line for each event that a person may want to see. */
export const timeline = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<string> => {
  const first = events[0]?.at ?? 0
  return Format.timeline(events.flatMap((event) => {
    const text = describe(event)
    return text === undefined ? [] : [{ at: event.at - first, text }]
  }))
}

export interface RequestRow {
  readonly step: number
  readonly planning: boolean
  readonly prompt: number
  readonly hit: number
  readonly miss: number
  readonly completion: number
}

/** The answered requests of a session with the provider's own counts. */
export const requestRows = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<RequestRow> => {
  const planning = new Map<number, boolean>()
  return events.flatMap((event) => {
    if (event.type === "step/open") planning.set(event.data.step, event.data.planActive)
    if (event.type !== "message/assistant" || event.data.usage === undefined) return []
    const { completion, hit, miss, prompt } = event.data.usage
    return [{ step: event.data.step, planning: planning.get(event.data.step) ?? false, prompt, hit, miss, completion }]
  })
}

const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`

/** The table of requests: what the prompt held, what of it the provider had in its cache, and what it read anew. */
export const requestTable = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<string> => {
  const rows = requestRows(events)
  if (rows.length === 0) return []
  const sum = (of: (row: RequestRow) => number) => rows.reduce((total, row) => total + of(row), 0)
  const cells = (name: string, planning: string, row: Pick<RequestRow, "prompt" | "hit" | "miss" | "completion">) => [
    name,
    planning,
    String(row.prompt),
    String(row.hit),
    String(row.miss),
    percent(row.hit, row.prompt),
    String(row.completion)
  ]
  return Format.table(
    [
      { title: "request", align: "right" },
      { title: "planning" },
      { title: "prompt", align: "right" },
      { title: "from cache", align: "right" },
      { title: "read anew", align: "right" },
      { title: "hit rate", align: "right" },
      { title: "reply", align: "right" }
    ],
    [
      ...rows.map((row) => cells(String(row.step), row.planning ? "yes" : "", row)),
      cells("all", "", {
        prompt: sum((row) => row.prompt),
        hit: sum((row) => row.hit),
        miss: sum((row) => row.miss),
        completion: sum((row) => row.completion)
      })
    ]
  )
}
