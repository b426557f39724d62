/** Everything that a model reads about calls that did not do what it wanted, in one place. */
import { Duration } from "effect"

export const noOutput = "(no output)"

export const notJson = "(the tool returned something that cannot be shown as text)"

export const unknownTool = (name: string, known: ReadonlyArray<string>): string =>
  `There is no tool named "${name}". Available: ${known.join(", ") || "none"}.`

export const noLongerAvailable = (name: string): string =>
  `The tool ${name} is not available any more in this program. Do without it, or say what you need it for.`

export const notJsonArguments = (name: string, problem: string): string =>
  `${name} was not run: its arguments are not a JSON object (${problem}). Send the call again with complete, valid JSON.`

export const invalidArguments = (name: string, problem: string): string =>
  `${name} was not run: its arguments do not fit its schema.\n${problem}`

export const defect = (name: string): string =>
  `${name} broke down because of a fault in the tool itself. What it had done until then is not known; look before you go on.`

export const failedSilently = (name: string): string => `${name} failed and gave no reason.`

export const interrupted = (name: string): string =>
  `${name} was interrupted before it finished. What it had done until then is not known; look before you go on.`

export const notStarted = (name: string): string => `${name} was not started: the turn ended before its turn came.`

export const outcomeUnknown = (name: string): string =>
  `${name} had started when the program stopped, and its outcome is unknown. Verify what it did before you try again.`

export const classifyFailed = (name: string): string =>
  `${name} was not run: it could not be determined whether the call is safe.`

export const cannotTell = (name: string): string =>
  `${name} was not run: the tool itself could not say what the call would do. This is a fault in the tool.`

export const hookRefused = (name: string, reason: string): string => `${name} was not run: ${reason}`

export const hookFailed = (name: string): string => `${name} was not run: a check before it failed.`

export const gateChanged = (name: string): string =>
  `${name} was not run: while it waited, plan mode was selected. Go on with tools that only read.`

export const approvalRefused = (
  name: string,
  outcome: "no" | "dismissed" | "invalid" | "unavailable" | "failed" | "expired" | "withdrawn" | "gated" | "policy",
  text: string | undefined
): string => {
  const said = text === undefined || text === "" ? "" : `\n\n${text}`
  switch (outcome) {
    case "no":
      return said === ""
        ? `${name} was not run: the person said no. Do not try the same call again; ask, or find another way.`
        : `${name} was not run: the person said no and answered:${said}`
    case "dismissed":
      return `${name} was not run: the person closed the question without an answer.`
    case "invalid":
      return `${name} was not run: the answer was not a clear yes.${said}`
    case "unavailable":
      return `${name} was not run: it needs a person's approval, and nobody can be asked here.`
    case "failed":
      return `${name} was not run: asking the person for approval failed.`
    case "expired":
      return `${name} was not run: nobody answered the request for approval in time. The person did not say no.`
    case "withdrawn":
      return `${name} was not run: the request for approval was withdrawn before it was answered.`
    case "gated":
      return gateChanged(name)
    case "policy":
      return `${name} was not run: the approval policy of this program does not allow it.${said}`
  }
}

export const cutMarker = (missing: number, total: number, where: string | undefined): string =>
  `[… ${missing} of ${total} characters are left out here${
    where === undefined ? "" : `; the whole text is in ${where}`
  } …]`

export const askUser = {
  invalid: "ask_user needs the argument \"question\": one question as a text; \"options\" may be a list of texts.",
  emptyAnswer: "The person answered with nothing.",
  noAnswer: {
    dismissed:
      "The person closed the question without an answer. Go on with what you know, or stop and say what is open.",
    invalid: "The answer could not be read. Go on with what you know, or ask again.",
    unavailable: "Nobody can be asked here. Decide with what you know, and say in your answer what you assumed.",
    failed: "Asking the person failed. Go on with what you know, or ask again.",
    expired: "Nobody answered in time. Go on with what you know, or stop and say what is open.",
    withdrawn: "The question was withdrawn before it was answered."
  }
} as const

export const timedOut = (name: string, after: Duration.Duration): string =>
  `${name} was stopped: it ran longer than ${
    Duration.format(after)
  }. What it had done until then is not known; look before you go on.`
