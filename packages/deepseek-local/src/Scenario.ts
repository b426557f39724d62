import type { Fault } from "./Faults.ts"
import type { LatencyProfile } from "./Latency.ts"
import type { ChatMessage, ChatRequest, FinishReason, Usage } from "./Protocol.ts"
import { textOf } from "./Protocol.ts"

/** A call in a scripted reply. Arguments given as text are sent as they are, so they can be wrong on purpose. */
export interface ScriptedCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>> | string
  /** Default: `call_00_` and 24 characters derived from seed and request. */
  readonly id?: string
}

/** What the scripted model answers, and what goes wrong on the way. */
export interface Reply {
  /** Sent only if the request has thinking on. */
  readonly reasoning?: string
  readonly content?: string
  readonly toolCalls?: ReadonlyArray<ScriptedCall>
  /** Default: `tool_calls` if there are any, else `stop`; `length` when `max_tokens` cuts the reply. */
  readonly finishReason?: FinishReason
  readonly faults?: ReadonlyArray<Fault>
  /** Overrides parts of the server's latency profile for this reply. */
  readonly latency?: Partial<LatencyProfile>
  /** Overrides parts of the computed usage, e.g. to test a client's alarm. */
  readonly usage?: Partial<Usage>
}

/** A request as a scenario sees it: with the conversation already taken apart. */
export interface ParsedRequest extends ChatRequest {
  readonly conversation: Conversation
}

/**
 * The scripted model: **a pure function of the request**. It must not count how often it was called: a session that was
 * killed and resumed, a retry or a fork sends the same messages again and must get the same answer. What would be a
 * position in a list of lines is a question about the messages here: how many assistant messages since the last user
 * message, which tool results, which refusals.
 */
export type Scenario = (request: ParsedRequest) => Reply

/** A result of a tool, with the name and the arguments of the call that it answers. */
export interface ToolResult {
  readonly tool: string
  readonly arguments: string
  readonly content: string
}

/** Questions about the messages of a request. `all` is the whole history, the others look at the turn: what came since the last user message. */
export interface Conversation {
  readonly all: ReadonlyArray<ChatMessage>
  /** Messages after the last user message that is not ignored. */
  readonly turn: ReadonlyArray<ChatMessage>
  /** The last message that is not ignored. */
  readonly last: ChatMessage | undefined
  readonly lastText: string
  readonly systemText: string
  /** Text of the last user message that is not ignored, "" if none. */
  readonly userText: string
  /** All user messages that are not ignored, first to last. */
  readonly userTexts: ReadonlyArray<string>
  /** Assistant messages in the turn: the step that is asked for now, from 0. */
  readonly step: number
  /** Assistant messages in the whole conversation. */
  readonly steps: number
  /** Results in the turn, of one tool or of all, first to last. */
  readonly results: (tool?: string) => ReadonlyArray<ToolResult>
  /** Results in the whole conversation. */
  readonly allResults: (tool?: string) => ReadonlyArray<ToolResult>
  /** Whether some result in the turn (of this tool, if named) contains the text. */
  readonly resultContains: (text: string, tool?: string) => boolean
  /** Whether any message of the whole conversation contains the text, ignored messages included. */
  readonly contains: (text: string) => boolean
}

/**
 * Messages that a harness adds for one request or as a notice and that a scenario wants to look past, e.g. the tail with
 * the plan guidance, which would otherwise be "the last user message".
 */
export type IgnoredMessage = (message: ChatMessage, text: string) => boolean

/** Takes the messages of a request apart. */
export const conversation = (
  messages: ReadonlyArray<ChatMessage>,
  ignore: IgnoredMessage = () => false
): Conversation => {
  const kept = messages.filter((message) => message.role !== "user" || !ignore(message, textOf(message)))
  const users = kept.filter((message) => message.role === "user").map((message) => textOf(message))
  const turn = kept.slice(kept.findLastIndex((message) => message.role === "user") + 1)
  const last = kept[kept.length - 1]
  const resultsOf = (within: ReadonlyArray<ChatMessage>, tool?: string): ReadonlyArray<ToolResult> => {
    // A result can stand after the last user message while its call stands before it.
    const calls = new Map(kept.flatMap((message) => message.tool_calls ?? []).map((call) => [call.id, call.function]))
    return within.filter((message) => message.role === "tool").map((message) => {
      const call = calls.get(message.tool_call_id ?? "")
      return { tool: call?.name ?? "", arguments: call?.arguments ?? "", content: textOf(message) }
    }).filter((result) => tool === undefined || result.tool === tool)
  }
  const count = (within: ReadonlyArray<ChatMessage>): number =>
    within.filter((message) => message.role === "assistant").length
  return {
    all: messages,
    turn,
    last,
    lastText: last === undefined ? "" : textOf(last),
    systemText: messages.filter((message) => message.role === "system").map((message) => textOf(message)).join("\n"),
    userText: users[users.length - 1] ?? "",
    userTexts: users,
    step: count(turn),
    steps: count(kept),
    results: (tool) => resultsOf(turn, tool),
    allResults: (tool) => resultsOf(kept, tool),
    resultContains: (text, tool) => resultsOf(turn, tool).some((result) => result.content.includes(text)),
    contains: (text) => messages.some((message) => textOf(message).includes(text))
  }
}

