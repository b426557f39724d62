/**
 * The model's side of plan mode: it may say that it wants to plan, and submit a plan that it made on its own.
 *
 * The layer adds `enter_plan_mode` and one static section. With it, `exit_plan_mode` outside plan mode opens a review
 * too, so that all ways into planning end at the same one.
 */
import { Effect, Layer, Schema } from "effect"
import { Tool } from "effect/ai"
import { Fence } from "../Fence.ts"
import type { Decision } from "../journal/Session.ts"
import { SessionInfo } from "../journal/SessionInfo.ts"
import { PromptSections } from "../model/PromptSection.ts"
import { type InvalidTool, signalTool, ToolCatalog, type ToolNameTaken } from "../tools/ToolCatalog.ts"
import { failedOutcome, refused, type ToolOutcome } from "../tools/ToolOutcome.ts"
import { ENTER_PLAN_MODE } from "./PlanReview.ts"
import { PlanProjection, selectPlan } from "./PlanState.ts"
import * as texts from "./texts.ts"

const EnterPlanMode = Tool.make(ENTER_PLAN_MODE, {
  description: "Say that you want to plan before you change anything. From then on you can only look around, until a " +
    "person approves the plan that you submit with exit_plan_mode.",
  parameters: Schema.Struct({
    reason: Schema.String.annotate({ description: "Why planning comes first, in one sentence." })
  }),
  success: Schema.String
})

const layer: Layer.Layer<never, ToolNameTaken | InvalidTool, ToolCatalog | PromptSections> = Layer.effectDiscard(
  Effect.gen(function*() {
    const catalog = yield* ToolCatalog
    const sections = yield* PromptSections
    const fence = yield* Fence.make("PlanSignals")
    yield* sections.register({ name: "plan:signals", order: 40, text: texts.signalsSection })
    yield* catalog.register(signalTool(EnterPlanMode, (args, call) => {
      const reason: unknown = typeof args === "object" && args !== null && "reason" in args ? args.reason : undefined
      if (typeof reason !== "string") return Effect.succeed(failedOutcome("invalid_arguments", texts.reasonFault))
      return call.session.transact((view): Decision<ToolOutcome> => {
        if (view.get(SessionInfo).depth > 0) {
          return done(refused("plan_root_only", "session", texts.rootOnly(ENTER_PLAN_MODE)))
        }
        const fold = view.get(PlanProjection)
        if (fold.approvedInStep) return done(refused("plan_already_approved", "session", texts.approvedBefore))
        const { events, outcome } = selectPlan(fold.state, true, "model")
        if (outcome === "noop") return done({ outcome: "ok", content: texts.alreadyPlanning })
        return { events: [...call.pending(view), ...events], value: { outcome: "ok", content: texts.entered } }
      }).pipe(fence.commit)
    }))
  })
)

const done = (outcome: ToolOutcome): Decision<ToolOutcome> => ({ events: [], value: outcome })

/** The layer; see the top of the module. */
export const PlanSignals = { layer }
