/**
 * The seam around a call. The gate stands before it, approval after it: what a hook makes of the arguments is what a
 * person sees and what runs.
 */
import { Context, type Effect, Layer, type Schema } from "effect"
import type { SessionView } from "../journal/Session.ts"
import { Registry } from "../Registry.ts"
import type { ToolOutcome } from "./ToolOutcome.ts"
import type { Judgement } from "./ToolSafety.ts"

export interface HookedCall extends Judgement {
  readonly call: string
  readonly tool: string
  readonly arguments: Schema.Json
  readonly view: SessionView
}

/** What a hook wants before a call: nothing, other arguments, or that it does not run (the reason reaches the model). */
export type HookDecision = void | { readonly arguments: Schema.Json } | { readonly refuse: string }

export interface ToolHook {
  readonly name: string
  /** A failure or a defect refuses the call. */
  readonly before?: (call: HookedCall) => Effect.Effect<HookDecision, unknown>
  /** May change what the model sees. A failure or a defect leaves the outcome as it is. */
  readonly after?: (call: HookedCall, outcome: ToolOutcome) => Effect.Effect<ToolOutcome | void, unknown>
}

export class ToolHooks extends Context.Service<ToolHooks, Registry<ToolHook>>()("@holdfast/core/ToolHooks") {
  static readonly layer: Layer.Layer<ToolHooks> = Layer.sync(ToolHooks, () => Registry.make())

  /** Adds a hook for the life of the layer. */
  static readonly add = (hook: ToolHook): Layer.Layer<never, never, ToolHooks> =>
    Layer.effectDiscard(ToolHooks.use((hooks) => hooks.register(hook)))
}
