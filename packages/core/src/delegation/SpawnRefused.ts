/** Why a child was not started: nothing was created, and the caller can tell the model what to do instead. */
import { Schema } from "effect"
import { SessionId } from "../journal/SessionEvent.ts"
import type { DepthExceeded } from "./DepthLimit.ts"
import type { IsolationUnavailable } from "./Isolation.ts"
import type { TreeLimitReached } from "./TreeLimits.ts"

/** There is no declared agent of that name. */
export class UnknownAgent extends Schema.TaggedError<UnknownAgent>()("UnknownAgent", {
  name: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message() {
    return `There is no agent "${this.name}"; known: ${this.known.join(", ") || "none"}`
  }
}

/** The child that is to go on works already, for somebody else. */
export class ChildBusy extends Schema.TaggedError<ChildBusy>()("ChildBusy", { child: SessionId }) {
  override get message() {
    return `The child ${this.child} is at work already`
  }
}

/** The session that is to go on was not spawned by this parent. */
export class NotAChild extends Schema.TaggedError<NotAChild>()("NotAChild", { child: Schema.String }) {
  override get message() {
    return `The session ${this.child} is not a child of this one`
  }
}

/** Why no child was started. */
export type SpawnRefused =
  | DepthExceeded
  | TreeLimitReached
  | UnknownAgent
  | ChildBusy
  | NotAChild
  | IsolationUnavailable
