/** Who answers when nobody sits at a terminal: first feedback, then consent. */
import { type Answer, choose, type Question, say } from "@holdfast/core"
import { consent } from "@holdfast/terminal"
import { revisedPlanMark } from "./Story.ts"

/** The answers follow from the question alone, so they are the same after a restart. */
export const scriptedAnswer = (question: Question): Answer | undefined => {
  if (question.intent.name === "plan-review" && !question.detail.includes(revisedPlanMark)) {
    return say("Please also add a test for the empty line.")
  }
  return question.intent.name === "question" ? choose(question.options[0]?.id ?? "") : consent(question)
}
