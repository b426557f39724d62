/**
 * `exit_plan_mode`: the reviewed way out of plan mode.
 *
 * The plan goes to a person byte for byte. Consent is exactly one choice, Approve, with no text beside it; everything
 * else leaves plan mode as it is. The answer and the selection that follows from it are one transaction.
 */
import { type Duration, Effect, Schema } from "effect"
import { Tool } from "effect/ai"
import type { Fence } from "../Fence.ts"
import { ask, questionId } from "../human/Ask.ts"
import type { Attention, Verdict } from "../human/Attention.ts"
import { isExactly, type Question } from "../human/Question.ts"
import type { SessionView } from "../journal/Session.ts"
import { type NewEvent, type ReviewOutcome, SessionEvent } from "../journal/SessionEvent.ts"
import { SessionInfo } from "../journal/SessionInfo.ts"
import { sha256 } from "../model/Canonical.ts"
import {
  type CatalogTool,
  type SignalCall,
  type SignalEnd,
  signalTool,
  type ToolCatalog
} from "../tools/ToolCatalog.ts"
import { failedOutcome, refused, type ToolOutcome } from "../tools/ToolOutcome.ts"
import { effective, type PlanFold, PlanProjection } from "./PlanState.ts"
import * as texts from "./texts.ts"

export interface ReviewOptions {
  /** How long the person has, from the moment that the plan is shown. Default: as long as they like. */
  readonly deadline?: Duration.Input
  /** The most characters that a plan may have (default 100,000, about 25K tokens: more is no plan to be read). */
  readonly maxPlanLength?: number
}

/** The name of the signal that asks for planning to begin; its presence in the catalogue is what `PlanSignals` adds. */
export const ENTER_PLAN_MODE = "enter_plan_mode"
export const EXIT_PLAN_MODE = "exit_plan_mode"

/** The ids of the two options of every review. */
export const reviewOptions = { approve: "approve", keep: "keep-planning" } as const

const ExitPlanMode = Tool.make(EXIT_PLAN_MODE, {
  description:
    "Submit your plan for review. Call it when you know what to change and why; a person approves the plan " +
    "or sends it back. Give the whole plan as markdown that starts with a heading.",
  parameters: Schema.Struct({
    plan: Schema.String.annotate({ description: "The whole plan as markdown. Its first line is a heading." })
  }),
  success: Schema.String
})

/** A plan that can be shown, or what is wrong with it. */
export const readPlan = (
  args: unknown,
  maxLength: number
): { readonly plan: string; readonly title: string } | { readonly fault: string } => {
  const plan: unknown = typeof args === "object" && args !== null && "plan" in args ? args.plan : undefined
  if (plan === undefined) return { fault: texts.planFault.missing }
  if (typeof plan !== "string") return { fault: texts.planFault.notText }
  if (plan.length > maxLength) return { fault: texts.planFault.tooLong(plan.length, maxLength) }
  const line = plan.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).find((candidate) => candidate.trim() !== "")
  if (line === undefined) return { fault: texts.planFault.blank }
  const heading = /^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$/.exec(line)
  const title = heading?.[1]?.trim() ?? ""
  return title === "" ? { fault: texts.planFault.noHeading } : { plan, title }
}

/** The outcome that a verdict is, with what the person wrote. */
export const reviewOutcome = (verdict: Verdict): { readonly outcome: ReviewOutcome; readonly text?: string } => {
  switch (verdict._tag) {
    case "Answered": {
      if (isExactly(verdict, reviewOptions.approve)) return { outcome: "approved" }
      if (isExactly(verdict, reviewOptions.keep)) return { outcome: "keep-planning" }
      const onlyKeep = verdict.selected.every((id) => id === reviewOptions.keep) && verdict.selected.length <= 1
      if (verdict.text !== undefined && verdict.text !== "") {
        return { outcome: onlyKeep ? "feedback" : "invalid", text: verdict.text }
      }
      return { outcome: "invalid" }
    }
    case "Dismissed":
      return { outcome: "dismissed" }
    case "Invalid":
      return { outcome: "invalid", text: verdict.detail }
    case "Unavailable":
      return { outcome: "unavailable" }
    case "Failed":
      return { outcome: "failed" }
    case "Expired":
      return { outcome: "expired" }
    case "Withdrawn":
      return { outcome: "withdrawn" }
  }
}

/** What the model is told about a settled review. */
export const reviewResult = (
  outcome: ReviewOutcome,
  text: string | undefined,
  context: { readonly wasActive: boolean; readonly by: "user" | "session" }
): ToolOutcome => {
  switch (outcome) {
    case "approved":
      return { outcome: "ok", content: texts.approved(context.wasActive) }
    case "keep-planning":
      return refused("plan_not_approved", "person", texts.keepPlanning)
    case "feedback":
      return refused("plan_not_approved", "person", texts.feedback(text ?? ""))
    case "invalid":
      return refused("plan_answer_invalid", "person", texts.invalid(text))
    case "dismissed":
      return { ...refused("plan_review_dismissed", "person", texts.dismissed), endsTurn: "awaiting-user" }
    case "unavailable":
      return refused("no_interaction_provider", "session", texts.unavailable)
    case "failed":
      return refused("plan_review_failed", "session", texts.failed)
    case "expired":
      return refused("plan_review_expired", "timeout", texts.expired)
    case "withdrawn":
      return context.by === "user"
        ? refused("plan_review_withdrawn", "person", texts.withdrawnByUser)
        : refused("plan_review_withdrawn", "session", texts.withdrawnBySession)
  }
}

