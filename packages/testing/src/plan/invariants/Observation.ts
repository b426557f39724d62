/**
 * What an invariant looks at. Only the journals are needed; whatever else was seen lets more be said.
 */
import type { ModelRequest, PlanState, Question, SessionEvent } from "@holdfast/core"

export interface SessionSeen {
  readonly id: string
  readonly events: ReadonlyArray<SessionEvent>
  /** Nobody works on it any more: every question must have its outcome and every call its result. Default: its last turn has ended. */
  readonly settled?: boolean
  /** What a process that has it open knows, for the comparison with what is stored. */
  readonly memory?: { readonly length: number; readonly plan: PlanState }
}

/** A request as a transport got it. `known` is how many events its session had then. */
export interface RequestSeen {
  readonly session: string
  readonly request: ModelRequest
  readonly known: number
  /** Plan mode's layer was there, so that it could contribute its guidance. */
  readonly planOpen: boolean
}

/** The start of a tool's body. `known`: how many events of its session, and of each above it, were known in that tick. */
export interface StartRecord {
  readonly session: string
  readonly call: string
  readonly tool: string
  /** What the body really does, whatever the tool says of itself. */
  readonly changes: boolean
  readonly known: ReadonlyMap<string, number>
}

/** A question as the person saw it, and what came back; `undefined`: nothing came while it was asked. */
export interface QuestionRecord {
  readonly question: Question
  readonly answer: unknown
}

export interface Observation {
  readonly sessions: ReadonlyArray<SessionSeen>
  readonly requests?: ReadonlyArray<RequestSeen>
  readonly starts?: ReadonlyArray<StartRecord>
  readonly questions?: ReadonlyArray<QuestionRecord>
  /** How many questions stood before the person at once, and how many may. */
  readonly shown?: { readonly most: number; readonly capacity: number }
  /** The text of plan mode's section, by which a guided request is known. */
  readonly guidance?: string
}

/** Something that must hold of every observation. `check` says what is wrong, or nothing. */
export interface Invariant {
  /** The row of the acceptance table, or the section of the design. */
  readonly id: string
  readonly says: string
  readonly check: (seen: Observation) => string | undefined
}

export const ofType = <K extends SessionEvent["type"]>(
  events: ReadonlyArray<SessionEvent>,
  type: K
): ReadonlyArray<Extract<SessionEvent, { readonly type: K }>> =>
  events.filter((event): event is Extract<SessionEvent, { readonly type: K }> => event.type === type)

/** Checks each journal by itself. */
export const each = (check: (session: SessionSeen) => string | undefined): Invariant["check"] => ({ sessions }) => {
  for (const session of sessions) {
    const wrong = check(session)
    if (wrong !== undefined) return `session ${session.id}: ${wrong}`
  }
  return undefined
}

/** Whether a session's journal has come to rest. */
export const isSettled = ({ events, settled }: SessionSeen): boolean => {
  if (settled !== undefined) return settled
  const turn = events.findLast((event) => event.type === "turn/start" || event.type === "turn/end")
  return turn?.type !== "turn/start"
}

/** The session that spawned this one, if one did. */
export const parentIn = (seen: Observation, id: string): SessionSeen | undefined => {
  const session = seen.sessions.find((other) => other.id === id)
  const [created] = session === undefined ? [] : ofType(session.events, "session/created")
  return seen.sessions.find((other) => other.id === created?.data.parent?.session)
}

/** Whether plan mode closes the gate after these events: in force, selected, or approved in the step that still runs. */
export const closesGate = (events: ReadonlyArray<SessionEvent>): boolean => {
  let active = false
  let wish: boolean | undefined
  let approved = false
  for (const event of events) {
    if (event.type === "plan/mode") {
      active = event.data.active
      wish = undefined
    } else if (event.type === "plan/selected") wish = event.data.active
    else if (event.type === "review/answered" && event.data.outcome === "approved") approved = true
    else if (event.type === "step/open") approved = false
  }
  return active || wish === true || approved
}