/** Makes a parsed request of a validated one. */
export const parsedRequest = (request: ChatRequest, ignore?: IgnoredMessage): ParsedRequest => ({
  ...request,
  conversation: conversation(request.messages, ignore)
})

/** The scenario had no answer; the server says so with a 400, which no client retries. */
export class NoReply extends Error {}

const resolve = (answer: Reply | Scenario, request: ParsedRequest): Reply =>
  typeof answer === "function" ? answer(request) : answer

/** A reply of text. */
export const text = (content: string, rest: Omit<Reply, "content"> = {}): Reply => ({ content, ...rest })

/** A reply that calls one tool. */
export const call = (
  name: string,
  args: ScriptedCall["arguments"] = {},
  rest: Omit<Reply, "toolCalls"> = {}
): Reply => ({ toolCalls: [{ name, arguments: args }], ...rest })

/** A reply that calls several tools at once. */
export const calls = (toolCalls: ReadonlyArray<ScriptedCall>, rest: Omit<Reply, "toolCalls"> = {}): Reply => ({
  toolCalls,
  ...rest
})

/** A reply that is an error answer. `times` makes the first attempts fail and then plays `otherwise`. */
export const fail = (
  status: number,
  options: { readonly times?: number; readonly retryAfter?: number; readonly otherwise?: Reply } = {}
): Reply => {
  const { otherwise, ...timing } = options
  return { ...otherwise, faults: [{ type: "http", status, ...timing }, ...(otherwise?.faults ?? [])] }
}

/** The same reply with faults. */
export const withFaults = (reply: Reply, ...faults: ReadonlyArray<Fault>): Reply => ({
  ...reply,
  faults: [...(reply.faults ?? []), ...faults]
})

/** A branch: its predicate on the request and what follows. */
export interface Branch {
  readonly when: (request: ParsedRequest) => boolean
  readonly answer: Reply | Scenario
}

/** A branch of `firstMatch`. */
export const when = (predicate: Branch["when"], answer: Reply | Scenario): Branch => ({ when: predicate, answer })

/**
 * The first branch whose predicate holds. Without a match the request is answered with a 400 that names the last message.
 *
 * @example
 * Scenario.firstMatch(
 *   Scenario.when(({ conversation }) => conversation.resultContains("plan mode", "write_file"), Scenario.call("exit_plan_mode", { plan })),
 *   Scenario.when(({ conversation }) => conversation.step === 0, Scenario.call("write_file", { path: "a" })),
 *   Scenario.when(() => true, Scenario.text("done"))
 * )
 */
export const firstMatch = (...branches: ReadonlyArray<Branch>): Scenario => (request) => {
  for (const branch of branches) {
    if (branch.when(request)) return resolve(branch.answer, request)
  }
  throw new NoReply("no branch matches")
}

/**
 * The replies of one turn, by the number of assistant messages since the last user message; the last one repeats.
 * It resumes, because the step is read from the messages.
 */
export const steps = (...replies: ReadonlyArray<Reply | Scenario>): Scenario => (request) => {
  const reply = replies[Math.min(request.conversation.step, replies.length - 1)]
  if (reply === undefined) throw new NoReply("no steps")
  return resolve(reply, request)
}

/** One scenario per turn, by what the last user message contains; the first key that it contains wins. */
export const turns = (byUserText: Readonly<Record<string, Reply | Scenario>>): Scenario =>
  firstMatch(
    ...Object.entries(byUserText).map(([part, answer]) =>
      when((request) => request.conversation.userText.includes(part), answer)
    )
  )

/** Looks past some user messages (tails, notices) in the conversation that a scenario sees. */
export const ignoring = (ignore: IgnoredMessage, scenario: Scenario): Scenario => (request) =>
  scenario(parsedRequest(request, ignore))
