/** The model of an agent's turn: boundaries, replies, calls, interruptions, and what is left when it was cut. */
import { type AgentState, askOf, fold } from "./AgentState.ts"
import { codeOf } from "./Answers.ts"
import { answer, leadingStarts, runCalls } from "./Calls.ts"
import {
  agentOf,
  AppendFailed,
  closeCalls,
  closedOn,
  type Draft,
  due,
  openPlaces,
  type Run,
  specOfCall,
  transact,
  type Who
} from "./Draft.ts"
import type { Fact } from "./Fact.ts"
import type { Call } from "./Vocabulary.ts"

/** Attempts at one step, as the real side is told to make. */
export const ATTEMPTS = 3

const upcomingAttempt = ({ attempt, phase }: AgentState): number =>
  attempt > 0 && (phase === "boundary" || phase === "requesting") ? attempt + 1 : 1

/** One transaction: the selection comes into force, messages, a notice where one is due, the header once, the step. */
const boundary = (d: Draft, who: Who, run: Run): void => {
  const isOpen = d.epoch !== 0
  transact(d, who, (state) => {
    const active = isOpen && state.pending !== undefined ? state.pending.on : state.active
    const facts: Array<Fact> = []
    if (active !== state.active) facts.push({ is: "mode", on: active })
    for (const text of state.inbox) facts.push({ is: "user", text })
    if (isOpen && state.told !== undefined && state.told !== active) facts.push({ is: "notice", on: active })
    if (!state.header) facts.push({ is: "header" })
    return [...facts, { is: "open", attempt: upcomingAttempt(state), on: active, guided: active && isOpen }]
  })
  d.sent = [...d.sent, { who, guided: agentOf(d, who).state.active && isOpen }]
  run.wait = { at: "request" }
}

/** Carries the turn on until it waits for something or rests. */
const advance = (d: Draft, who: Who, run: Run): void => {
  const agent = agentOf(d, who)
  while (true) {
    const { calls, endsTurn, inbox, phase } = agent.state
    if (phase === "idle") return void (agent.run = undefined)
    if (phase !== "replied") return boundary(d, who, run)
    if (openPlaces(agent.state).length > 0) {
      if (!runCalls(d, who, run)) return
    } else if (endsTurn && inbox.length === 0) transact(d, who, () => [{ is: "end", reason: "awaiting-user" }])
    else if (calls.length > 0 || inbox.length > 0) return boundary(d, who, run)
    else transact(d, who, () => [{ is: "end", reason: "completed" }])
  }
}

/** What a turn does until it waits again. An append that fails ends it; what the log holds then is closed later. */
const carryOn = (d: Draft, who: Who, act: (run: Run) => boolean): void => {
  const { run } = agentOf(d, who)
  if (run === undefined) return
  try {
    if (act(run)) advance(d, who, run)
  } catch (error) {
    if (!(error instanceof AppendFailed)) throw error
    agentOf(d, who).run = undefined
    d.queue = d.queue.filter((other) => other !== who)
  }
}

export const wake = (d: Draft, who: Who, outcomes: ReadonlyMap<number, string> = new Map()): void => {
  const agent = agentOf(d, who)
  if (agent.run !== undefined || agent.state.phase === "idle") return
  agent.run = { wait: { at: "request" }, outcomes, epoch: undefined }
  carryOn(d, who, () => true)
}

export const reply = (d: Draft, who: Who, calls: ReadonlyArray<Call>): void =>
  carryOn(d, who, () => {
    transact(d, who, (state) => {
      const fact: Fact = { is: "reply", calls, cut: false }
      const waiting = calls.map((call) => ({ call, status: "waiting" as const }))
      const ends = calls.length === 0 && state.inbox.length === 0
      return [fact, ...leadingStarts(d, waiting), ...(ends ? [{ is: "end", reason: "completed" } as const] : [])]
    })
    return true
  })

export const failRequest = (d: Draft, who: Who, retryable: boolean): void =>
  carryOn(d, who, (run) => {
    transact(d, who, (state) => [
      { is: "failed" },
      ...(retryable && state.failures + 1 < ATTEMPTS ? [] : [{ is: "end", reason: "failed" } as const])
    ])
    run.wait = { at: "retry" }
    return agentOf(d, who).state.phase === "idle"
  })

export const retry = (d: Draft, who: Who): void => carryOn(d, who, () => true)

