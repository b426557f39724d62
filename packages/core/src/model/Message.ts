/** The history that a model sees, in a form that no vendor owns. */
import type { CallRecord, MessageSource } from "../journal/SessionEvent.ts"

export interface UserMessage {
  readonly role: "user"
  readonly text: string
  readonly source: MessageSource
}

/** `reasoning` is kept byte for byte: some providers want it back. */
export interface AssistantMessage {
  readonly role: "assistant"
  readonly text: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<Pick<CallRecord, "id" | "name" | "arguments">>
}

export interface ToolMessage {
  readonly role: "tool"
  readonly call: string
  readonly name: string
  readonly text: string
}

/**
 * A message of the history. The same message is always the same object, so that an encoding of it can be kept in a
 * `WeakMap` and paid for once.
 */
export type Message = UserMessage | AssistantMessage | ToolMessage
