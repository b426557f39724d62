/**
 * The plan that the work goes by, as a fold: what a person last decided about, byte for byte.
 *
 * A plan stands in the history only as the argument of a call, and a summary replaces history. What a person approved must
 * not depend on what a summariser finds worth copying, so it is kept here and restated by the harness.
 *
 * A plan is in hand from the answer to its review on: an approved one until plan mode is in force again or another plan was
 * answered, any other one until plan mode is left.
 */
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import type { ReviewOutcome } from "../journal/SessionEvent.ts"
import { EXIT_PLAN_MODE } from "./PlanReview.ts"
import { effective, PlanProjection } from "./PlanState.ts"

export interface ReviewedPlan {
  readonly plan: string
  readonly title: string
  readonly call: string
  /** The `seq` of the answer. */
  readonly event: number
  readonly outcome: ReviewOutcome
  /** What the person wrote. */
  readonly text: string | undefined
  /** How many turns have ended as completed since the answer. */
  readonly completed: number
}

interface Asked {
  readonly request: string
  readonly plan: string
  readonly title: string
  readonly call: string
}

interface Hand {
  /** Plans of the newest reply, by call. */
  readonly submitted: ReadonlyMap<string, string>
  readonly asked: Asked | undefined
  readonly reviewed: ReviewedPlan | undefined
}

const nothing: ReadonlyMap<string, string> = new Map()

const planOf = (args: string): string => {
  const value: unknown = JSON.parse(args)
  return typeof value === "object" && value !== null && "plan" in value && typeof value.plan === "string"
    ? value.plan
    : ""
}

const PlanInHandProjection: Projection<Hand> = Projection.make<Hand>({
  name: "plan-in-hand",
  initial: { submitted: nothing, asked: undefined, reviewed: undefined },
  on: {
    "message/assistant": (hand, { calls }) => {
      const exits = calls.filter((call) => call.name === EXIT_PLAN_MODE)
      if (exits.length === 0 && hand.submitted.size === 0) return hand
      return { ...hand, submitted: new Map(exits.map((call) => [call.id, planOf(call.arguments)])) }
    },
    "review/asked": (hand, { request, call, title }) => ({
      ...hand,
      asked: { request, call, title, plan: hand.submitted.get(call) ?? "" }
    }),
    "review/answered": (hand, { request, outcome, text }, { seq }) => {
      const { asked } = hand
      if (asked === undefined || asked.request !== request) return hand
      const { call, plan, title } = asked
      return { ...hand, asked: undefined, reviewed: { plan, title, call, event: seq, outcome, text, completed: 0 } }
    },
    "plan/mode": (hand, { active }) =>
      hand.reviewed !== undefined && (hand.reviewed.outcome === "approved") === active
        ? { ...hand, reviewed: undefined }
        : hand,
    "turn/end": (hand, { reason }) =>
      hand.reviewed === undefined || reason !== "completed"
        ? hand
        : { ...hand, reviewed: { ...hand.reviewed, completed: hand.reviewed.completed + 1 } }
  }
})

/**
 * The plan that is in hand: one that is approved and not taken back, or one that was not approved while planning goes on.
 */
export const planInHand = (view: SessionView): ReviewedPlan | undefined => {
  const { reviewed } = view.get(PlanInHandProjection)
  if (reviewed === undefined) return undefined
  const planning = effective(view.get(PlanProjection).state)
  return (reviewed.outcome === "approved") === planning ? undefined : reviewed
}
