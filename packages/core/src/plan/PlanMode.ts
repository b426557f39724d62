/**
 * Plan mode: collaboration state that a person or a model selects and that comes into force at a boundary.
 *
 * The service selects and reads; the state is a fold of the session's journal. The layer contributes the guidance that
 * holds while plan mode is active, the boundary that brings a selection into force, the `exit_plan_mode` signal and the
 * `/plan` command. What may run meanwhile is `PlanGate`'s business.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { type Disposed, Fence } from "../Fence.ts"
import { Attention } from "../human/Attention.ts"
import { Commands } from "../human/Command.ts"
import type { Session, SessionView, TransactError } from "../journal/Session.ts"
import { SessionEvent } from "../journal/SessionEvent.ts"
import { Boundaries } from "../model/Boundary.ts"
import { PromptSections } from "../model/PromptSection.ts"
import { type InvalidTool, ToolCatalog, type ToolNameTaken } from "../tools/ToolCatalog.ts"
import { planCommand } from "./PlanCommand.ts"
import { exitPlanMode, type ReviewOptions } from "./PlanReview.ts"
import { commitPlan, needsNotice, PlanProjection, type PlanState, type Selection, selectPlan } from "./PlanState.ts"
import * as texts from "./texts.ts"

/** The configuration of plan mode is wrong. `key` is the key at fault. */
export class PlanModeConfigInvalid extends Schema.TaggedError<PlanModeConfigInvalid>()("PlanModeConfigInvalid", {
  key: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `The configuration of plan mode is wrong at "${this.key}": ${this.detail}`
  }
}

/** `section` is the guidance that the model reads while plan mode is active. There is nothing else to configure. */
export interface PlanModeConfig {
  readonly section: string
}

export class PlanMode extends Context.Service<PlanMode, {
  /** What is in force and what is selected: a read of the fold. */
  readonly get: (session: Session) => PlanState
  /** The person's selection. It closes the gate at once and comes into force at the next boundary. */
  readonly set: (session: Session, active: boolean) => Effect.Effect<Selection, TransactError | Disposed>
}>()("@holdfast/core/PlanMode") {
  /**
   * @example
   * const Plan = PlanMode.layer({ section: "You are planning. Read, think, then call exit_plan_mode." })
   */
  static readonly layer = (
    config: PlanModeConfig,
    review: ReviewOptions = {}
  ): Layer.Layer<
    PlanMode,
    PlanModeConfigInvalid | ToolNameTaken | InvalidTool,
    Attention | Boundaries | Commands | PromptSections | ToolCatalog
  > =>
    Layer.effect(
      PlanMode,
      Effect.gen(function*() {
        const section = yield* checkConfig(config)
        const catalog = yield* ToolCatalog
        const attention = yield* Attention
        const commands = yield* Commands
        const sections = yield* PromptSections
        const boundaries = yield* Boundaries
        const fence = yield* Fence.make("PlanMode")
        const service = PlanMode.of({
          get: (session) => session.view().get(PlanProjection).state,
          set: (session, active) =>
            session.transact((view) => {
              const { events, outcome } = selectPlan(view.get(PlanProjection).state, active, "user")
              return { events, value: outcome }
            }).pipe(fence.commit)
        })
        yield* sections.register({
          name: "plan:policy",
          order: 50,
          text: (view) => view.get(PlanProjection).state.active ? section : undefined
        })
        yield* boundaries.register({ name: "plan-mode", commit, notices })
        yield* catalog.register(exitPlanMode({ attention, catalog, fence, ...review }))
        yield* commands.register(planCommand(service))
        return service
      })
    )
}

const commit = (view: SessionView) => commitPlan(view.get(PlanProjection).state)

const notices = (view: SessionView) => {
  const fold = view.get(PlanProjection)
  if (!needsNotice(fold)) return []
  return [SessionEvent.event("message/user", { text: texts.notice(fold.state.active), source: texts.noticeSource })]
}

const checkConfig = (config: unknown): Effect.Effect<string, PlanModeConfigInvalid> =>
  Effect.suspend(() => {
    const invalid = (key: string, detail: string) => Effect.fail(new PlanModeConfigInvalid({ key, detail }))
    if (typeof config !== "object" || config === null) return invalid("section", "it is missing")
    const unknown = Object.keys(config).find((key) => key !== "section")
    if (unknown !== undefined) return invalid(unknown, "there is no such key; only \"section\" is known")
    const section: unknown = "section" in config ? config.section : undefined
    if (section === undefined) return invalid("section", "it is missing")
    if (typeof section !== "string") return invalid("section", "it must be a text")
    if (section.trim() === "") return invalid("section", "it is blank")
    return Effect.succeed(section)
  })
