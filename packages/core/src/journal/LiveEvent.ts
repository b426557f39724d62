/** What observers see while it happens and nobody needs afterwards: never stored, never decided upon. */

export type LiveEvent =
  /** Fragments of the reply as they arrive. */
  | { readonly live: "text"; readonly text: string }
  | { readonly live: "reasoning"; readonly text: string }
  | { readonly live: "tool-input"; readonly index: number; readonly name: string; readonly text: string }
  /** How many fragments the reply has so far; most providers send about one token in each. */
  | { readonly live: "tokens"; readonly count: number }
  /** A preliminary result of a running tool. */
  | { readonly live: "tool-progress"; readonly call: string; readonly value: unknown }
  /** The attempt failed and is made again after the wait. */
  | { readonly live: "retrying"; readonly attempt: number; readonly inMillis: number; readonly reason: string }

/** Tells live events from facts. */
export const isLive = (event: object): event is LiveEvent => "live" in event
