/** Where compaction stands, as a fold: what is wanted, what is open, how often it failed. */
import { Projection } from "../journal/Projection.ts"
import type { CompactionReason } from "../journal/SessionEvent.ts"

/** What became of a wish to compact. */
export type CompactionEnd =
  | { readonly outcome: "compacted"; readonly replaced: number }
  | { readonly outcome: "nothing-to-replace" | "failed" | "interrupted"; readonly detail?: string }

export interface CompactionState {
  /** Tokens of the newest answered prompt since the last compaction, as the provider counted them. */
  readonly prompt: number | undefined
  /** A compaction that must come before the next step: one that a person asked for, or that a refused request needs. */
  readonly wanted: Exclude<CompactionReason, "limit"> | undefined
  /** The request for a summary that has no answer yet. */
  readonly open:
    | { readonly step: number; readonly attempt: number; readonly through: number; readonly reason: CompactionReason }
    | undefined
  /** Requests for the summary that is due now; those that failed; those that were themselves too long. */
  readonly attempts: number
  readonly tries: number
  readonly halvings: number
  /** Failed requests for a summary in a row, over turns. */
  readonly failures: number
  /** The step that the last compaction made room for. */
  readonly madeRoomFor: number | undefined
  readonly end: CompactionEnd | undefined
}

/** The reason of a `step/failed` whose request was given up by the harness and not refused by a provider. */
export const INTERRUPTED = "Interrupted"

const rest = { wanted: undefined, open: undefined, attempts: 0, tries: 0, halvings: 0 } as const

export const CompactionProjection: Projection<CompactionState> = Projection.make<CompactionState>({
  name: "compaction",
  initial: { ...rest, prompt: undefined, failures: 0, madeRoomFor: undefined, end: undefined },
  on: {
    "compaction/requested": (state) => ({ ...state, wanted: state.wanted ?? "requested", end: undefined }),
    "compaction/dropped": (state, { detail, reason }) => ({
      ...state,
      ...rest,
      end: { outcome: reason, ...(detail === undefined ? {} : { detail }) }
    }),
    "step/open": (state, { attempt, purpose, step, through }) =>
      purpose === undefined ? state : {
        ...state,
        open: { step, attempt, through: through ?? 0, reason: state.wanted ?? "limit" },
        attempts: state.attempts + 1
      },
    "step/failed": (state, { purpose, reason }) => {
      if (purpose === undefined) {
        return reason === "ContextLength" ? { ...state, ...rest, wanted: "context-length" } : state
      }
      if (reason === INTERRUPTED) return { ...state, open: undefined }
      return {
        ...state,
        open: undefined,
        tries: state.tries + 1,
        halvings: reason === "ContextLength" ? state.halvings + 1 : state.halvings,
        failures: state.failures + 1
      }
    },
    "session/compacted": (_, { replaced, step }) => ({
      ...rest,
      prompt: undefined,
      failures: 0,
      madeRoomFor: step,
      end: { outcome: "compacted", replaced }
    }),
    "message/assistant": (state, { usage }) => usage === undefined ? state : { ...state, prompt: usage.prompt },
    // What a refused request needed ends with its turn; what a person asked for does not.
    "turn/end": (state, { detail }) =>
      state.wanted === "context-length"
        ? { ...state, ...rest, end: { outcome: "failed", ...(detail === undefined ? {} : { detail }) } }
        : { ...state, ...rest, wanted: state.wanted }
  }
})
