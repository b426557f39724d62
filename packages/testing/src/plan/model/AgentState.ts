/**
 * What follows from the facts of one session, by the rules of the design: the model's own fold, written from the design
 * and the acceptance table and not from the harness.
 */
import type { AskKind, Fact } from "./Fact.ts"
import type { Call, Lookup } from "./Vocabulary.ts"

export interface BatchCall {
  readonly call: Call
  readonly status: "waiting" | "started" | "done"
}

/** A question about a call of the current batch. `at` is its place in the log. */
export interface AskState {
  readonly kind: AskKind
  readonly call: number
  readonly at: number
  readonly outcome?: string
}

export interface AgentState {
  readonly length: number
  readonly active: boolean
  readonly pending: { readonly on: boolean; readonly by: string } | undefined
  /** What the model was last told about the mode, by a request or by a result; `undefined` before its first request. */
  readonly told: boolean | undefined
  readonly approvedInStep: boolean
  /** Plans sent back in this time of planning, and not talked about since. */
  readonly sentBack: ReadonlyArray<string>
  readonly phase: "idle" | "boundary" | "requesting" | "replied"
  readonly attempt: number
  readonly failures: number
  readonly header: boolean
  readonly inbox: ReadonlyArray<string>
  readonly calls: ReadonlyArray<BatchCall>
  readonly endsTurn: boolean
  /** The questions about the calls of the current batch, in the order of asking. */
  readonly asks: ReadonlyArray<AskState>
  readonly grants: ReadonlyArray<string>
}

export const initial: AgentState = {
  length: 0,
  active: false,
  pending: undefined,
  told: undefined,
  approvedInStep: false,
  sentBack: [],
  phase: "idle",
  attempt: 0,
  failures: 0,
  header: false,
  inbox: [],
  calls: [],
  endsTurn: false,
  asks: [],
  grants: []
}

/** Plan mode as it will be after the next boundary. */
export const effective = (state: AgentState): boolean => state.pending?.on ?? state.active

/** In force or selected: the gate is closed. An approval opens it only with the next step. */
export const gateClosed = (state: AgentState): boolean =>
  state.active || state.pending?.on === true || state.approvedInStep

/** The newest question about a call. */
export const askOf = (state: AgentState, call: number): AskState | undefined =>
  state.asks.findLast((ask) => ask.call === call)

const mark = (state: AgentState, call: number, status: BatchCall["status"]): ReadonlyArray<BatchCall> =>
  state.calls.map((item, i) => i === call ? { ...item, status } : item)

const answered = (state: AgentState, kind: AskKind, outcome: string, look: Lookup): AgentState => {
  const open = state.asks.find((ask) => ask.kind === kind && ask.outcome === undefined)
  if (open === undefined) return state
  const asks = state.asks.map((ask) => ask === open ? { ...ask, outcome } : ask)
  const spec = look(state.calls[open.call]?.call ?? { name: "", args: "" })
  if (kind === "approval") {
    const granted = outcome === "session" && spec.grant !== undefined ? [...state.grants, spec.grant] : state.grants
    return { ...state, asks, grants: granted }
  }
  if (kind !== "review") return { ...state, asks }
  const approved = outcome === "approved"
  return {
    ...state,
    asks,
    approvedInStep: state.approvedInStep || approved,
    // The result of the review tells the model where it stands.
    told: !(approved || outcome === "withdrawn by user"),
    sentBack: outcome === "keep-planning" || outcome === "feedback"
      ? [...state.sentBack, spec.plan ?? ""]
      : state.sentBack
  }
}

/** The state after one more fact. */
export const step = (before: AgentState, fact: Fact, look: Lookup): AgentState => {
  const state = { ...before, length: before.length + 1 }
  switch (fact.is) {
    case "turn":
      return { ...state, phase: "boundary", attempt: 0, failures: 0 }
    case "end":
      return { ...state, phase: "idle", attempt: 0, failures: 0 }
    case "input":
      return { ...state, inbox: [...state.inbox, fact.text] }
    case "user":
      return { ...state, inbox: state.inbox.slice(1), sentBack: [] }
    case "header":
      return { ...state, header: true }
    case "open":
      return {
        ...state,
        phase: "requesting",
        attempt: fact.attempt,
        failures: fact.attempt === 1 ? 0 : state.failures,
        told: fact.on,
        approvedInStep: false
      }
    case "failed":
      return { ...state, phase: "boundary", failures: state.failures + 1 }
    case "reply":
      return {
        ...state,
        phase: "replied",
        attempt: 0,
        failures: 0,
        calls: fact.calls.map((call) => ({ call, status: "waiting" })),
        endsTurn: false,
        asks: []
      }
    case "started":
      return { ...state, calls: mark(state, fact.call, "started") }
    case "result":
      return {
        ...state,
        calls: mark(state, fact.call, "done"),
        endsTurn: state.endsTurn || fact.code === "plan_review_dismissed"
      }
    case "mode":
      return { ...state, active: fact.on, pending: undefined }
    case "selected":
      return {
        ...state,
        pending: fact.on === state.active ? undefined : { on: fact.on, by: fact.by },
        told: fact.by === "model" ? fact.on : state.told,
        sentBack: fact.on ? state.sentBack : []
      }
    case "asked":
      return { ...state, asks: [...state.asks, { kind: fact.kind, call: fact.call, at: before.length }] }
    case "answered":
      return answered(state, fact.kind, fact.outcome, look)
    default:
      return state
  }
}

/** The state after all of these facts. */
export const fold = (facts: Iterable<Fact>, look: Lookup, from: AgentState = initial): AgentState => {
  let state = from
  for (const fact of facts) state = step(state, fact, look)
  return state
}
