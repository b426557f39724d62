/** The model of a batch: signal, gate, approval, start, body, one result each, in call order. */
import { type AgentState, askOf, effective } from "./AgentState.ts"
import { codeOf, outcomeFor } from "./Answers.ts"
import type { AnswerKind } from "./Answers.ts"
import {
  agentOf,
  closedOn,
  type Draft,
  due,
  kindIn,
  openPlaces,
  parentOf,
  type Run,
  specOfCall,
  transact,
  type Who
} from "./Draft.ts"
import type { AskKind, Fact } from "./Fact.ts"
import type { CallSpec } from "./Vocabulary.ts"

const know = (run: Run, call: number, code: string) => {
  run.outcomes = new Map([...run.outcomes, [call, code]])
}

const specAt = (d: Draft, state: AgentState, call: number): CallSpec => specOfCall(d, state.calls[call]?.call)

/** Reading calls that ask nobody, and calls that cannot be understood, share a group; any other call stands alone. */
const isAlone = (d: Draft, state: AgentState, run: Run, call: number): boolean => {
  const kind = kindIn(specAt(d, state, call), run.epoch)
  return kind !== "read" && kind !== "unknown"
}

const groupOf = (d: Draft, state: AgentState, run: Run, rest: ReadonlyArray<number>): ReadonlyArray<number> => {
  const end = rest.findIndex((call) => isAlone(d, state, run, call))
  return end === 0 ? rest.slice(0, 1) : end === -1 ? rest : rest.slice(0, end)
}

/** What stops a call before anybody is bothered with it. */
const stopped = (d: Draft, who: Who, run: Run, spec: CallSpec): string | undefined => {
  const kind = kindIn(spec, run.epoch)
  if (kind === "unknown") return "unknown_tool"
  if ((kind === "mutate" || kind === "danger") && closedOn(d, who)) return "plan_gate"
  return (kind === "read" || kind === "mutate" || kind === "danger") && spec.invalid ? "invalid_arguments" : undefined
}

/** The reading calls at the head of a reply start with it; not so where hooks must see each call first. */
export const leadingStarts = (d: Draft, calls: AgentState["calls"]): ReadonlyArray<Fact> => {
  if (d.hooked) return []
  const facts: Array<Fact> = []
  for (const [i, { call }] of calls.entries()) {
    const spec = specOfCall(d, call)
    if (spec.kind !== "read" || spec.invalid) break
    facts.push({ is: "started", call: i, name: call.name, by: "none" })
  }
  return facts
}

const startBody = (d: Draft, who: Who, run: Run, state: AgentState, calls: ReadonlyArray<number>): boolean => {
  d.starts = [...d.starts, ...calls.map((i) => ({ who, name: state.calls[i]!.call.name }))]
  const slow = calls.filter((i) => specAt(d, state, i).slow)
  for (const i of calls) if (!slow.includes(i)) know(run, i, "ok")
  if (slow.length > 0) run.wait = { at: "bodies", open: slow }
  return slow.length === 0
}

const ask = (d: Draft, who: Who, run: Run, kind: AskKind, call: number, before: ReadonlyArray<Fact>): false => {
  transact(d, who, (state) => [...due(state, run.outcomes), ...before, { is: "asked", kind, call }])
  run.wait = { at: "ask", kind, call }
  d.queue = [...d.queue, who]
  return false
}

/** Whether an answer that stands in the log decides this call: used once, and only for what was shown. */
const stands = (d: Draft, who: Who, state: AgentState, call: number): string | undefined => {
  const asked = askOf(state, call)
  if (asked?.outcome === undefined || asked.outcome.startsWith("withdrawn by session")) return undefined
  if (asked.kind === "approval" || asked.kind === "question") {
    if (asked.outcome === "withdrawn") return undefined
    if (specAt(d, state, call).stamped && d.hooked && asked.at < agentOf(d, who).since) return undefined
  }
  return asked.outcome
}

const changing = (d: Draft, who: Who, run: Run, call: number): boolean => {
  const { state } = agentOf(d, who)
  const earlier = stands(d, who, state, call)
  if (earlier !== undefined) return decided(d, who, run, call, earlier)
  const { grant } = specAt(d, state, call)
  if (grant !== undefined && state.grants.includes(grant)) return start(d, who, run, call, "grant")
  return ask(d, who, run, "approval", call, [])
}

const decided = (d: Draft, who: Who, run: Run, call: number, outcome: string): boolean => {
  const code = codeOf("approval", outcome)
  if (code === undefined) return start(d, who, run, call, outcome === "granted" ? "grant" : "person")
  know(run, call, outcome === "gated" && closedOn(d, who) ? "plan_gate" : code)
  return true
}

/** The gate is asked again in the transaction that logs the start. */
const start = (d: Draft, who: Who, run: Run, call: number, by: string): boolean => {
  let closed = false
  const name = agentOf(d, who).state.calls[call]!.call.name
  const changes = by !== "none"
  transact(d, who, (state) => {
    closed = changes && closedOn(d, who)
    return closed ? [] : [...due(state, run.outcomes), { is: "started", call, name, by }]
  })
  if (!closed) return startBody(d, who, run, agentOf(d, who).state, [call])
  know(run, call, "plan_gate")
  return true
}

