/**
 * A reply, from the chunks of its stream to the parts that the harness sees.
 *
 * One mutable record per reply and no effects: a chunk costs a few property reads. The stream's own end is not trusted:
 * only a `finish_reason` completes a reply, and what a completed reply is worth is judged in {@link Assembly.end}.
 */
import { type FinishReason, type ModelPart, TransportError, type TransportReason } from "@holdfast/core"
import { makeScanner, type MarkupScanner } from "./Markup.ts"
import type { UsageFields } from "./Profile.ts"
import { repairArguments } from "./Repair.ts"
import { type OpenCall, ToolCalls } from "./ToolCalls.ts"
import { readUsage } from "./Usage.ts"

const failure = (reason: TransportReason, code: string, detail: string, retryable: boolean): TransportError =>
  new TransportError({ reason, code, detail, retryable })

const finishes: { readonly [reason: string]: FinishReason } = {
  stop: "stop",
  tool_calls: "tool-calls",
  length: "length",
  content_filter: "content-filter"
}

export interface AssemblyOptions {
  readonly usage: UsageFields
  /** Whether tool-call markup in the text fails the reply (`fail`) or passes as text (`pass`). */
  readonly leakedMarkup: "fail" | "pass"
  /** The limit that the request set. A reply that reached it was cut, whatever reason the server gives. */
  readonly maxTokens: number
}

interface Chunk {
  readonly choices?: unknown
  readonly usage?: unknown
}

interface Choice {
  readonly index?: unknown
  readonly finish_reason?: unknown
  readonly delta?: unknown
}

interface Delta {
  readonly content?: unknown
  readonly reasoning_content?: unknown
  readonly reasoning?: unknown
  readonly tool_calls?: unknown
}

const strictObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === "object" && !Array.isArray(value)
  } catch {
    return false
  }
}

/** One reply being read. */
export class Assembly {
  private readonly options: AssemblyOptions
  private readonly scanner: MarkupScanner | undefined
  private readonly tools = new ToolCalls()
  private usage: unknown = undefined
  private finish: string | undefined = undefined
  private choiceSeen = false
  private textSeen = false

  constructor(options: AssemblyOptions) {
    this.options = options
    this.scanner = options.leakedMarkup === "fail" ? makeScanner() : undefined
  }

  /** Whether the server has said why the reply ended. */
  get finished(): boolean {
    return this.finish !== undefined
  }

  /** Takes one chunk and adds what it says to `out`; returns an error if the reply is worthless from here on. */
  push(chunk: unknown, out: Array<ModelPart>): TransportError | undefined {
    if (chunk === null || typeof chunk !== "object") return undefined
    const { choices, usage } = chunk as Chunk
    if (usage !== null && typeof usage === "object") this.usage = usage
    if (!Array.isArray(choices)) return undefined
    for (const value of choices as ReadonlyArray<unknown>) {
      if (value === null || typeof value !== "object") continue
      const choice = value as Choice
      // Only one choice is ever asked for.
      if (typeof choice.index === "number" && choice.index !== 0) continue
      this.choiceSeen = true
      if (choice.delta !== null && typeof choice.delta === "object") {
        const error = this.delta(choice.delta, out)
        if (error !== undefined) return error
      }
      if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") this.finish = choice.finish_reason
    }
    return undefined
  }

  private delta(delta: Delta, out: Array<ModelPart>): TransportError | undefined {
    const reasoning = delta.reasoning_content ?? delta.reasoning
    if (typeof reasoning === "string" && reasoning !== "") out.push({ _tag: "Reasoning", text: reasoning })
    if (typeof delta.content === "string" && delta.content !== "") {
      const text = this.scanner === undefined ? delta.content : this.scanner.push(delta.content)
      if (text === undefined) {
        return failure(
          "InvalidOutputError",
          "leaked-tool-markup",
          "the reply contains tool-call markup as text; nothing of it was run",
          true
        )
      }
      this.text(text, out)
    }
    if (Array.isArray(delta.tool_calls)) {
      for (const value of delta.tool_calls as ReadonlyArray<unknown>) {
        const fragment = this.tools.push(value)
        if (fragment !== undefined && (fragment.text !== "" || fragment.named)) {
          out.push({
            _tag: "ToolInput",
            index: fragment.call.place,
            name: fragment.call.name,
            text: fragment.text
          })
        }
      }
    }
    return undefined
  }

  private text(text: string, out: Array<ModelPart>): void {
    if (text === "") return
    if (!this.textSeen && text.trim() !== "") this.textSeen = true
    out.push({ _tag: "Text", text })
  }

  /** The stream has ended: adds the last parts to `out`; returns an error if the reply cannot be used. */
  end(out: Array<ModelPart>): TransportError | undefined {
    if (this.finish === undefined) {
      return this.choiceSeen || this.usage === undefined
        ? failure("NetworkError", "truncated", "the stream ended before the reply was complete", true)
        : failure("InvalidOutputError", "no-choices", "the reply has no choices", true)
    }
    if (this.scanner !== undefined) this.text(this.scanner.rest(), out)
    const error = this.judge()
    if (error === undefined) this.emitCalls(out)
    if (this.usage !== undefined) out.push({ _tag: "Usage", usage: readUsage(this.usage, this.options.usage) })
    if (error === undefined) out.push({ _tag: "Finish", reason: this.reason() })
    return error
  }

  private reason(): FinishReason {
    const reason = finishes[this.finish!]!
    // Some servers say `stop` for a reply that consists of calls.
    return reason === "stop" && this.tools.calls.length > 0 ? "tool-calls" : reason
  }

  private judge(): TransportError | undefined {
    const calls = this.tools.calls.length
    switch (this.finish) {
      case "stop":
        return this.textSeen || calls > 0
          ? undefined
          : failure("InvalidOutputError", "empty", "the reply has neither text nor tool calls", true)
      case "tool_calls":
        return calls > 0
          ? undefined
          : failure("InvalidOutputError", "missing-calls", "the reply ended for tool calls but has none", true)
      case "length":
      case "content_filter":
        return undefined
      case "insufficient_system_resource":
        return failure(
          "InternalProviderError",
          "insufficient-system-resource",
          "the server stopped the reply because it is short of resources",
          true
        )
      default:
        return failure(
          "InvalidOutputError",
          "finish-reason",
          `unknown finish reason ${JSON.stringify(this.finish)}`,
          false
        )
    }
  }

  private emitCalls(out: Array<ModelPart>): void {
    const calls = this.tools.calls
    switch (this.finish) {
      case "content_filter":
        return
      case "length":
        // The last call was being written. One before it is complete if it reads as an object; nothing is repaired.
        for (const call of calls.slice(0, -1)) {
          const text = call.fragments.join("")
          if (strictObject(text)) out.push(toolCall(call, text))
        }
        return
      default:
        for (const call of calls) out.push(this.ended(call))
    }
  }

  private reachedLimit(): boolean {
    return this.usage !== undefined &&
      readUsage(this.usage, this.options.usage).completion >= this.options.maxTokens
  }

  private ended(call: OpenCall): ModelPart {
    const text = call.fragments.join("")
    const repaired = this.finish === "tool_calls" && !this.reachedLimit() ? repairArguments(text) : undefined
    if (repaired === undefined || repaired === text) return toolCall(call, text)
    return { ...toolCall(call, repaired), received: text }
  }
}

const toolCall = (call: OpenCall, text: string): Extract<ModelPart, { readonly _tag: "ToolCall" }> => ({
  _tag: "ToolCall",
  id: call.id,
  name: call.name,
  arguments: text
})
