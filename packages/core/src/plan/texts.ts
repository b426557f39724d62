/** Everything that a model reads about plan mode, in one place. */

/** The source that plan mode's own messages carry. */
export const noticeSource = { kind: "plugin", plugin: "plan-mode", form: "notice" } as const

export const notice = (active: boolean): string =>
  active
    ? "The user switched to plan mode. From this step on, only look and think; submit a plan with exit_plan_mode."
    : "The user left plan mode. You may change things again, as the task needs."

/** The guidance of a program that has none of its own: what `Harness` gives `PlanMode` by default. */
export const defaultSection = [
  "# Plan mode is on",
  "",
  "Only look and think; calls that change anything are refused. Read what you need to be sure. Then call exit_plan_mode with a",
  "plan that a person can decide on: what you will change in which files, in which order, how you will check it, and",
  "what you are not sure of. Ask the person with ask_user where a decision is theirs. Do not answer with the plan as",
  "plain text."
].join("\n")

/** The static section of `PlanSignals`: the same bytes in every state. */
export const signalsSection = [
  "# Planning",
  "",
  "For a task that needs several changes, or whose way is not clear, plan first: call enter_plan_mode, look around with",
  "tools that only read, then submit the plan with exit_plan_mode. A person reviews it. You may also submit a plan",
  "without entering plan mode first. A task of one small, clear change needs no plan.",
  "",
  "While plan mode is on, calls that change anything are refused; the tool list stays the same. An approved plan takes",
  "effect from the next step: until then, calls that change anything are still refused. Only the person's answer to",
  "exit_plan_mode, or the person leaving plan mode, ends it; a chat message does not."
].join("\n")

/** The static sentence of `PlanGate`. */
export const gateSection =
  "In plan mode, every call that changes something is refused when it is made, whatever tool it is made with."

export const gateRefusal = (tool: string, level: "self" | "ancestor", approvedInStep: boolean): string => {
  if (approvedInStep) {
    return `${tool} was not run. The plan was approved, and it takes effect from the next step. Call ${tool} again then.`
  }
  return level === "self"
    ? `${tool} was not run: this is the read-only planning phase. Go on with tools that only read; when the plan is ` +
      "ready, submit it with exit_plan_mode. After it is approved, call the tool again."
    : `${tool} was not run: the agent that gave you this task is planning, so you can only read. Report what you ` +
      "would change, and why, in your final answer."
}

export const entered =
  "Plan mode is selected: from now on, calls that change anything are refused. Look around with tools that only read, " +
  "then submit your plan with exit_plan_mode."

export const alreadyPlanning =
  "You are already in plan mode. Go on reading, and submit your plan with exit_plan_mode when it is ready."

export const rootOnly = (tool: string): string =>
  `${tool} belongs to the agent that talks to the person. Put the decision, or your plan, into your final answer to ` +
  "the agent that gave you this task."

export const notPlanning =
  "There is no plan to review: plan mode is not on, and this program does not let the model start it. Go on with the task."

export const approved = (wasActive: boolean): string =>
  wasActive
    ? "The person approved the plan. Plan mode ends with this step; carry the plan out from the next step."
    : "The person approved the plan. Carry it out from the next step."

export const keepPlanning =
  "The person did not approve the plan and wants you to keep planning. Revise it, then submit it again with exit_plan_mode."

export const feedback = (text: string): string =>
  `The person did not approve the plan and answered:\n\n${text}\n\nYou are still in plan mode. Take this into account and submit a revised plan.`

export const dismissed =
  "The person closed the review without an answer. The plan is not approved and plan mode stays on. Stop here and wait for the person's next message."

export const unavailable =
  "The plan is not approved: nobody can review it here. Plan mode stays on until a person turns it off."

export const failed =
  "The plan is not approved: showing it to the person failed. Plan mode stays on. You may submit the plan again, or stop and say what you found."

export const expired = "The plan is not approved: nobody answered in time. Plan mode stays on."

export const invalid = (text: string | undefined): string =>
  "The plan is not approved: the answer was not a clear approval. Plan mode stays on." +
  (text === undefined || text === "" ? "" : ` The answer said:\n\n${text}`)

export const withdrawnByUser =
  "The person left plan mode while the plan was under review. The plan was neither approved nor rejected. You may change things again, as the task needs."

export const withdrawnBySession =
  "The review was withdrawn before it was answered. The plan is not approved. Present the plan again with exit_plan_mode."

export const approvedBefore =
  "A plan was already approved in this step, and that approval stands: carry it out from the next step. This call changed nothing and was not shown to anybody."

export const nothingChanged =
  "This plan is the one that the person sent back, and nothing in it has changed. It was not shown again. Revise it first."

export const interrupted =
  "The turn was interrupted while the plan was under review. The plan is not approved. Submit it again when you go on."

/** What is wrong with a plan, and how to mend it. */
export const planFault = {
  missing: "exit_plan_mode needs the argument \"plan\": the whole plan as markdown text.",
  notText: "The argument \"plan\" must be a text.",
  blank: "The plan is empty. Submit the whole plan as markdown text.",
  noHeading: "The first line of the plan must be a markdown heading, such as \"# Fix the parser\".",
  tooLong: (length: number, max: number) =>
    `The plan has ${length} characters; at most ${max} are allowed. Shorten it to what a person needs to decide.`
} as const

export const reasonFault =
  "enter_plan_mode needs the argument \"reason\": a short text that says why planning comes first."

/** What the person reads. */
export const people = {
  approve: "Approve",
  approveDetail: "Carry the plan out",
  keep: "Keep planning",
  keepDetail: "Ask for a revision",
  entering: "Entering plan mode (from the next step; changes are refused from now on).",
  alreadyActive: "Plan mode is already on.",
  leaving: "Leaving plan mode (from the next step).",
  cancelled: "Entering plan mode was cancelled.",
  alreadyInactive: "Plan mode is already off.",
  exitCancelled: "Staying in plan mode: leaving it was cancelled.",
  notRecorded: "Not recorded, try again."
} as const
