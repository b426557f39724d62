/** The harness's events as what the terminal shows. */
import { Interaction, isLive, type LiveEvent, type SessionEvent, type ToolCatalog } from "@holdfast/core"
import type { ProgressEvent, ToolResult } from "@holdfast/terminal"
import { Context, Effect, Layer } from "effect"

const results: { readonly [outcome: string]: ToolResult } = {
  ok: "ok",
  error: "failed",
  refused: "refused",
  interrupted: "interrupted",
  "not-started": "interrupted",
  unknown: "failed"
}

const cut = (text: string, length: number): string => text.length <= length ? text : `${text.slice(0, length - 1)}…`

/** The first sentence of a text on one line: refusals and reports say first what matters most. */
const firstSentence = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  return cut(/^.*?[.!?](?= |$)/.exec(line)?.[0] ?? line, 160)
}

const nonEmpty = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line.trim() !== "")

/** How a test run ended, from the counts that runners print (`# pass 3`, `ℹ fail 0`). */
const testCounts = (output: string): string | undefined => {
  const count = (what: string) => new RegExp(`^\\W*${what} (\\d+)$`, "m").exec(output)?.[1]
  const [tests, pass, fail] = [count("tests"), count("pass"), count("fail")]
  return tests === undefined || pass === undefined || fail === undefined
    ? undefined
    : `${tests} ${tests === "1" ? "test" : "tests"}, ${pass} passed, ${fail} failed`
}

/** What a person wants to know of a result at a glance. */
export const summarise = (tool: string, outcome: string, content: string): string => {
  if (outcome !== "ok") return firstSentence(content)
  const lines = nonEmpty(content)
  switch (tool) {
    case "read_file":
      return `${content.trimEnd().split("\n").length} lines`
    case "list_dir":
      return cut(lines.join("  "), 120)
    case "glob":
    case "grep":
      return lines.length <= 1 ? cut(lines[0] ?? "", 120) : `${lines.length} lines, first ${cut(lines[0] ?? "", 100)}`
    case "run_command":
      // The tool puts its own remarks, such as the exit code, into parentheses at the end.
      return testCounts(content) ?? cut(lines.findLast((line) => !line.startsWith("(")) ?? lines.at(-1) ?? "", 160)
    default:
      return firstSentence(content)
  }
}

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
        return [{ _tag: "ReplyEnded" }]
      case "tool/started":
        return [{ _tag: "ToolStarted", title: titles.get(event.data.call) ?? event.data.name }]
      case "tool/result":
        return [{
          _tag: "ToolFinished",
          title: titles.get(event.data.call) ?? event.data.name,
          outcome: results[event.data.outcome] ?? "failed",
          summary: summarise(event.data.name, event.data.outcome, event.data.content)
        }]
      case "plan/mode":
        return [{ _tag: "PlanMode", active: event.data.active }]
      case "turn/end":
        return [{
          _tag: "TurnEnded",
          reason: event.data.reason,
          ...(event.data.detail === undefined ? {} : { detail: event.data.detail })
        }]
      // A question needs no line of its own: the person is shown it, with who asks, as soon as it is asked.
      default:
        return []
    }
  }
}

/**
 * Keeps what is shown in order. Events reach the view by a stream and questions reach the person directly, so a question
 * waits until everything that led to it stands above it.
 */
export class Shown extends Context.Service<Shown, {
  /** Waits until everything that has happened so far is on the screen. */
  readonly caughtUp: Effect.Effect<void>
  /** Says how to wait for that, from now on. */
  readonly follow: (caughtUp: Effect.Effect<void>) => void
}>()("@holdfast/example-plan-and-build/Shown") {
  static readonly layer: Layer.Layer<Shown> = Layer.sync(Shown, () => {
    let current: Effect.Effect<void> = Effect.void
    return {
      caughtUp: Effect.suspend(() => current),
      follow: (caughtUp) => void (current = caughtUp)
    }
  })
}

/** The person around this layer, asked in the order of the screen. */
export const askedInOrder: Layer.Layer<Interaction, never, Interaction | Shown> = Layer.effect(
  Interaction,
  Effect.gen(function*() {
    const person = yield* Interaction
    const shown = yield* Shown
    return Interaction.of({ ...person, ask: (question) => Effect.andThen(shown.caughtUp, person.ask(question)) })
  })
)
