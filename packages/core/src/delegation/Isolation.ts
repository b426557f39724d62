/**
 * The seam to isolated workspaces: a place of its own for a child that changes files while others do too.
 *
 * What a child made in its place is harvested as one durable patch before the place is given back. Isolation that cannot be had is an
 * error; nobody falls back to the shared place.
 */
import { Context, type Effect, Schema, type Scope } from "effect"
import type { SessionId } from "../journal/SessionEvent.ts"

/** A child cannot have a place of its own here. Nothing was started. */
export class IsolationUnavailable extends Schema.TaggedError<IsolationUnavailable>()("IsolationUnavailable", {
  reason: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `No isolated workspace: ${this.detail}`
  }
}

/** What a child made could not be collected. The place is kept as it is; `place` says where. */
export class HarvestFailed extends Schema.TaggedError<HarvestFailed>()("HarvestFailed", {
  place: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `The work in ${this.place} could not be collected and was left there: ${this.detail}`
  }
}

/** One changed path of a patch. */
export interface PatchFile {
  readonly path: string
  readonly change: "added" | "modified" | "deleted" | "renamed"
}

/** Everything that was changed in an isolated place, kept under `artifact`. */
export interface Patch {
  readonly artifact: string
  readonly base: string
  readonly files: ReadonlyArray<PatchFile>
}

export interface IsolatedWorkspace {
  readonly cwd: string
  /** Collects the changes so far as one durable artifact. May be called again; the last one counts. */
  readonly harvest: Effect.Effect<Patch, HarvestFailed>
  /** Notes for the parent, such as that something outside of the place was changed. */
  readonly violations: Effect.Effect<ReadonlyArray<string>>
}

/** The patch does not fit what is there now. Nothing was changed; `paths` are those that stand in the way. */
export class PatchConflict extends Schema.TaggedError<PatchConflict>()("PatchConflict", {
  artifact: Schema.String,
  paths: Schema.Array(Schema.String)
}) {
  override get message() {
    return `The patch ${this.artifact} does not apply: ${this.paths.join(", ")}`
  }
}

export class Isolation extends Context.Service<Isolation, {
  /**
   * Opens a place for a child, on the state of `parentCwd` with its uncommitted work. The scope gives it back, after what is in it was
   * harvested; what cannot be harvested is never removed. A place that the child had before is opened again.
   */
  readonly open: (request: {
    readonly child: SessionId
    readonly label: string
    readonly parentCwd: string
  }) => Effect.Effect<IsolatedWorkspace, IsolationUnavailable, Scope.Scope>
  /** Merges a patch into a workspace: wholly or not at all. */
  readonly apply: (request: {
    readonly artifact: string
    readonly cwd: string
  }) => Effect.Effect<ReadonlyArray<PatchFile>, PatchConflict | IsolationUnavailable>
}>()("@holdfast/core/Isolation") {}