export const settle = (d: Draft, who: Who, outcome: string): void =>
  carryOn(d, who, (run) => answer(d, who, run, outcome))

export const finish = (d: Draft, who: Who, call: number): void =>
  carryOn(d, who, (run) => {
    if (run.wait.at !== "bodies") return false
    run.outcomes = new Map([...run.outcomes, [call, "ok"]])
    const open = run.wait.open.filter((other) => other !== call)
    run.wait = { at: "bodies", open }
    return open.length === 0
  })

/** A question waits that has lost its point: the plan of a session that no longer plans, a change behind a closed gate. */
export const reconsider = (d: Draft): void => {
  for (const who of d.queue) {
    const { run, state } = agentOf(d, who)
    if (run?.wait.at !== "ask") continue
    const left = run.wait.kind === "review" && !(state.pending?.on ?? state.active)
    if (left) settle(d, who, "withdrawn by user")
  }
}

/** Who comes to the head of the line with a question that the gate has answered meanwhile is not shown. */
export const skipGated = (d: Draft, shown: Who | undefined): void => {
  for (let head = d.queue[0]; head !== undefined && head !== shown; head = d.queue[0]) {
    const wait = agentOf(d, head).run?.wait
    if (wait?.at !== "ask" || wait.kind !== "approval" || !closedOn(d, head)) return
    settle(d, head, "gated")
  }
}

/** What is known of a call that was cut off. */
const cutCode = (d: Draft, state: AgentState, call: number, end: "interrupted" | "closed"): string => {
  const { status, call: made } = state.calls[call]!
  if (status === "started") return end === "closed" ? "outcome_unknown" : "interrupted"
  const asked = askOf(state, call)
  const { kind } = specOfCall(d, made)
  if (asked?.outcome === undefined || asked.kind === "approval" || (kind === "exit" && d.epoch === 0)) {
    return "not_started"
  }
  if (end === "interrupted" && asked.outcome === "withdrawn by session") return "plan_review_interrupted"
  return codeOf(asked.kind, asked.outcome) ?? "not_started"
}

const withdrawal = (kind: "review" | "approval" | "question"): Fact => ({
  is: "answered",
  kind,
  outcome: kind === "review" ? "withdrawn by session" : "withdrawn"
})

export const interrupt = (d: Draft, who: Who): void => {
  const agent = agentOf(d, who)
  const { run } = agent
  if (run === undefined) return
  agent.run = undefined
  d.queue = d.queue.filter((other) => other !== who)
  if (agent.fault !== undefined) d.loose = "an append may fail while a turn is being closed"
  const { wait } = run
  if (wait.at === "bodies") { for (const i of wait.open) run.outcomes = new Map([...run.outcomes, [i, "interrupted"]]) }
  try {
    if (wait.at === "ask") {
      const gated = wait.kind === "approval" && closedOn(d, who)
      transact(d, who, () => [gated ? { is: "answered", kind: "approval", outcome: "gated" } : withdrawal(wait.kind)])
    }
    transact(d, who, (state) => [
      ...(state.phase === "requesting" ? [{ is: "reply", calls: [], cut: true } as const] : []),
      ...closeCalls(state, run.outcomes, (i) => cutCode(d, state, i, "interrupted")),
      ...(state.phase === "idle" ? [] : [{ is: "end", reason: "interrupted" } as const])
    ])
  } catch (error) {
    if (!(error instanceof AppendFailed)) throw error
  }
}

/** What puts a session right whose turn nobody carries on. */
export const repair = (d: Draft, state: AgentState, mode: "continue" | "close"): ReadonlyArray<Fact> => {
  const open = state.asks.filter((asked) => asked.outcome === undefined).map((asked) => withdrawal(asked.kind))
  if (state.phase === "idle") return open
  const after = fold(open, d.look, state)
  if (mode === "continue") return [...open, ...due(after, lost(after))]
  return [...open, ...closeCalls(after, new Map(), (i) => cutCode(d, after, i, "closed")), {
    is: "end",
    reason: "closed"
  }]
}

/** Calls that had started and have no result: what they did is not known, and they are never run again. */
export const lost = (state: AgentState): ReadonlyMap<number, string> =>
  new Map(
    openPlaces(state).flatMap((i) => state.calls[i]!.status === "started" ? [[i, "outcome_unknown"] as const] : [])
  )
