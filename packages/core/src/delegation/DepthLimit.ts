/**
 * How deep agents may nest. The root has depth 0; a child one more than its parent, for ever: depth is a fact of the session's first
 * event, so neither a restart nor a fork makes a child a root.
 */
import { Context, Layer, Schema } from "effect"
import { SessionInfo } from "../journal/SessionInfo.ts"
import type { SessionView } from "../journal/Session.ts"

/** The child would be deeper than allowed. Nothing was created. */
export class DepthExceeded extends Schema.TaggedError<DepthExceeded>()("DepthExceeded", {
  depth: Schema.Natural,
  max: Schema.Natural
}) {
  override get message() {
    return `An agent at depth ${this.depth} is not allowed; the limit is ${this.max}`
  }
}

export class DepthLimit extends Context.Reference<number>("@holdfast/core/DepthLimit", { defaultValue: () => 3 }) {
  /** `max` is the depth of the deepest child; 0 allows none. */
  static readonly layer = (max: number): Layer.Layer<never> => Layer.succeed(DepthLimit, max)
}

/** The depth that a child of this session would have, or the error that forbids it. */
export const childDepth = (view: SessionView, max: number): number | DepthExceeded => {
  const depth = view.get(SessionInfo).depth + 1
  return depth > max ? new DepthExceeded({ depth, max }) : depth
}
