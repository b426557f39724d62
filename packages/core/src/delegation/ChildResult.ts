/** How a child ended, and the pure decisions about it. */
import { Duration } from "effect"
import type { TurnEnd } from "../agent/Agent.ts"
import type { ChildStatus, EventData, SessionId, TokenUsage } from "../journal/SessionEvent.ts"

/** How a child ended, as data. `ok` is `status === "Completed"`. */
export interface ChildResult {
  readonly ok: boolean
  readonly status: ChildStatus
  readonly output: string
  readonly detail: string | undefined
  readonly session: SessionId
  readonly label: string
  readonly usage: TokenUsage
  readonly gatedCalls: number
  readonly changed: ReadonlyArray<string>
  readonly ranCommands: boolean
  readonly patch: { readonly artifact: string; readonly files: number } | undefined
}

/** The result that a `child/ended` records. */
export const fromEvent = (ended: EventData<"child/ended">, label: string): ChildResult => ({
  ok: ended.status === "Completed",
  status: ended.status,
  output: ended.output,
  detail: ended.detail,
  session: ended.child,
  label,
  usage: ended.usage,
  gatedCalls: ended.gatedCalls,
  changed: ended.changed,
  ranCommands: ended.ranCommands,
  patch: ended.patch === undefined ? undefined : { artifact: ended.patch, files: ended.changed.length }
})

/** The status that the end of a child's turn is. Success is never the default. */
export const statusOf = (
  end: TurnEnd | "deadline" | "interrupted",
  work: { readonly gated: number; readonly mutated: number },
  deadline: Duration.Duration
): { readonly status: ChildStatus; readonly detail: string | undefined } => {
  if (end === "deadline") return { status: "LimitReached", detail: `it worked for ${Duration.format(deadline)}` }
  if (end === "interrupted") return { status: "Interrupted", detail: undefined }
  switch (end.reason) {
    case "completed":
      return work.gated > 0 && work.mutated === 0
        ? { status: "GatedOnly", detail: `${work.gated} calls were refused because plan mode is on (plan_gate)` }
        : { status: "Completed", detail: work.gated > 0 ? `${work.gated} calls were refused (plan_gate)` : undefined }
    case "awaiting-user":
      return { status: "Refused", detail: end.detail }
    case "interrupted":
    case "closed":
      return { status: "Interrupted", detail: end.detail }
    case "round-limit":
    case "repeat-limit":
    case "budget":
      return { status: "LimitReached", detail: `${end.reason}${end.detail === undefined ? "" : `: ${end.detail}`}` }
    default:
      return { status: "Failed", detail: end.detail ?? end.reason }
  }
}
