/** What a session has used, as the provider counted it. */
import { Projection } from "../journal/Projection.ts"
import type { TokenUsage } from "../journal/SessionEvent.ts"

export interface UsageTotals extends TokenUsage {
  /** Requests that were answered, those for summaries among them. */
  readonly requests: number
  /** Attempts that failed; what they cost is not known. */
  readonly failed: number
  /** The last request that was answered. */
  readonly last: TokenUsage | undefined
}

export const Usage: Projection<UsageTotals> = Projection.make<UsageTotals>({
  name: "usage",
  initial: { requests: 0, failed: 0, prompt: 0, hit: 0, miss: 0, completion: 0, reasoning: 0, last: undefined },
  on: {
    "message/assistant": (totals, { usage }) => answered(totals, usage),
    "session/compacted": (totals, { usage }) => answered(totals, usage),
    "step/failed": (totals) => ({ ...totals, failed: totals.failed + 1 })
  }
})

const answered = (totals: UsageTotals, usage: TokenUsage | undefined): UsageTotals =>
  usage === undefined ? totals : {
    requests: totals.requests + 1,
    failed: totals.failed,
    prompt: totals.prompt + usage.prompt,
    hit: totals.hit + usage.hit,
    miss: totals.miss + usage.miss,
    completion: totals.completion + usage.completion,
    reasoning: totals.reasoning + usage.reasoning,
    last: usage
  }
