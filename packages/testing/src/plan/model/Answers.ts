/** Every kind of answer that a person or a provider can give, and what each must count as. */
import type { AskKind } from "./Fact.ts"

export const answerKinds = [
  "yes",
  "last",
  "session",
  "yes and a text",
  "yes and an empty text",
  "everything",
  "something unknown",
  "yes twice",
  "a text",
  "last and a text",
  "nothing",
  "dismiss",
  "nonsense",
  "failure",
  "defect",
  "nobody"
] as const
export type AnswerKind = typeof answerKinds[number]

/**
 * The outcome that must be logged. Consent is exactly one choice and no text beside it; whatever else comes is a refusal.
 * `granting`: the question offers a grant for the rest of the session.
 */
export const outcomeFor = (kind: AskKind, answer: AnswerKind, granting: boolean): string => {
  switch (answer) {
    case "dismiss":
      return "dismissed"
    case "failure":
    case "defect":
      return "failed"
    case "nobody":
      return "unavailable"
    case "nonsense":
    case "something unknown":
    case "yes twice":
      return "invalid"
    case "session":
      return kind === "approval" && granting ? "session" : "invalid"
  }
  if (kind === "question") return "answered"
  switch (answer) {
    case "yes":
      return kind === "review" ? "approved" : "once"
    case "last":
      return kind === "review" ? "keep-planning" : "no"
    case "a text":
    case "last and a text":
      return kind === "review" ? "feedback" : "no"
    case "nothing":
      return kind === "review" ? "invalid" : "no"
    default:
      return "invalid"
  }
}

const reviewCodes: { readonly [outcome: string]: string } = {
  approved: "ok",
  "keep-planning": "plan_not_approved",
  feedback: "plan_not_approved",
  invalid: "plan_answer_invalid",
  dismissed: "plan_review_dismissed",
  unavailable: "no_interaction_provider",
  failed: "plan_review_failed",
  expired: "plan_review_expired",
  "withdrawn by user": "plan_review_withdrawn",
  "withdrawn by session": "plan_review_withdrawn"
}

/** The code of the result that a call gets when its question has this outcome; `undefined`: it may run. */
export const codeOf = (kind: AskKind, outcome: string): string | undefined => {
  switch (kind) {
    case "review":
      return reviewCodes[outcome] ?? outcome
    case "question":
      return outcome === "answered" ? "ok" : `question_${outcome}`
    case "approval":
      return outcome === "once" || outcome === "session" || outcome === "granted" ? undefined : `approval_${outcome}`
  }
}
