/**
 * Where a history may be cut: between units, never inside one.
 *
 * A unit is one user message, or one assistant message with all its tool results. A provider rejects a history in which a
 * call has no result or a result has no call, so a cut by position alone could end a session for good.
 */
import type { Message } from "../model/Message.ts"

/** The positions at which units begin. */
export const units = (messages: ReadonlyArray<Message>): ReadonlyArray<number> =>
  messages.flatMap((message, i) => message.role === "tool" ? [] : [i])

/**
 * About how many tokens a message has: its UTF-8 bytes over 4. Measured texts have 3.5 to 4.5 bytes a token
 * (`deepseek-api.md` section 3); this is only used to choose a cut, never to count what was used.
 */
export const estimateTokens = (message: Message): number => {
  const calls = message.role === "assistant" ? message.calls : []
  const extra = message.role === "assistant" ? message.reasoning : ""
  const bytes = [message.text, extra, ...calls.flatMap((call) => [call.name, call.arguments])]
  return Math.ceil(bytes.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / 4)
}

const sizeOf = (messages: ReadonlyArray<Message>): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message), 0)

const isSummary = (message: Message | undefined): boolean =>
  message?.role === "user" && message.source.kind === "plugin" && message.source.plugin === "compaction"

export interface CutOptions {
  /** Estimated tokens that stay as they are at the end of the history, in whole units. */
  readonly keepTokens: number
  /** The largest part of the history that may stay, 0 to 1: below 1, even a short history is cut. */
  readonly keepShare: number
  /**
   * How often a request for a summary was itself too long: each time, only half of what it carried is tried. The rest
   * stays as it is.
   */
  readonly halvings: number
  /** The least that the cut must replace, in estimated tokens; below that it is not worth a request. */
  readonly worth: number
}

/**
 * How many messages, from the oldest on, a summary should replace; `undefined` when there is nothing to gain. User
 * messages that nobody has answered yet always stay, and an earlier summary alone is not worth replacing.
 */
export const findCut = (messages: ReadonlyArray<Message>, options: CutOptions): number | undefined => {
  const lastReply = messages.findLastIndex((message) => message.role === "assistant")
  if (lastReply === -1) return undefined
  const starts = units(messages)
  const answered = starts.find((start) => start > lastReply) ?? messages.length
  const total = sizeOf(messages.slice(0, answered))
  const keep = Math.max(
    Math.min(options.keepTokens, total * options.keepShare),
    total * (1 - 0.5 ** options.halvings)
  )
  let cut = answered
  let kept = 0
  for (const start of starts.filter((position) => position < answered).toReversed()) {
    kept += sizeOf(messages.slice(start, cut))
    if (kept > keep) break
    cut = start
  }
  const replaced = messages.slice(0, cut)
  const fresh = isSummary(replaced[0]) ? replaced.slice(1) : replaced
  if (fresh.length === 0 || sizeOf(fresh) < options.worth) return undefined
  return cut
}
