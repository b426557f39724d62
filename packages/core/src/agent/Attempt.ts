/**
 * One attempt at one step: what the stream has given so far, and the message that it becomes.
 *
 * The assembly is a plain mutable collector, because a reply may have a hundred thousand fragments; what leaves it is an
 * event.
 */
import type { LiveEvent } from "../journal/LiveEvent.ts"
import {
  type CallRecord,
  type EventData,
  type NewEvent,
  SessionEvent,
  type TokenUsage
} from "../journal/SessionEvent.ts"
import { type FinishReason, type ModelPart, TransportError } from "../model/ModelTransport.ts"

export interface Attempt {
  /** Takes parts in and returns what observers see of them. */
  readonly take: (parts: ReadonlyArray<ModelPart>) => ReadonlyArray<LiveEvent>
  /** The complete reply, or why it is none. */
  readonly complete: () => EventData<"message/assistant"> | TransportError
  /** What there is of a reply that was interrupted: text and reasoning stay, calls that never finished do not. */
  readonly interrupted: () => NewEvent
}

/** Begins the attempt at step number `step`. */
export const beginAttempt = (step: number): Attempt => {
  const text: Array<string> = []
  const reasoning: Array<string> = []
  const calls: Array<CallRecord> = []
  let usage: TokenUsage | undefined
  let finish: FinishReason | undefined
  let fragments = 0

  const message = (finished: string, made: ReadonlyArray<CallRecord>): EventData<"message/assistant"> => ({
    step,
    text: text.join(""),
    reasoning: reasoning.join(""),
    calls: made,
    finish: finished,
    ...(usage === undefined ? {} : { usage })
  })

  return {
    take: (parts) => {
      const shown: Array<LiveEvent> = []
      for (const part of parts) {
        switch (part._tag) {
          case "Text":
            text.push(part.text)
            shown.push({ live: "text", text: part.text })
            fragments++
            break
          case "Reasoning":
            reasoning.push(part.text)
            shown.push({ live: "reasoning", text: part.text })
            fragments++
            break
          case "ToolInput":
            shown.push({ live: "tool-input", index: part.index, name: part.name, text: part.text })
            fragments++
            break
          case "ToolCall":
            calls.push(recordCall(step, calls.length, part))
            break
          case "Usage":
            usage = part.usage
            break
          case "Finish":
            finish = part.reason
        }
      }
      if (shown.length > 0) shown.push({ live: "tokens", count: fragments })
      return shown
    },
    complete: () => {
      if (finish === undefined) return failure("NetworkError", "truncated", "the stream ended before the reply did")
      const said = text.some((part) => part.trim() !== "")
      if (finish === "length" && !said && calls.length === 0) {
        return failure("InvalidOutputError", "starved", "the token limit was reached before the reply began", false)
      }
      if (!said && calls.length === 0 && finish !== "content-filter") {
        return failure("InvalidOutputError", "empty", "the model sent an empty reply")
      }
      return message(finish, calls)
    },
    interrupted: () => SessionEvent.event("message/assistant", { ...message("interrupted", []), interrupted: true })
  }
}

const failure = (reason: TransportError["reason"], code: string, detail: string, retryable = true): TransportError =>
  new TransportError({ reason, code, detail, retryable })

/** A call under an id of the harness's own. What the model sent is kept; what is replayed is always a JSON object. */
const recordCall = (
  step: number,
  index: number,
  part: Extract<ModelPart, { readonly _tag: "ToolCall" }>
): CallRecord => {
  const fault = objectFault(part.arguments)
  const raw = part.received ?? (fault === undefined ? undefined : part.arguments)
  return {
    id: `call_${step}_${index}`,
    name: part.name === "" ? "unnamed" : part.name,
    arguments: fault === undefined ? part.arguments : "{}",
    ...(fault === undefined ? {} : { fault }),
    received: { id: part.id, ...(raw === undefined ? {} : { arguments: raw }) }
  }
}

const objectFault = (text: string): string | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "not an object"
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 200) : "not JSON"
  }
}
