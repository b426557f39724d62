/** The harness's events as what the terminal shows. */
import { isLive, type LiveEvent, type SessionEvent, type ToolCatalog } from "@holdfast/core"
import type { ProgressEvent, ToolResult } from "@holdfast/terminal"

const results: { readonly [outcome: string]: ToolResult } = {
  ok: "ok",
  error: "failed",
  refused: "refused",
  interrupted: "interrupted",
  "not-started": "interrupted",
  unknown: "failed"
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? ""

/** Makes the mapping. It remembers the calls of the newest reply, for their titles. */
export const progressOf = (catalog: ToolCatalog["Service"]) => {
  const titles = new Map<string, string>()
  const title = (name: string, args: string): string => {
    try {
      return catalog.get(name)?.traits.title?.(JSON.parse(args)) ?? name
    } catch {
      return name
    }
  }
  return (event: SessionEvent | LiveEvent): ReadonlyArray<ProgressEvent> => {
    if (isLive(event)) {
      switch (event.live) {
        case "text":
          return [{ _tag: "Text", text: event.text }]
        case "reasoning":
          return [{ _tag: "Thinking", text: event.text }]
        case "tokens":
          return [{ _tag: "Tokens", count: event.count }]
        case "retrying":
          return [{ _tag: "Retrying", inMillis: event.inMillis, reason: event.reason }]
        default:
          return []
      }
    }
    switch (event.type) {
      case "message/assistant":
        for (const call of event.data.calls) titles.set(call.id, title(call.name, call.arguments))
        return []
      case "tool/started":
        return [{ _tag: "ToolStarted", title: titles.get(event.data.call) ?? event.data.name }]
      case "tool/result":
        return [{
          _tag: "ToolFinished",
          title: titles.get(event.data.call) ?? event.data.name,
          outcome: results[event.data.outcome] ?? "failed",
          summary: firstLine(event.data.content)
        }]
      case "review/asked":
      case "approval/asked":
      case "question/asked":
        return [{ _tag: "Waiting", title: event.data.title, asker: "the agent" }]
      case "plan/mode":
        return [{ _tag: "PlanMode", active: event.data.active }]
      case "turn/end":
        return [{
          _tag: "TurnEnded",
          reason: event.data.reason,
          ...(event.data.detail === undefined ? {} : { detail: event.data.detail })
        }]
      default:
        return []
    }
  }
}
