/** Everything that a model reads about delegation, in one place. */
import type { ChildStatus, SessionId } from "../journal/SessionEvent.ts"

/** The end of a child's system text when its manifest says nothing else. */
export const childSection = [
  "# Your task",
  "",
  "You were given one task by another agent, not by a person. Do it with the tools you have, then answer with the result: what you",
  "found or did, where, and what is still open. That answer is all that the other agent sees of your work. You cannot start plan mode",
  "or submit a plan; if a decision belongs to the person or to the other agent, say so in your answer."
].join("\n")

/** In the tail of a child while an agent above it plans. */
export const planningAbove =
  "The agent that gave you this task is planning: you can only read for now. Calls that change anything are refused; report what you would change."

export const notGranted = (name: string): string =>
  `${name} was not run: you were not granted it. Do without it, or report what it would be needed for.`

export const depthExceeded = (max: number): string =>
  `No agent was started: agents may nest ${max} deep, and you are at that depth. Do the work yourself.`

export const treeLimit = (limit: string, max: number): string =>
  `No agent was started: the limit of ${max} ${limit} is used up. Do the rest of the work yourself, or say what is left to do.`

export const unknownAgent = (name: string, known: ReadonlyArray<string>): string =>
  `No agent was started: there is no agent "${name}". Known: ${
    known.join(", ") || "none"
  }. Leave "agent" out for a general one.`

export const isolationUnavailable = (detail: string): string =>
  `No agent was started: an isolated workspace cannot be had here (${detail}). Use isolation "none" for work that only reads, or do it yourself.`

export const childBusy = "No agent was started: that child is at work already. Wait for its result."

export const notYourChild = "No agent was started: you have no child of that id."

export const invalidArguments = (detail: string): string => `No agent was started: ${detail}`

export const worktreeWhilePlanning =
  "No agent was started: plan mode is on, and a workspace of its own is for changing things. Use isolation \"none\", or submit your plan first."

/** How a child's result begins. */
export const outcome = (label: string, status: ChildStatus, detail: string | undefined): string => {
  const more = detail === undefined ? "" : `: ${detail}`
  switch (status) {
    case "Completed":
      return `The agent "${label}" completed its task.`
    case "GatedOnly":
      return `The agent "${label}" finished, but everything that it tried to change was refused${more}.`
    case "Refused":
      return `The agent "${label}" stopped because a person has to decide${more}.`
    case "Failed":
      return `The agent "${label}" failed${more}. Its task is not done.`
    case "Interrupted":
      return `The agent "${label}" was interrupted${more}. Its task is not done.`
    case "LimitReached":
      return `The agent "${label}" was stopped at a limit${more}. Its task may not be done.`
  }
}

export const changed = (paths: ReadonlyArray<string>, ranCommands: boolean): string =>
  paths.length === 0 && !ranCommands
    ? ""
    : `It changed ${paths.length === 0 ? "files by running commands" : paths.join(", ")}` +
      `${paths.length > 0 && ranCommands ? ", and may have changed more by running commands" : ""}. ` +
      "What you read of these files before is out of date: read them again before you edit them."

export const patch = (artifact: string, files: number): string =>
  `It worked in a workspace of its own. Its ${files} changed file${
    files === 1 ? "" : "s"
  } are kept as the patch ${artifact}; nothing is applied yet.`

export const pointer = (session: SessionId): string => `Session of the agent: ${session}`

export const noOutput = "(It said nothing.)"

export const parameters = {
  task: "What the agent is to do, with everything that it needs to know: it sees nothing of your conversation.",
  label: "A short name for it, for people who watch.",
  agent: "The name of a declared agent; leave it out for a general one.",
  isolation:
    "\"worktree\" gives it a copy of the project of its own, for work that changes files beside others. Default \"none\".",
  resume: "The session id of a child of yours to go on with, instead of a new one.",
  mode: "\"parallel\": all at once; \"pipeline\": one after the other, each gets the output of the one before.",
  onFailure: "What a pipeline does when a step fails: \"stop\" (default) or \"pass\" what there is on."
} as const

export const descriptions = {
  spawnAgent:
    "Start an agent of its own on one task and wait for its result. It has fewer rights than you and sees nothing of your conversation. Good " +
    "for research with much reading and for work that is independent of yours.",
  runWorkflow:
    "Start several agents on independent tasks at once (parallel), or one after the other (pipeline), and wait for their results. In a shared " +
    "workspace use parallel agents only for reading; for changes beside each other use isolation \"worktree\"."
} as const

export const section = (agents: ReadonlyArray<{ readonly name: string; readonly description: string }>): string =>
  agents.length === 0
    ? ""
    : ["# Agents", "", ...agents.map(({ description, name }) => `- ${name}: ${description}`)].join("\n")

export const pipelineInput = (task: string, label: string, output: string): string =>
  `${task}\n\nThe step before you, "${label}", said:\n\n${output}`

export const skipped = (label: string): string =>
  `The step "${label}" was not started, because a step before it did not complete.`

export const tooManySteps = (max: number): string =>
  `Nothing was started: a workflow may have ${max} steps. Split it, or give each agent more to do.`
