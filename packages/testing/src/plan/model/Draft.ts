/**
 * The state of the model, and the one way in which it changes: transactions on the log of one session.
 *
 * `apply` works on a private copy, so that the functions here may write to it and the model stays a value outside.
 */
import { type AgentState, fold, gateClosed, step } from "./AgentState.ts"
import type { AskKind, Fact } from "./Fact.ts"
import type { Call, CallSpec, Lookup } from "./Vocabulary.ts"

/** The three agents of a tree. */
export const everybody = ["root", "child", "leaf"] as const
export type Who = typeof everybody[number]

export const parentOf: { readonly [K in Who]: Who | undefined } = { root: undefined, child: "root", leaf: "child" }

/** How an append fails: not written; not known to the writer and in truth not written; the same, and written. */
export type AppendFault = "refused" | "lost" | "kept"

/** What a running turn waits for. */
export type Wait =
  | { readonly at: "request" }
  | { readonly at: "retry" }
  | { readonly at: "ask"; readonly kind: AskKind; readonly call: number }
  | { readonly at: "bodies"; readonly open: ReadonlyArray<number> }

/** A turn that somebody carries on. `outcomes` are known and not logged yet. */
export interface Run {
  wait: Wait
  outcomes: ReadonlyMap<number, string>
  /** The life of plan mode's scope in which the batch was looked at; 0: it was closed. */
  epoch: number | undefined
}

export interface ModelAgent {
  log: ReadonlyArray<Fact>
  /** The state that the process knows; it lags behind `log` after an append whose fate is unknown. */
  state: AgentState
  run: Run | undefined
  fault: { after: number; readonly kind: AppendFault } | undefined
  /** Where the log stood when the current process opened it. */
  since: number
}

/** A body that started, and a request that was sent. */
export interface Start {
  readonly who: Who
  readonly name: string
}
export interface Sent {
  readonly who: Who
  readonly guided: boolean
}

export interface Draft {
  readonly agents: { [K in Who]?: ModelAgent }
  /** Who waits for the person, in the order of asking; the first one's question is shown. */
  queue: ReadonlyArray<Who>
  /** The life of plan mode's scope; 0: it is closed. */
  epoch: number
  epochs: number
  readonly hooked: boolean
  readonly look: Lookup
  starts: ReadonlyArray<Start>
  sent: ReadonlyArray<Sent>
  /** Who has written in the current command. Two at once may do so in either order. */
  busy: ReadonlySet<Who>
  /** Why the design leaves open what exactly comes of the current command. */
  loose: string | undefined
}

/** The append of a transaction failed; the turn ends with the journal's error. */
export class AppendFailed extends Error {
  readonly who: Who
  constructor(who: Who) {
    super("the append failed")
    this.who = who
  }
}

/** Decides on what the log says, appends, and only then knows. */
export const transact = (d: Draft, who: Who, decide: (state: AgentState) => ReadonlyArray<Fact>): void => {
  const agent = agentOf(d, who)
  agent.state = fold(agent.log.slice(agent.state.length), d.look, agent.state)
  const facts = decide(agent.state)
  if (facts.length === 0) return
  d.busy = new Set([...d.busy, who])
  const { fault } = agent
  if (fault !== undefined && --fault.after === 0) {
    agent.fault = undefined
    if (fault.kind === "kept") agent.log = [...agent.log, ...facts]
    throw new AppendFailed(who)
  }
  agent.log = [...agent.log, ...facts]
  for (const fact of facts) agent.state = step(agent.state, fact, d.look)
}

export const agentOf = (d: Draft, who: Who): ModelAgent => {
  const agent = d.agents[who]
  if (agent === undefined) throw new Error(`there is no ${who}`)
  return agent
}

/** Whether the gate is closed on an agent, by itself or by one above it. */
export const closedOn = (d: Draft, who: Who | undefined): boolean => {
  if (who === undefined) return false
  const agent = d.agents[who]
  return (agent !== undefined && gateClosed(agent.state)) || closedOn(d, parentOf[who])
}

export const specOfCall = (d: Draft, call: Call | undefined): CallSpec => d.look(call ?? { name: "", args: "" })

/** A call as far as it can be understood in the life of plan mode that looked at it. */
export const kindIn = (spec: CallSpec, epoch: number | undefined): CallSpec["kind"] =>
  (spec.kind === "enter" || spec.kind === "exit") && epoch === 0 ? "unknown" : spec.kind

/** Results of the calls that come next in call order and whose outcome is known. */
export const due = (state: AgentState, outcomes: ReadonlyMap<number, string>): ReadonlyArray<Fact> => {
  const facts: Array<Fact> = []
  for (const [i, { call, status }] of state.calls.entries()) {
    if (status === "done") continue
    const code = outcomes.get(i)
    if (code === undefined) break
    facts.push({ is: "result", call: i, name: call.name, code })
  }
  return facts
}

export const openPlaces = (state: AgentState): ReadonlyArray<number> =>
  state.calls.flatMap(({ status }, i) => status === "done" ? [] : [i])

/** Results for every call that has none. */
export const closeCalls = (
  state: AgentState,
  outcomes: ReadonlyMap<number, string>,
  otherwise: (call: number) => string
): ReadonlyArray<Fact> =>
  openPlaces(state).map((i) => ({
    is: "result",
    call: i,
    name: state.calls[i]!.call.name,
    code: outcomes.get(i) ?? otherwise(i)
  }))
