/**
 * Approval of single calls that change the world.
 *
 * It stands after the gate and after hooks, so that what a person sees is what would run. A decision belongs to one
 * request and to the hash of the bytes that were shown, and it is used once. A grant for the rest of the session covers
 * the key that the tool declares and nothing wider.
 */
import { Context, type Duration, Effect, Layer } from "effect"
import { type Disposed, Fence } from "../Fence.ts"
import { Projection } from "../journal/Projection.ts"
import type { Session, SessionView, TransactError } from "../journal/Session.ts"
import { type ApprovalOutcome, type NewEvent, type Permission, SessionEvent } from "../journal/SessionEvent.ts"
import { ask, questionId } from "./Ask.ts"
import { Attention, type Verdict } from "./Attention.ts"
import { type Asker, isExactly, type Preview, type QuestionOption } from "./Question.ts"

/** A call that wants to run. `hash` is that of its final arguments. */
export interface ApprovalRequest {
  readonly call: string
  readonly tool: string
  readonly safety: "read" | "mutate" | "danger"
  readonly title: string
  readonly arguments: string
  readonly hash: string
  readonly asker: Asker
  readonly preview: Preview
  readonly grantKey: string | undefined
  readonly grantLabel: string | undefined
}

/** What a rule says about a call: let it run, ask the person, or refuse with a reason for the model. */
export type RuleDecision = "allow" | "ask" | { readonly refuse: string }

/**
 * `ask`: a person decides (default). `never`: nothing that needs approval runs, and nobody is asked. A function decides
 * for each call; one that throws refuses.
 */
export type ApprovalPolicy = "ask" | "never" | ((request: ApprovalRequest) => RuleDecision)

export interface ApprovalOptions {
  readonly policy?: ApprovalPolicy
  /** How long the person has for one answer, from the moment that it is shown. Default: as long as they like. */
  readonly deadline?: Duration.Input
}

/** Consent with its authority, or the reason why there is none. */
export type ApprovalDecision =
  | { readonly _tag: "Allowed"; readonly permission: Permission }
  | {
    readonly _tag: "Refused"
    readonly outcome: Exclude<ApprovalOutcome, "once" | "session" | "granted"> | "policy"
    readonly text: string | undefined
  }

/** The ids of the options of every approval. */
export const approvalOptions = { once: "once", session: "session", no: "no" } as const

interface Answered {
  readonly outcome: ApprovalOutcome
  readonly text: string | undefined
}

export interface ApprovalState {
  /** Keys that were granted for the rest of the session. */
  readonly grants: ReadonlySet<string>
  /** The newest request of each call of the current batch: its hash, and its answer if there is one. */
  readonly requests: ReadonlyMap<
    string,
    { readonly request: string; readonly hash: string; readonly answer?: Answered }
  >
}

/** The fold of grants and of the approvals of the current batch. */
export const Approvals: Projection<ApprovalState> = Projection.make<ApprovalState>({
  name: "approvals",
  initial: { grants: new Set(), requests: new Map() },
  on: {
    "message/assistant": (state) => state.requests.size === 0 ? state : { ...state, requests: new Map() },
    "approval/asked": (state, { call, request, hash }) => ({
      ...state,
      requests: new Map([...state.requests, [call, { request, hash }]])
    }),
    "approval/answered": (state, { request, outcome, text, grant }) => ({
      grants: outcome === "session" && grant !== undefined ? new Set([...state.grants, grant]) : state.grants,
      requests: new Map(
        [...state.requests].map(([call, entry]) => [
          call,
          entry.request === request ? { ...entry, answer: { outcome, text } } : entry
        ])
      )
    }),
    // An approval is used up by the start that it allowed.
    "tool/started": (state, { call }) => ({
      ...state,
      requests: new Map([...state.requests].filter(([id]) => id !== call))
    })
  }
})

/** What is already decided about a call, without asking anybody: by an earlier answer, a grant or the policy. */
export const decided = (
  state: ApprovalState,
  policy: ApprovalPolicy,
  request: ApprovalRequest
): ApprovalDecision | undefined => {
  const earlier = state.requests.get(request.call)
  if (earlier?.answer !== undefined && earlier.hash === request.hash && earlier.answer.outcome !== "withdrawn") {
    return decision(earlier.request, request, earlier.answer)
  }
  if (policy === "never") return { _tag: "Refused", outcome: "policy", text: undefined }
  if (policy !== "ask") {
    const rule = applyRule(policy, request)
    if (rule === "allow") return { _tag: "Allowed", permission: { by: "policy", rule: "rule" } }
    if (rule !== "ask") return { _tag: "Refused", outcome: "policy", text: rule.refuse }
  }
  if (request.grantKey !== undefined && state.grants.has(request.grantKey)) {
    return { _tag: "Allowed", permission: { by: "grant", key: request.grantKey } }
  }
  return undefined
}

const applyRule = (rule: (request: ApprovalRequest) => RuleDecision, request: ApprovalRequest): RuleDecision => {
  try {
    return rule(request)
  } catch {
    return { refuse: "the approval rule failed" }
  }
}

