/**
 * A reference model of plan mode, gate, reviews and approvals: what must come of everything that a person, a model, a disk and
 * a dying process can do, one thing after the other.
 *
 * It is a second opinion: written from the design and the acceptance table, pure, and independent of the harness. `apply`
 * takes one deed and tells what every journal must hold afterwards.
 */
import { type AgentState, fold, initial } from "./AgentState.ts"
import type { AnswerKind } from "./Answers.ts"
import { outcomeOfAnswer } from "./Calls.ts"
import {
  agentOf,
  AppendFailed,
  type AppendFault,
  type Draft,
  everybody,
  type ModelAgent,
  type Sent,
  type Start,
  transact,
  type Wait,
  type Who
} from "./Draft.ts"
import type { Fact } from "./Fact.ts"
import {
  failRequest,
  finish,
  interrupt,
  lost,
  reconsider,
  repair,
  reply,
  retry,
  settle,
  skipGated,
  wake
} from "./Loop.ts"
import type { Call, Lookup } from "./Vocabulary.ts"

/** One thing that happens, with everything that there is to choose about it chosen. */
export type Deed =
  | { readonly do: "spawn"; readonly who: Who }
  | { readonly do: "select"; readonly who: Who; readonly on: boolean }
  | { readonly do: "say"; readonly who: Who; readonly text: string }
  /** `/plan`, `/plan off`, `/plan <text>`. */
  | { readonly do: "command"; readonly who: Who; readonly text: string }
  | { readonly do: "reply"; readonly who: Who; readonly calls: ReadonlyArray<Call> }
  | { readonly do: "fail-request"; readonly who: Who; readonly retryable: boolean }
  | { readonly do: "answer"; readonly who: Who; readonly answer: AnswerKind }
  /** An answer to a question that was taken away. */
  | { readonly do: "late-answer" }
  | { readonly do: "finish"; readonly who: Who; readonly call: number }
  /** Time passes: who waits to retry does, and the question that is shown expires. */
  | { readonly do: "wait" }
  | { readonly do: "interrupt"; readonly who: Who }
  | { readonly do: "fail-append"; readonly who: Who; readonly after: number; readonly fault: AppendFault }
  /** From here on appends work again. */
  | { readonly do: "mend" }
  | { readonly do: "close-plan" }
  | { readonly do: "open-plan" }
  | { readonly do: "reopen"; readonly who: Who }
  | { readonly do: "resume"; readonly who: Who; readonly mode: "continue" | "close" }
  | { readonly do: "crash" }

/** The model. A value: `apply` returns another one. */
export interface PlanModel {
  readonly agents: { readonly [K in Who]?: Readonly<ModelAgent> }
  /** Who waits for the person; the first one's question is shown. */
  readonly queue: ReadonlyArray<Who>
  /** 0 while plan mode's scope is closed. */
  readonly epoch: number
  readonly epochs: number
  readonly hooked: boolean
  readonly look: Lookup
}

/** What must come of a deed, beside the journals in the model itself. */
export interface Expectations {
  /** What the deed's own caller is told, where that matters. */
  readonly result: string | undefined
  /** Bodies of tools that start, in any order. */
  readonly starts: ReadonlyArray<Start>
  /** Requests that are sent. */
  readonly sent: ReadonlyArray<Sent>
  /** Set where the design leaves open what exactly happens; the model then takes the journals as they are. */
  readonly loose: string | undefined
}

const newAgent = (facts: ReadonlyArray<Fact>, state: AgentState): ModelAgent => ({
  log: facts,
  state,
  run: undefined,
  fault: undefined,
  since: 0
})

/** The model of a program that has just begun. `hooked`: a hook looks at every call before it runs. */
const make = (look: Lookup, hooked = false): PlanModel => ({
  agents: {},
  queue: [],
  epoch: 1,
  epochs: 1,
  hooked,
  look
})

const draftOf = (model: PlanModel): Draft => ({
  ...model,
  agents: Object.fromEntries(
    everybody.flatMap((who) => {
      const agent = model.agents[who]
      if (agent === undefined) return []
      const copy: ModelAgent = {
        ...agent,
        run: agent.run === undefined ? undefined : { ...agent.run },
        fault: agent.fault === undefined ? undefined : { ...agent.fault }
      }
      return [[who, copy]]
    })
  ),
  starts: [],
  sent: [],
  busy: new Set(),
  loose: undefined
})

const select = (d: Draft, who: Who, on: boolean): string => {
  if (d.epoch === 0) return "closed"
  let result = "noop"
  try {
    transact(d, who, (state) => {
      if ((state.pending?.on ?? state.active) === on) return []
      result = state.pending === undefined ? "queued" : "cancelled"
      return [{ is: "selected", on, by: "user" }]
    })
  } catch (error) {
    if (!(error instanceof AppendFailed)) throw error
    return "failed"
  }
  return result
}

const say = (d: Draft, who: Who, text: string): string => {
  const agent = agentOf(d, who)
  try {
    transact(d, who, (state) => {
      const before = agent.run === undefined ? repair(d, state, "close") : []
      const open = fold(before, d.look, state).phase !== "idle"
      return [...before, ...(open ? [] : [{ is: "turn" } as const]), { is: "input", text }]
    })
  } catch (error) {
    if (!(error instanceof AppendFailed)) throw error
    return "failed"
  }
  wake(d, who)
  return "said"
}

