/**
 * What a generated run does next, before it is known what there is to act upon.
 *
 * A choice names no session and no question: it is resolved against the situation in which its turn comes, so that most of what is
 * generated means something, and what remains after shrinking still does.
 */
import * as fc from "fast-check"
import { type AnswerKind, answerKinds } from "./model/Answers.ts"
import { type AppendFault, everybody, parentOf, type Who } from "./model/Draft.ts"
import { type Deed, PlanModel } from "./model/PlanModel.ts"
import type { CallSpec } from "./model/Vocabulary.ts"
import type { Situation } from "./real/RealWorld.ts"

/** A deed, or the arming of a death that comes with an append. */
export type Act = Deed | {
  readonly do: "die-at"
  readonly who: Who
  readonly after: number
  readonly moment: "before" | "after"
}

export interface Choice {
  readonly what: Act["do"]
  /** Which of those that can be acted upon. */
  readonly n: number
  readonly on: boolean
  readonly text: "" | "off" | "message"
  readonly calls: ReadonlyArray<number>
  readonly answer: AnswerKind
  readonly fault: AppendFault
  readonly after: number
  /** How many steps the program makes before the deed, where nobody waits for it to come to rest. */
  readonly pause: number
}

const weights: ReadonlyArray<readonly [Act["do"], number]> = [
  ["reply", 16],
  ["say", 6],
  ["answer", 9],
  ["select", 7],
  ["command", 3],
  ["finish", 4],
  ["wait", 3],
  ["interrupt", 3],
  ["spawn", 3],
  ["fail-request", 3],
  ["fail-append", 3],
  ["close-plan", 1],
  ["open-plan", 3],
  ["reopen", 2],
  ["resume", 4],
  ["crash", 2],
  ["die-at", 2],
  ["late-answer", 1]
]

/** Half of what a person answers is the plain yes that lets things go on. */
const answers = fc.oneof(
  { weight: 5, arbitrary: fc.constant<AnswerKind>("yes") },
  { weight: 6, arbitrary: fc.constantFrom(...answerKinds) }
)

/** Generates choices over so many kinds of calls. */
export const choices = (calls: number): fc.Arbitrary<Choice> =>
  fc.record({
    what: fc.oneof(...weights.map(([what, weight]) => ({ weight, arbitrary: fc.constant(what) }))),
    n: fc.nat(5),
    on: fc.boolean(),
    text: fc.constantFrom<Choice["text"]>("", "off", "message"),
    calls: fc.array(fc.nat(calls - 1), { maxLength: 4 }),
    answer: answers,
    fault: fc.constantFrom<AppendFault>("refused", "lost", "kept"),
    after: fc.integer({ min: 1, max: 4 }),
    pause: fc.oneof(fc.nat(8), fc.nat(120))
  })

const pick = <A>(items: ReadonlyArray<A>, n: number): A | undefined => items[n % Math.max(1, items.length)]

