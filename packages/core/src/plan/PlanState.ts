/**
 * Plan mode as pure functions: the state that follows from the journal, and what each wish makes of it.
 *
 * Facts: `plan/mode` is what is in force, `plan/selected` is a wish that comes into force at the next boundary. Nothing
 * else is stored.
 */
import { Projection } from "../journal/Projection.ts"
import {
  type NewEvent,
  type ReviewOutcome,
  SessionEvent,
  type SessionEvent as AnyEvent
} from "../journal/SessionEvent.ts"

export type SelectedBy = "user" | "model" | "review"

export interface PlanState {
  /** What is in force. */
  readonly active: boolean
  /** A selection that is not yet in force. Absent when the last selection equals what is in force. */
  readonly pending?: { readonly active: boolean; readonly by: SelectedBy }
}

/** The part of the fold that only plan mode itself needs. */
export interface PlanFold {
  readonly state: PlanState
  /** What the model was last told about the mode; `undefined` before its first request. */
  readonly told: boolean | undefined
  /** A plan was approved in the current step: whatever else the step's batch holds was written before that. */
  readonly approvedInStep: boolean
  /** The hashes of the plans that were sent back in this time of planning and not talked about since. */
  readonly sentBack: ReadonlySet<string>
  /** The open review of the session, if any. */
  readonly review: { readonly request: string; readonly call: string; readonly hash: string } | undefined
  /** The answered review of each call of the current batch, for a restart between an answer and its result. */
  readonly answers: ReadonlyMap<
    string,
    {
      readonly hash: string
      readonly outcome: ReviewOutcome
      readonly text: string | undefined
      /** Who ended the review: `user`, or `session` for everything that was not the person. */
      readonly by: string
    }
  >
}

const initial: PlanFold = {
  state: { active: false },
  told: undefined,
  approvedInStep: false,
  sentBack: new Set(),
  review: undefined,
  answers: new Map()
}

const noneSentBack: ReadonlySet<string> = new Set()

const withSelection = (state: PlanState, active: boolean, by: SelectedBy): PlanState =>
  active === state.active ? { active } : { active: state.active, pending: { active, by } }

export const PlanProjection: Projection<PlanFold> = Projection.make<PlanFold>({
  name: "plan",
  initial,
  on: {
    "plan/mode": (fold, { active }) => ({ ...fold, state: { active } }),
    "plan/selected": (fold, { active, by }) => ({
      ...fold,
      state: withSelection(fold.state, active, by),
      // Whoever leaves plan mode ends this time of planning, and with it what was said about its plans.
      sentBack: active ? fold.sentBack : noneSentBack,
      told: by === "model" ? active : fold.told
    }),
    // A request for a summary says nothing about the mode and is no step of the task.
    "step/open": (fold, { planActive, purpose }) =>
      purpose === undefined ? { ...fold, told: planActive, approvedInStep: false } : fold,
    "message/assistant": (fold) => fold.answers.size === 0 ? fold : { ...fold, answers: new Map() },
    "message/user": (fold, { source }) => source.kind === "user" ? { ...fold, sentBack: noneSentBack } : fold,
    "review/asked": (fold, { request, call, hash }) => ({ ...fold, review: { request, call, hash } }),
    "review/answered": (fold, { request, outcome, text, by }) => {
      const review = fold.review
      if (review === undefined || review.request !== request) return fold
      const sentBack = outcome === "keep-planning" || outcome === "feedback"
      return {
        ...fold,
        review: undefined,
        approvedInStep: fold.approvedInStep || outcome === "approved",
        told: !(outcome === "approved" || (outcome === "withdrawn" && by === "user")),
        sentBack: sentBack ? new Set([...fold.sentBack, review.hash]) : fold.sentBack,
        answers: new Map([...fold.answers, [review.call, { hash: review.hash, outcome, text, by }]])
      }
    }
  }
})

/** Plan mode's state after these events: the definition that every other way of knowing it must agree with. */
export const foldPlanMode = (events: Iterable<AnyEvent>): PlanState => Projection.fold(PlanProjection, events).state

/** What will be in force after the next boundary. */
export const effective = (state: PlanState): boolean => state.pending?.active ?? state.active

/** Whether the gate is closed by this session: plan mode is in force or selected. */
export const closesGate = (fold: PlanFold): boolean =>
  fold.state.active || fold.state.pending?.active === true || fold.approvedInStep

/** What a selection came to. */
export type Selection = "noop" | "queued" | "cancelled"

/** Decides a selection. `noop` writes nothing. */
export const selectPlan = (
  state: PlanState,
  active: boolean,
  by: SelectedBy
): { readonly outcome: Selection; readonly events: ReadonlyArray<NewEvent> } => {
  if (effective(state) === active) return { outcome: "noop", events: [] }
  return {
    outcome: state.pending === undefined ? "queued" : "cancelled",
    events: [SessionEvent.event("plan/selected", { active, by })]
  }
}

/** What comes into force at a boundary. */
export const commitPlan = (state: PlanState): ReadonlyArray<NewEvent> =>
  state.pending === undefined ? [] : [SessionEvent.event("plan/mode", { active: state.pending.active })]

/**
 * Whether the model must be told, in a message of its own, that the mode is not what it was last told. There is nothing
 * to correct before its first request.
 */
export const needsNotice = (fold: PlanFold): boolean => fold.told !== undefined && fold.told !== fold.state.active
