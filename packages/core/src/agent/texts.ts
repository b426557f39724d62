/** What a model reads from the agent loop itself, in one place; at the end, what a person reads. */
import type { ReviewedPlan } from "../plan/PlanInHand.ts"
import type { CompactionEnd } from "./CompactionState.ts"

export const repeatReminder = (count: number): string =>
  `The same call with the same arguments has now given the same result ${count} times in a row. Doing it again will not ` +
  "change anything. Try another way, or say what is in the way."

/** The last message of a request for a summary. */
export const compactionInstruction = [
  "The messages above will now be replaced by a summary, and you will go on from it without them. Write that summary for",
  "yourself. Answer with the summary alone; call no tools.",
  "",
  "Say, under these headings:",
  "1. Task: what the person asked for, and every wish, limit and decision of theirs, in their own words where the wording",
  "   matters.",
  "2. Done: what was changed and where, with exact paths and names.",
  "3. Known: what was found out that is still needed, with exact paths, names, numbers and error messages.",
  "4. Open: what is left, in order, and what you were about to do.",
  "",
  "Leave out what no longer matters. If the messages begin with an earlier summary, carry on what still holds of it. Do not",
  "copy a plan that the person reviewed: it is put beside your summary word for word."
].join("\n")

/** What takes the place of a plan that a summary copied all the same. */
export const planBeside = "(the plan, see below)"

/** The message that stands for the replaced part of the history. */
export const summaryMessage = (summary: string, plan: string | undefined): string =>
  [
    "The conversation before this message was replaced by the summary below, which you wrote. Look again at files before you",
    "edit them.",
    "",
    "<summary>",
    summary,
    "</summary>",
    ...(plan === undefined ? [] : ["", plan])
  ].join("\n")

/** The plan in hand, restated; `inHistory` when the messages that stay still hold it. */
export const restatedPlan = (reviewed: ReviewedPlan, inHistory: boolean): string => {
  const { completed, event, outcome, plan, text, title } = reviewed
  if (outcome === "approved") {
    return quotePlan(
      "approved-plan",
      `The person approved the plan "${title}" (event ${event}). It is approved: do not plan again and do not submit it ` +
        "again unless the person asks for that." +
        (completed === 0
          ? " You are carrying it out; go on where the summary says."
          : " A turn has ended as completed since; go on with it only as far as something of it is still open."),
      inHistory ? undefined : plan
    )
  }
  const said = text === undefined || text === "" ? "" : ` The person answered:\n\n${text}`
  return quotePlan(
    "submitted-plan",
    `You submitted the plan "${title}", and it was not approved (event ${event}: ${outcome}). Plan mode is still on.${said}`,
    inHistory ? undefined : plan
  )
}

const quotePlan = (tag: string, status: string, plan: string | undefined): string =>
  plan === undefined
    ? `${status}\n\nThe plan stands in the messages that follow.`
    : `${status}\n\n<${tag}>\n${plan}\n</${tag}>`

/** What the person reads. */
export const people = {
  compactSummary: "/compact replaces the conversation so far with a summary",
  compaction: (end: CompactionEnd): string => {
    const detail = "detail" in end && end.detail !== undefined ? ` (${end.detail})` : ""
    switch (end.outcome) {
      case "compacted":
        return `A summary has taken the place of ${end.replaced} messages.`
      case "nothing-to-replace":
        return "There is nothing to compact yet."
      case "failed":
        return `Compacting failed${detail}; the conversation is as it was.`
      case "interrupted":
        return "Compacting was interrupted; the conversation is as it was."
    }
  }
} as const