/** What a choice is here and now; `undefined`: there is nothing to act upon. `turn` numbers what is said. */
export const resolve = (
  choice: Choice,
  now: Situation,
  specs: ReadonlyArray<CallSpec>,
  turn: number
): Act | undefined => {
  const { after, answer, fault, n, on, text, what } = choice
  const of = <D>(items: ReadonlyArray<Who>, make: (who: Who) => D): D | undefined => {
    const who = pick(items, n)
    return who === undefined ? undefined : make(who)
  }
  switch (what) {
    case "spawn": {
      const next = everybody.find((who) => !now.exists.includes(who))
      const above = next === undefined ? undefined : parentOf[next]
      return next === undefined || (above !== undefined && !now.exists.includes(above))
        ? undefined
        : { do: what, who: next }
    }
    case "select":
      return of(now.exists, (who) => ({ do: what, who, on }))
    case "say":
      return of(now.exists, (who) => ({ do: what, who, text: `${who}: ${turn}` }))
    case "command":
      return of(now.exists, (who) => ({ do: what, who, text: text === "message" ? `${who}: ${turn}` : text }))
    case "reply":
      return of(now.requesting, (who) => ({ do: what, who, calls: choice.calls.map((i) => specs[i]!.call) }))
    case "fail-request":
      return of(now.requesting, (who) => ({ do: what, who, retryable: on }))
    case "answer":
      return now.shown === undefined ? undefined : { do: what, who: now.shown, answer }
    case "finish": {
      const body = pick(now.bodies, n)
      return body === undefined ? undefined : { do: what, ...body }
    }
    case "wait":
      return now.sleeping ? { do: what } : undefined
    case "interrupt":
      return of(now.running, (who) => ({ do: what, who }))
    case "fail-append":
      return of(now.exists, (who) => ({ do: what, who, after, fault }))
    case "die-at":
      return of(now.exists, (who) => ({ do: what, who, after, moment: on ? "before" : "after" }))
    case "close-plan":
      return now.planOpen ? { do: what } : undefined
    case "open-plan":
      return now.planOpen ? undefined : { do: what }
    case "reopen":
      return of(now.exists, (who) => ({ do: what, who }))
    case "resume":
      return of(now.cut, (who) => ({ do: what, who, mode: on ? "continue" : "close" }))
    case "mend":
    case "crash":
    case "late-answer":
      return now.exists.length === 0 ? undefined : { do: what }
  }
}

/** What there is to act upon, as the model knows it. */
export const situationOf = (model: PlanModel): Situation => {
  const exists = everybody.filter((who) => model.agents[who] !== undefined)
  const at = (wait: string) => exists.filter((who) => PlanModel.waitOf(model, who)?.at === wait)
  return {
    exists,
    requesting: at("request"),
    bodies: exists.flatMap((who) => {
      const wait = PlanModel.waitOf(model, who)
      return wait?.at === "bodies" ? wait.open.map((call) => ({ who, call })) : []
    }),
    shown: model.queue[0],
    running: exists.filter((who) => model.agents[who]?.run !== undefined),
    cut: exists.filter((who) => model.agents[who]?.run === undefined && model.agents[who]?.state.phase !== "idle"),
    sleeping: at("retry").length > 0 || model.queue.length > 0,
    planOpen: model.epoch !== 0
  }
}

/** A deed in words, for the trace of a failing run. */
export const tell = (act: Act, specs: ReadonlyArray<CallSpec>): string => {
  switch (act.do) {
    case "spawn":
      return `${act.who} begins${act.who === "root" ? "" : `, below ${parentOf[act.who]}`}`
    case "select":
      return `the person selects plan mode ${act.on ? "on" : "off"} (${act.who})`
    case "say":
      return `the person says "${act.text}"`
    case "command":
      return `the person types /plan ${act.text} (${act.who})`
    case "reply": {
      const made = act.calls.map((call) =>
        specs.find((item) => item.call.name === call.name && item.call.args === call.args)?.words ?? call.name
      )
      return `the model of ${act.who} ${made.length === 0 ? "is done" : `calls ${made.join(", ")}`}`
    }
    case "fail-request":
      return `the request of ${act.who} fails${act.retryable ? "" : " for good"}`
    case "answer":
      return `the person answers ${act.who}: ${act.answer}`
    case "late-answer":
      return "the person says yes to every question that was taken away"
    case "finish":
      return `the body of call ${act.call} of ${act.who} ends`
    case "wait":
      return "an hour passes"
    case "interrupt":
      return `${act.who} is interrupted`
    case "fail-append":
      return `append ${act.after} of ${act.who} from here will fail (${act.fault})`
    case "mend":
      return "the disk works again"
    case "die-at":
      return `the process will die ${act.moment} append ${act.after} of ${act.who} from here`
    case "close-plan":
      return "plan mode's scope is closed"
    case "open-plan":
      return "plan mode's scope is opened again"
    case "reopen":
      return `${act.who} is closed and opened again`
    case "resume":
      return `${act.who} is resumed (${act.mode})`
    case "crash":
      return "the process is killed, and another one opens the journals"
  }
}
