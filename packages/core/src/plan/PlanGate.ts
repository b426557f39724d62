/**
 * The gate: while a session or one above it plans, nothing that changes the world starts.
 *
 * It knows no tool by name. What a call does is the tool's own property (`ToolSafety`); the gate only reads facts.
 */
import { Config, Context, Effect, Layer, Schema } from "effect"
import { PromptSections } from "../model/PromptSection.ts"
import { type ToolGate, ToolGates } from "../tools/ToolGate.ts"
import { closesGate, PlanProjection } from "./PlanState.ts"
import * as texts from "./texts.ts"

/**
 * - `runtime` (default): the tool table is constant, a call that changes something is refused.
 * - `schema`: the table is trimmed to reading tools while plan mode is active, and calls are refused as well. Each
 *   switch costs the prefix cache the whole history.
 * - `guidance`: plan mode only advises.
 */
export const Enforcement = Schema.Literals(["runtime", "schema", "guidance"])
export type Enforcement = typeof Enforcement.Type

/** The environment names an enforcement that does not exist. */
export class PlanEnforcementInvalid extends Schema.TaggedError<PlanEnforcementInvalid>()("PlanEnforcementInvalid", {
  value: Schema.String
}) {
  override get message() {
    return `HOLDFAST_PLAN_ENFORCEMENT is "${this.value}"; it must be runtime, schema or guidance`
  }
}

/** The code of every refusal by this gate. */
export const PLAN_GATE = "plan_gate"

export class PlanGate extends Context.Service<PlanGate, { readonly enforcement: Enforcement }>()(
  "@holdfast/core/PlanGate"
) {
  static readonly layer = (
    options: { readonly enforcement?: Enforcement } = {}
  ): Layer.Layer<PlanGate, never, ToolGates | PromptSections> =>
    Layer.effect(
      PlanGate,
      Effect.gen(function*() {
        const enforcement = options.enforcement ?? "runtime"
        const gates = yield* ToolGates
        const sections = yield* PromptSections
        yield* gates.register(planGate(enforcement))
        if (enforcement !== "guidance") {
          yield* sections.register({ name: "plan:gate", order: 41, text: texts.gateSection })
        }
        return { enforcement }
      })
    )

  /** The same, with the enforcement that `HOLDFAST_PLAN_ENFORCEMENT` names; `runtime` when it is not set. */
  static readonly layerConfig: Layer.Layer<
    PlanGate,
    PlanEnforcementInvalid | Config.ConfigError,
    ToolGates | PromptSections
  > = Layer.unwrap(Effect.gen(function*() {
    const value = yield* Config.String("HOLDFAST_PLAN_ENFORCEMENT").pipe(Config.withDefault("runtime"))
    if (!Schema.is(Enforcement)(value)) return yield* new PlanEnforcementInvalid({ value })
    return PlanGate.layer({ enforcement: value })
  }))
}

/** The gate as a pure function of the fold. */
export const planGate = (enforcement: Enforcement): ToolGate => ({
  name: "plan",
  refuse: (view, judgement, level) => {
    if (enforcement === "guidance" || judgement.safety === "read" || judgement.safety === "signal") return undefined
    const fold = view.get(PlanProjection)
    if (!closesGate(fold)) return undefined
    return { code: PLAN_GATE, text: texts.gateRefusal(judgement.name, level, level === "self" && fold.approvedInStep) }
  },
  ...(enforcement === "schema"
    ? {
      hides: (view, tool) => view.get(PlanProjection).state.active && tool.safety !== "read" && tool.safety !== "signal"
    }
    : {})
})