/** The selection that a settled review causes: consent leaves plan mode, and takes back an entry that is not yet in force. */
const selectionAfter = (outcome: ReviewOutcome, fold: PlanFold): ReadonlyArray<NewEvent> =>
  outcome === "approved" && effective(fold.state)
    ? [SessionEvent.event("plan/selected", { active: false, by: "review" })]
    : []

/** Whether a call may be reviewed at all; otherwise the result that it gets without anybody being asked. */
const refuseBeforeReview = (
  view: SessionView,
  hash: string,
  signals: boolean
): ToolOutcome | undefined => {
  const fold = view.get(PlanProjection)
  if (view.get(SessionInfo).depth > 0) return refused("plan_root_only", "session", texts.rootOnly(EXIT_PLAN_MODE))
  if (fold.approvedInStep) return refused("plan_already_approved", "session", texts.approvedBefore)
  if (!effective(fold.state) && !signals) return refused("plan_not_active", "session", texts.notPlanning)
  if (fold.sentBack.has(hash)) return refused("plan_unchanged", "session", texts.nothingChanged)
  return undefined
}

const isPersons = ({ _tag }: Verdict): boolean => _tag === "Answered" || _tag === "Dismissed" || _tag === "Invalid"

interface Parts extends ReviewOptions {
  readonly attention: Attention["Service"]
  readonly catalog: ToolCatalog["Service"]
  readonly fence: Fence
}

/** What the journal says of a review whose own call can no longer say it. */
const settled = (view: SessionView, call: string, end: SignalEnd): ToolOutcome | undefined => {
  const { answers, state } = view.get(PlanProjection)
  const answer = answers.get(call)
  if (answer === undefined) return undefined
  const by = answer.by === "user" ? "user" : "session"
  return answer.outcome === "withdrawn" && by === "session" && end === "interrupted"
    ? refused("plan_review_interrupted", "session", texts.interrupted)
    : reviewResult(answer.outcome, answer.text, { wasActive: state.active, by })
}

/** The signal over a person's attention. Closing `fence` refuses reviews that wait. */
export const exitPlanMode = (parts: Parts): CatalogTool =>
  signalTool(ExitPlanMode, (args, call) => {
    const read = readPlan(args, parts.maxPlanLength ?? 100_000)
    if ("fault" in read) return Effect.succeed(failedOutcome("invalid_plan", read.fault))
    return review(parts, call, read.plan, read.title).pipe(
      parts.fence.guard,
      Effect.catchTag("Disposed", () =>
        Effect.sync(() =>
          // An answer that was logged before the close stands, whatever became of the fiber that waited for it.
          settled(call.session.view(), call.id, "closed") ??
            reviewResult("withdrawn", undefined, { wasActive: true, by: "session" })
        ))
    )
  }, settled)

const review = (parts: Parts, call: SignalCall, plan: string, title: string) =>
  Effect.suspend(() => {
    const { session } = call
    const hash = sha256(plan)
    const view = session.view()
    const wasActive = view.get(PlanProjection).state.active
    const earlier = view.get(PlanProjection).answers.get(call.id)
    // A restart between the answer and its result: the answer stands, nobody is asked again.
    // A review that ended because the person left plan mode was answered too: it is not opened again behind their back.
    if (
      earlier !== undefined && earlier.hash === hash && (earlier.outcome !== "withdrawn" || earlier.by === "user")
    ) {
      const by = earlier.by === "user" ? "user" : "session"
      return Effect.succeed(reviewResult(earlier.outcome, earlier.text, { wasActive, by }))
    }
    const signals = parts.catalog.get(ENTER_PLAN_MODE) !== undefined
    return ask<ToolOutcome>({
      session,
      attention: parts.attention,
      prefix: "review",
      deadline: parts.deadline,
      unless: (current) => refuseBeforeReview(current, hash, signals),
      asked: (request, current) => [
        ...call.pending(current),
        // Outside plan mode, the plan itself is the way in: the gate closes until consent takes that back.
        ...(effective(current.get(PlanProjection).state)
          ? []
          : [SessionEvent.event("plan/selected", { active: true, by: "review" })]),
        SessionEvent.event("review/asked", { request, call: call.id, title, hash })
      ],
      question: (request): Question => ({
        id: questionId(session, request),
        asker: call.asker,
        intent: { name: "plan-review", approve: reviewOptions.approve },
        title,
        detail: plan,
        preview: { kind: "markdown", text: plan },
        options: [
          { id: reviewOptions.approve, label: texts.people.approve, description: texts.people.approveDetail },
          { id: reviewOptions.keep, label: texts.people.keep, description: texts.people.keepDetail }
        ],
        allowText: true
      }),
      pointless: (current) => !effective(current.get(PlanProjection).state),
      settle: (request, verdict, current) => {
        const fold = current.get(PlanProjection)
        // The person left plan mode in the meantime: whatever the provider says, the review has lost its point.
        const left = !effective(fold.state)
        const by = left ? "user" as const : "session" as const
        // An answer that comes after plan mode was closed is nobody's decision any more.
        const { outcome, text } = left || !parts.fence.isOpen()
          ? { outcome: "withdrawn" as const }
          : { text: undefined, ...reviewOutcome(verdict) }
        return {
          events: [
            SessionEvent.event("review/answered", {
              request,
              outcome,
              by: left || (outcome !== "withdrawn" && isPersons(verdict)) ? "user" : "session",
              ...(text === undefined ? {} : { text })
            }),
            ...selectionAfter(outcome, fold)
          ],
          value: reviewResult(outcome, text, { wasActive, by })
        }
      }
    })
  })
