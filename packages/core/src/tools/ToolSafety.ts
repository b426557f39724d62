/**
 * What a call does to the world, as the tool itself says it.
 *
 * The gate, approvals and batches all ask this one question, and nobody keeps a list of tool names beside it.
 */
import { Context, type Effect, Option, Schema } from "effect"
import { Tool } from "effect/ai"
import type { CallContext } from "./ToolCatalog.ts"

/**
 * - `read`: looks and changes nothing.
 * - `mutate`: changes something; also what a tool is that says nothing about itself.
 * - `danger`: can change anything (a process, a recursive deletion).
 * - `signal`: tells the harness what the model wants; never gated, never approved, a barrier in its batch.
 */
export const ToolSafety = Schema.Literals(["read", "mutate", "danger", "signal"])
export type ToolSafety = typeof ToolSafety.Type

/**
 * The class that a tool's annotations give it. An explicit `Tool.Readonly` wins; an explicit `Tool.Destructive` of `true` is
 * `danger`. The default values of the two annotations say nothing, so their presence is what counts.
 */
export const fromAnnotations = (tool: Tool.Any): ToolSafety => {
  const readonly = Option.getOrUndefined(Context.getOption(tool.annotations, Tool.Readonly))
  if (hasAnnotation(tool, Tool.Readonly) && readonly !== undefined) return readonly ? "read" : destructive(tool)
  return destructive(tool)
}

const hasAnnotation = (tool: Tool.Any, key: { readonly key: string }): boolean =>
  tool.annotations.mapUnsafe.has(key.key)

const destructive = (tool: Tool.Any): ToolSafety =>
  hasAnnotation(tool, Tool.Destructive) && Context.get(tool.annotations, Tool.Destructive) ? "danger" : "mutate"

/** How one call is judged: its class, and the name to speak of (an inner tool's, for a dispatcher). */
export interface Judgement {
  readonly safety: ToolSafety
  readonly name: string
}

/**
 * Decides for one call. The tool's own `classify` comes first (a dispatcher, a command classifier); without it the
 * annotations decide. A failure or a defect of `classify` leaves the call without a judgement, and the runner refuses it.
 */
export type Classify = (params: unknown, call: CallContext) => Effect.Effect<Partial<Judgement>, unknown>
