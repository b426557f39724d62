/**
 * What parts of the harness add to the transaction that opens a step.
 *
 * A contribution is pure: it sees the state, and the events that come before it in the same transaction are already
 * applied. What it returns is durable together with the step, or not at all.
 */
import { Context, Layer } from "effect"
import type { SessionView } from "../journal/Session.ts"
import type { NewEvent } from "../journal/SessionEvent.ts"
import { Registry } from "../Registry.ts"

export interface BoundaryContribution {
  readonly name: string
  /** Facts that come into force with this step, before anything else of it. */
  readonly commit?: (view: SessionView) => ReadonlyArray<NewEvent>
  /** Messages for the model, after the step's other messages. They never cause a step. */
  readonly notices?: (view: SessionView) => ReadonlyArray<NewEvent>
}

export class Boundaries extends Context.Service<Boundaries, Registry<BoundaryContribution>>()(
  "@holdfast/core/Boundaries"
) {
  static readonly layer: Layer.Layer<Boundaries> = Layer.sync(Boundaries, () => Registry.make())
}