const command = (d: Draft, who: Who, text: string): string => {
  if (d.epoch === 0) return "unknown"
  const result = select(d, who, text !== "off")
  return text === "" || text === "off" || result === "failed" ? result : say(d, who, text)
}

const resume = (d: Draft, who: Who, mode: "continue" | "close"): string => {
  const agent = agentOf(d, who)
  let isOpen = false
  try {
    transact(d, who, (state) => {
      isOpen = state.phase !== "idle"
      return agent.run === undefined ? repair(d, state, mode) : []
    })
  } catch (error) {
    if (!(error instanceof AppendFailed)) throw error
    return "failed"
  }
  if (!isOpen) return "nothing"
  wake(d, who, lost(agent.state))
  return "resumed"
}

const reread = (d: Draft, who: Who): void => {
  const agent = agentOf(d, who)
  agent.state = fold(agent.log, d.look)
  agent.run = undefined
}

const perform = (d: Draft, deed: Deed): string | undefined => {
  switch (deed.do) {
    case "spawn":
      d.agents[deed.who] = newAgent([{ is: "created" }], fold([{ is: "created" }], d.look, initial))
      return
    case "select":
      return select(d, deed.who, deed.on)
    case "say":
      return say(d, deed.who, deed.text)
    case "command":
      return command(d, deed.who, deed.text)
    case "reply":
      return void reply(d, deed.who, deed.calls)
    case "fail-request":
      return void failRequest(d, deed.who, deed.retryable)
    case "answer":
      return void settle(d, deed.who, outcomeOfAnswer(d, deed.who, deed.answer))
    case "finish":
      return void finish(d, deed.who, deed.call)
    case "wait": {
      const [shown] = d.queue
      const retrying = everybody.filter((who) => d.agents[who]?.run?.wait.at === "retry")
      if (shown !== undefined) settle(d, shown, "expired")
      for (const who of retrying) retry(d, who)
      return
    }
    case "interrupt":
      return void interrupt(d, deed.who)
    case "fail-append":
      agentOf(d, deed.who).fault = { after: deed.after, kind: deed.fault }
      return
    case "mend":
      for (const who of everybody) {
        const agent = d.agents[who]
        if (agent !== undefined) agent.fault = undefined
      }
      return
    case "close-plan":
      d.epoch = 0
      for (const who of d.queue) {
        const wait = agentOf(d, who).run?.wait
        if (wait?.at === "ask" && wait.kind === "review") settle(d, who, "withdrawn by session")
      }
      return
    case "open-plan":
      d.epochs++
      d.epoch = d.epochs
      return
    case "reopen":
      interrupt(d, deed.who)
      return void reread(d, deed.who)
    case "resume":
      return resume(d, deed.who, deed.mode)
    case "crash":
      d.queue = []
      d.epochs++
      d.epoch = d.epochs
      for (const who of everybody) {
        const agent = d.agents[who]
        if (agent === undefined) continue
        reread(d, who)
        agent.fault = undefined
        agent.since = agent.log.length
      }
      return
    case "late-answer":
      return
  }
}

/** The model after one deed, and what must come of it. */
const apply = (model: PlanModel, deed: Deed): { readonly model: PlanModel; readonly expectations: Expectations } => {
  const d = draftOf(model)
  const [shown] = d.queue
  const result = perform(d, deed)
  reconsider(d)
  skipGated(d, shown)
  if (d.busy.size > 1) d.loose ??= "several agents act at once"
  const { agents, epoch, epochs, hooked, look, queue } = d
  return {
    model: { agents, epoch, epochs, hooked, look, queue },
    expectations: { result, starts: d.starts, sent: d.sent, loose: d.loose }
  }
}

/** What an agent's turn waits for, if it runs. */
const waitOf = (model: PlanModel, who: Who): Wait | undefined => model.agents[who]?.run?.wait

/** Takes the journals and the running turns as they are, where the model cannot or must not foretell them. */
const adopt = (
  model: PlanModel,
  seen: {
    readonly [K in Who]?: { readonly log: ReadonlyArray<Fact>; readonly known: number; readonly wait: Wait | undefined }
  },
  queue: ReadonlyArray<Who>
): PlanModel => ({
  ...model,
  queue,
  agents: Object.fromEntries(everybody.flatMap((who) => {
    const now = seen[who]
    if (now === undefined) return []
    const old = model.agents[who] ?? newAgent([], initial)
    const state = fold(now.log.slice(0, now.known), model.look)
    const run = now.wait === undefined
      ? undefined
      : { wait: now.wait, outcomes: outcomesOf(model, state, now.wait), epoch: old.run?.epoch ?? model.epoch }
    return [[who, { ...old, log: now.log, state, run, fault: undefined }]]
  }))
})

/** Outcomes that a running batch knows and has not logged: those of the group whose bodies still run. */
const outcomesOf = (model: PlanModel, state: AgentState, wait: Wait): ReadonlyMap<number, string> => {
  if (wait.at !== "bodies") return new Map()
  const known = new Map<number, string>()
  for (const [i, { call, status }] of state.calls.entries()) {
    if (status === "done" || wait.open.includes(i)) continue
    const { invalid, kind } = model.look(call)
    if (status === "started") known.set(i, "ok")
    else if (kind === "unknown") known.set(i, "unknown_tool")
    else if (kind === "read" && invalid) known.set(i, "invalid_arguments")
    else break
  }
  return known
}

/** Makes and runs the reference model. */
export const PlanModel = { make, apply, adopt, waitOf }
