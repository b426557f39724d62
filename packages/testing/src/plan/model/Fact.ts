/**
 * The facts of a session as the model speaks of them: what a journal says, without texts, hashes and times.
 *
 * The translation from events is the only place where the model touches the harness.
 */
import type { SessionEvent } from "@holdfast/core"
import type { Call } from "./Vocabulary.ts"

export type AskKind = "review" | "approval" | "question"

/** `call` is the place of a call in its reply. */
export type Fact =
  | { readonly is: "created" }
  | { readonly is: "turn" }
  | { readonly is: "end"; readonly reason: string }
  | { readonly is: "input"; readonly text: string }
  | { readonly is: "user"; readonly text: string }
  | { readonly is: "notice"; readonly on: boolean }
  | { readonly is: "header" }
  | { readonly is: "open"; readonly attempt: number; readonly on: boolean; readonly guided: boolean }
  | { readonly is: "failed" }
  | { readonly is: "reply"; readonly calls: ReadonlyArray<Call>; readonly cut: boolean }
  | { readonly is: "started"; readonly call: number; readonly name: string; readonly by: string }
  | { readonly is: "result"; readonly call: number; readonly name: string; readonly code: string }
  | { readonly is: "mode"; readonly on: boolean }
  | { readonly is: "selected"; readonly on: boolean; readonly by: string }
  | { readonly is: "asked"; readonly kind: AskKind; readonly call: number }
  | { readonly is: "answered"; readonly kind: AskKind; readonly outcome: string }
  | { readonly is: "other"; readonly type: string }

const place = (call: string): number => Number(/(\d+)$/.exec(call)?.[1] ?? -1)

/** A withdrawal says who withdrew; for everything else the outcome says it. */
const outcomeOf = ({ by, outcome }: { readonly by: string; readonly outcome: string }, kind: AskKind): string =>
  kind === "review" && outcome === "withdrawn" ? `withdrawn by ${by}` : outcome

/** What an event says, to the model. `guidance` is the text by which a guided request is known. */
export const factOf = (event: SessionEvent, guidance: string): Fact => {
  switch (event.type) {
    case "session/created":
      return { is: "created" }
    case "turn/start":
      return { is: "turn" }
    case "turn/end":
      return { is: "end", reason: event.data.reason }
    case "input/received":
      return { is: "input", text: event.data.text }
    case "message/user":
      return event.data.source.kind === "user"
        ? { is: "user", text: event.data.text }
        : { is: "notice", on: !/left plan mode/.test(event.data.text) }
    case "message/assistant":
      return {
        is: "reply",
        calls: event.data.calls.map(({ arguments: args, name }) => ({ name, args })),
        cut: event.data.interrupted === true
      }
    case "request/header":
      return { is: "header" }
    case "step/open": {
      const { attempt, planActive, tail } = event.data
      return { is: "open", attempt, on: planActive, guided: tail?.includes(guidance) === true }
    }
    case "step/failed":
      return { is: "failed" }
    case "tool/started":
      return { is: "started", call: place(event.data.call), name: event.data.name, by: event.data.permission.by }
    case "tool/result": {
      const { call, code, name, outcome } = event.data
      return { is: "result", call: place(call), name, code: code ?? outcome }
    }
    case "plan/mode":
      return { is: "mode", on: event.data.active }
    case "plan/selected":
      return { is: "selected", on: event.data.active, by: event.data.by }
    case "review/asked":
      return { is: "asked", kind: "review", call: place(event.data.call) }
    case "approval/asked":
      return { is: "asked", kind: "approval", call: place(event.data.call) }
    case "question/asked":
      return { is: "asked", kind: "question", call: place(event.data.call) }
    case "review/answered":
      return { is: "answered", kind: "review", outcome: outcomeOf(event.data, "review") }
    case "approval/answered":
      return { is: "answered", kind: "approval", outcome: outcomeOf(event.data, "approval") }
    case "question/answered":
      return { is: "answered", kind: "question", outcome: outcomeOf(event.data, "question") }
    default:
      return { is: "other", type: event.type }
  }
}

const onOff = (on: boolean) => on ? "on" : "off"

/** A fact in words, for traces and for comparisons. */
export const words = (fact: Fact): string => {
  switch (fact.is) {
    case "end":
      return `end ${fact.reason}`
    case "input":
    case "user":
      return `${fact.is} "${fact.text}"`
    case "notice":
    case "mode":
      return `${fact.is} ${onOff(fact.on)}`
    case "open":
      return `open ${fact.attempt === 1 ? "" : `attempt ${fact.attempt} `}${onOff(fact.on)}${
        fact.guided ? " guided" : ""
      }`
    case "reply":
      return fact.cut ? "reply cut off" : `reply [${fact.calls.map((call) => call.name).join(", ")}]`
    case "started":
      return `started ${fact.call}:${fact.name} by ${fact.by}`
    case "result":
      return `result ${fact.call}:${fact.name} ${fact.code}`
    case "selected":
      return `selected ${onOff(fact.on)} by ${fact.by}`
    case "asked":
      return `asked ${fact.kind} for ${fact.call}`
    case "answered":
      return `answered ${fact.kind} ${fact.outcome}`
    case "other":
      return fact.type
    default:
      return fact.is
  }
}