const decision = (id: string, request: ApprovalRequest, answer: Answered): ApprovalDecision => {
  switch (answer.outcome) {
    case "once":
    case "session":
      return { _tag: "Allowed", permission: { by: "person", request: id } }
    case "granted":
      return { _tag: "Allowed", permission: { by: "grant", key: request.grantKey ?? "" } }
    default:
      return { _tag: "Refused", outcome: answer.outcome, text: answer.text }
  }
}

/** The outcome that a verdict is. Only an exact choice of a permitting option is consent. */
export const outcomeOf = (verdict: Verdict, granting: boolean): Answered => {
  switch (verdict._tag) {
    case "Answered": {
      if (isExactly(verdict, approvalOptions.once)) return { outcome: "once", text: undefined }
      if (granting && isExactly(verdict, approvalOptions.session)) return { outcome: "session", text: undefined }
      const refusing = verdict.selected.length === 0 || isOnly(verdict.selected, approvalOptions.no)
      return { outcome: refusing ? "no" : "invalid", text: verdict.text }
    }
    case "Dismissed":
      return { outcome: "dismissed", text: undefined }
    case "Invalid":
      return { outcome: "invalid", text: verdict.detail }
    case "Unavailable":
      return { outcome: "unavailable", text: verdict.detail }
    case "Failed":
      return { outcome: "failed", text: verdict.detail }
    case "Expired":
      return { outcome: "expired", text: undefined }
    case "Withdrawn":
      return { outcome: "withdrawn", text: undefined }
  }
}

const isOnly = (selected: ReadonlyArray<string>, id: string) => selected.length === 1 && selected[0] === id

const optionsFor = (request: ApprovalRequest): ReadonlyArray<QuestionOption> => [
  { id: approvalOptions.once, label: "Yes, once" },
  ...(request.grantKey === undefined ? [] : [{
    id: approvalOptions.session,
    label: `Yes, for the rest of this session: ${request.grantLabel ?? request.grantKey}`
  }]),
  { id: approvalOptions.no, label: "No" }
]

export class Approval extends Context.Service<Approval, {
  /**
   * Decides about one call. `pending` are events that are due and come before the question; `gate` is asked again
   * when the person's attention is free.
   */
  readonly decide: (
    session: Session,
    request: ApprovalRequest,
    options: {
      readonly pending: (view: SessionView) => ReadonlyArray<NewEvent>
      readonly gated: (view: SessionView) => boolean
    }
  ) => Effect.Effect<ApprovalDecision, TransactError | Disposed>
}>()("@holdfast/core/Approval") {
  static readonly layer = (options: ApprovalOptions = {}): Layer.Layer<Approval, never, Attention> =>
    Layer.effect(
      Approval,
      Effect.gen(function*() {
        const attention = yield* Attention
        const policy = options.policy ?? "ask"
        const fence = yield* Fence.make("Approval")
        return Approval.of({
          decide: (session, request, { pending, gated }) =>
            Effect.suspend(() => {
              const already = decided(session.view().get(Approvals), policy, request)
              if (already !== undefined) return Effect.succeed(already)
              const meanwhile = (view: SessionView): Verdict | undefined => {
                if (gated(view)) return { _tag: "Withdrawn", by: "session" }
                const now = decided(view.get(Approvals), policy, request)
                return now?._tag === "Allowed" ? { _tag: "Answered", selected: [GRANTED] } : undefined
              }
              return ask<ApprovalDecision>({
                session,
                attention,
                prefix: "approval",
                deadline: options.deadline,
                asked: (id, view) => [
                  ...pending(view),
                  SessionEvent.event("approval/asked", {
                    request: id,
                    call: request.call,
                    tool: request.tool,
                    title: request.title,
                    hash: request.hash,
                    ...(request.grantKey === undefined ? {} : { grantKey: request.grantKey })
                  })
                ],
                question: (id) => ({
                  id: questionId(session, id),
                  asker: request.asker,
                  intent: {
                    name: "approval",
                    tool: request.tool,
                    allow: [approvalOptions.once, approvalOptions.session]
                  },
                  title: request.title,
                  detail: request.arguments,
                  preview: request.preview,
                  options: optionsFor(request),
                  allowText: true
                }),
                reconsider: meanwhile,
                settle: (id, verdict, view) => {
                  const granted = verdict._tag === "Answered" && isOnly(verdict.selected, GRANTED)
                  const answer: Answered = granted
                    ? { outcome: "granted", text: undefined }
                    : gated(view) && verdict._tag === "Withdrawn"
                    ? { outcome: "gated", text: undefined }
                    : outcomeOf(verdict, request.grantKey !== undefined)
                  return {
                    events: [SessionEvent.event("approval/answered", {
                      request: id,
                      outcome: answer.outcome,
                      by: verdict._tag === "Answered" && !granted ? "person" : "session",
                      ...(answer.text === undefined ? {} : { text: answer.text }),
                      ...((answer.outcome === "session" || granted) && request.grantKey !== undefined
                        ? { grant: request.grantKey }
                        : {})
                    })],
                    value: decision(id, request, answer)
                  }
                }
              })
            }).pipe(fence.guard)
        })
      })
    )
}

/** Not an option of any question: stands for a grant that came while the question waited. */
const GRANTED = "\u0000granted"