const enter = (d: Draft, who: Who, run: Run, call: number, spec: CallSpec): true => {
  if (spec.invalid) know(run, call, "invalid_arguments")
  else if (run.epoch !== d.epoch) know(run, call, "tool_closed")
  else {
    let code = "ok"
    transact(d, who, (state) => {
      if (parentOf[who] !== undefined) code = "plan_root_only"
      else if (state.approvedInStep) code = "plan_already_approved"
      else if (!effective(state)) return [...due(state, run.outcomes), { is: "selected", on: true, by: "model" }]
      return []
    })
    know(run, call, code)
  }
  return true
}

const exit = (d: Draft, who: Who, run: Run, call: number, spec: CallSpec): boolean => {
  const { state } = agentOf(d, who)
  const settle = (code: string): true => {
    know(run, call, code)
    return true
  }
  if (spec.invalid) return settle("invalid_plan")
  const before = askOf(state, call)?.outcome
  if (run.epoch !== d.epoch) return settle(codeOf("review", before ?? "withdrawn by session") ?? "ok")
  const earlier = stands(d, who, state, call)
  if (earlier !== undefined) return settle(codeOf("review", earlier) ?? "ok")
  // Decided under the lock, on what the log says by then.
  transact(d, who, () => [])
  const now = agentOf(d, who).state
  if (parentOf[who] !== undefined) return settle("plan_root_only")
  if (now.approvedInStep) return settle("plan_already_approved")
  if (now.sentBack.includes(spec.plan ?? "")) return settle("plan_unchanged")
  return ask(d, who, run, "review", call, effective(now) ? [] : [{ is: "selected", on: true, by: "review" }])
}

const question = (d: Draft, who: Who, run: Run, call: number): boolean => {
  const earlier = stands(d, who, agentOf(d, who).state, call)
  if (earlier === undefined) return ask(d, who, run, "question", call, [])
  know(run, call, codeOf("question", earlier) ?? "ok")
  return true
}

/** Carries the open calls on until something must be waited for (`false`) or all have their result. */
export const runCalls = (d: Draft, who: Who, run: Run): boolean => {
  run.epoch ??= d.epoch
  while (true) {
    const { state } = agentOf(d, who)
    const rest = openPlaces(state).filter((i) => !run.outcomes.has(i))
    if (rest.length === 0) {
      transact(d, who, (now) => due(now, run.outcomes))
      run.outcomes = new Map()
      run.epoch = undefined
      return true
    }
    const runnable: Array<number> = []
    for (const call of groupOf(d, state, run, rest)) {
      const started = state.calls[call]!.status === "started"
      const code = started ? undefined : stopped(d, who, run, specAt(d, state, call))
      if (code === undefined) runnable.push(call)
      else know(run, call, code)
    }
    if (runnable.length > 0 && !together(d, who, run, runnable)) return false
  }
}

const together = (d: Draft, who: Who, run: Run, calls: ReadonlyArray<number>): boolean => {
  const { state } = agentOf(d, who)
  const first = calls[0]!
  const spec = specAt(d, state, first)
  switch (spec.kind) {
    case "enter":
      return enter(d, who, run, first, spec)
    case "exit":
      return exit(d, who, run, first, spec)
    case "ask":
      return question(d, who, run, first)
    case "mutate":
    case "danger":
      return changing(d, who, run, first)
    default:
      // With hooks, reading calls go one after the other; the rest of the group is looked at again.
      if (d.hooked) return start(d, who, run, first, "none")
      transact(d, who, (now) => {
        const starting = calls.filter((i) => now.calls[i]!.status === "waiting")
        if (starting.length === 0) return []
        const started = starting.map((i): Fact => ({
          is: "started",
          call: i,
          name: now.calls[i]!.call.name,
          by: "none"
        }))
        return [...due(now, run.outcomes), ...started]
      })
      return startBody(d, who, run, agentOf(d, who).state, calls)
  }
}

/** The outcome of the question that the turn waits for is logged; `false`: the call then waits for its body. */
export const answer = (d: Draft, who: Who, run: Run, outcome: string): boolean => {
  if (run.wait.at !== "ask") return false
  const { call, kind } = run.wait
  const wasPlanning = () => effective(agentOf(d, who).state)
  d.queue = d.queue.filter((other) => other !== who)
  const logged = kind === "review" && !wasPlanning() ? "withdrawn by user" : outcome
  transact(d, who, (state) => [
    { is: "answered", kind, outcome: logged },
    ...(logged === "approved" && effective(state) ? [{ is: "selected", on: false, by: "review" } as const] : [])
  ])
  if (kind === "approval") return decided(d, who, run, call, logged)
  know(run, call, codeOf(kind, logged) ?? "ok")
  return true
}

/** What a person's answer to the shown question must be logged as. */
export const outcomeOfAnswer = (d: Draft, who: Who, given: AnswerKind): string => {
  const agent = agentOf(d, who)
  const wait = agent.run?.wait
  if (wait?.at !== "ask") return "nobody asks"
  return outcomeFor(wait.kind, given, specAt(d, agent.state, wait.call).grant !== undefined)
}
