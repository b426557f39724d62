/** What every fault can say about when it happens. */
export interface FaultTiming {
  /**
   * How many attempts it spoils; without it, all. Attempts are counted per distinct request body, so a retry that sends
   * the same bytes is the next attempt.
   */
  readonly times?: number
  /** Count attempts under this name instead of per body: one fault over several requests. */
  readonly key?: string
}

/**
 * Faults of the connection and of the answer's frame. `afterFrames` counts data frames, the first (role) frame included;
 * a number beyond the last frame means after it, before `[DONE]`.
 */
export type WireFault =
  & FaultTiming
  & (
    /** An error answer; text and type default to the documented ones of the status. */
    | {
      readonly type: "http"
      readonly status: number
      readonly message?: string
      readonly code?: string
      readonly retryAfter?: number
      readonly body?: string
    }
    /** The connection is reset; before the headers when `afterFrames` is 0 or missing. */
    | { readonly type: "reset"; readonly afterFrames?: number }
    /** Nothing more comes and the connection stays open; with `keepAliveEvery`, comments still do (milliseconds). */
    | { readonly type: "stall"; readonly afterFrames?: number; readonly keepAliveEvery?: number; readonly for?: number }
    /** A clean end of the body without `[DONE]`; without `afterFrames` after the last frame. */
    | { readonly type: "eof"; readonly afterFrames?: number }
    /** A clean end in the middle of a frame. */
    | { readonly type: "cut-frame"; readonly afterFrames: number }
    /** A frame that is not JSON. */
    | { readonly type: "malformed-frame"; readonly afterFrames: number }
    /** `data: {"error": ...}` instead of the next frame, then the end. */
    | { readonly type: "error-object"; readonly afterFrames: number; readonly message?: string; readonly code?: string }
    /** Comment lines (streams) or empty lines (plain answers) before the first data, one every so many milliseconds. */
    | { readonly type: "keep-alive"; readonly count: number; readonly every?: number }
    /** Usage comes in a frame of its own with empty `choices`, as other servers and gateways send it. */
    | { readonly type: "trailing-usage" }
    /** No usage at all. */
    | { readonly type: "no-usage" }
    /** No `finish_reason` ever, but a proper `[DONE]`. */
    | { readonly type: "no-finish" }
    /** Status 200 and a body without `choices`. */
    | { readonly type: "no-choices" }
    /** Milliseconds before the headers. */
    | { readonly type: "delay"; readonly ms: number }
  )

/** Faults of what the model wrote. They change the reply before it is framed. */
export type ReplyFault =
  & FaultTiming
  & (
    /** The calls appear as markup in the content and `tool_calls` is missing; the variants were all seen in the wild. */
    | { readonly type: "markup-leak"; readonly variant?: "v4" | "v4.1" | "double-bar" | "plain-bar" }
    /** Arguments one `}` short, one too many, or a key closed early, reported as `tool_calls`. */
    | { readonly type: "brace-missing" | "brace-extra" | "brace-early" }
    /** Arguments cut in the middle, still reported as `tool_calls`. */
    | { readonly type: "arguments-cut"; readonly at?: number }
    /** Arrays in the arguments arrive as JSON strings. */
    | { readonly type: "arrays-as-strings" }
    /** Optional parameters that were not given arrive as `null`, `""` or `{}`. */
    | { readonly type: "placeholders"; readonly value?: null | "" | Readonly<Record<string, never>> }
    /** The last part of the content before the calls is lost. */
    | { readonly type: "text-lost" }
    /** Only reasoning: no content, no calls, `stop`. */
    | { readonly type: "reasoning-only" }
    /** Nothing at all, `stop`. */
    | { readonly type: "empty" }
    /** Identifiers of calls: empty, a space, left out, or the same one for all. */
    | { readonly type: "id-empty" | "id-blank" | "id-missing" | "id-repeated" }
    /** Indices of calls in a stream: left out, starting at 1, or 0 for all. */
    | { readonly type: "index-missing" | "index-shifted" | "index-reused" }
    /** Reasoning is interrupted by deltas with an empty list of calls. */
    | { readonly type: "reasoning-split" }
  )

/**
 * One thing that goes wrong, from what DeepSeek's API, self-hosted servers and gateways were reported to do in 2025 and 2026.
 */
export type Fault = WireFault | ReplyFault

/** A fault that a server applies, by type. */
export type FaultOf<Type extends Fault["type"]> = Extract<Fault, { readonly type: Type }>

/** The first fault of a type among those in force. */
export const findFault = <Type extends Fault["type"]>(
  faults: ReadonlyArray<Fault>,
  type: Type
): FaultOf<Type> | undefined => faults.find((fault): fault is FaultOf<Type> => fault.type === type)
