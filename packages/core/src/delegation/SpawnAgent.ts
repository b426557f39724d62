/** `spawn_agent`: the signal with which a model asks for one child agent. */
import { Effect, Layer, Schema } from "effect"
import { Tool } from "effect/ai"
import type { SessionView } from "../journal/Session.ts"
import { PromptSections } from "../model/PromptSection.ts"
import { closesGate, PlanProjection } from "../plan/PlanState.ts"
import { PLAN_GATE } from "../plan/PlanGate.ts"
import { type InvalidTool, type SignalCall, signalTool, ToolCatalog, type ToolNameTaken } from "../tools/ToolCatalog.ts"
import { ToolGates } from "../tools/ToolGate.ts"
import { failedOutcome, refused, type ToolOutcome } from "../tools/ToolOutcome.ts"
import { authorityGate } from "./Authority.ts"
import type { ChildResult } from "./ChildResult.ts"
import type { SpawnRefused } from "./SpawnRefused.ts"
import { Subagent } from "./Subagent.ts"
import * as texts from "./texts.ts"

const Parameters = Schema.Struct({
  task: Schema.NonEmptyString.annotate({ description: texts.parameters.task }),
  label: Schema.optionalKey(Schema.NonEmptyString.annotate({ description: texts.parameters.label })),
  agent: Schema.optionalKey(Schema.NonEmptyString.annotate({ description: texts.parameters.agent })),
  isolation: Schema.optionalKey(
    Schema.Literals(["none", "worktree"]).annotate({ description: texts.parameters.isolation })
  ),
  resume: Schema.optionalKey(Schema.NonEmptyString.annotate({ description: texts.parameters.resume }))
})

const SpawnAgentTool = Tool.make("spawn_agent", {
  description: texts.descriptions.spawnAgent,
  parameters: Parameters,
  success: Schema.String
})

/** Why nothing was started, for the model and for programs. */
export const refusedSpawn = (error: SpawnRefused): ToolOutcome => {
  switch (error._tag) {
    case "DepthExceeded":
      return refused("depth_exceeded", "limit", texts.depthExceeded(error.max))
    case "TreeLimitReached":
      return refused("tree_limit", "limit", texts.treeLimit(error.limit, error.max))
    case "UnknownAgent":
      return failedOutcome("unknown_agent", texts.unknownAgent(error.name, error.known))
    case "ChildBusy":
      return refused("child_busy", "session", texts.childBusy)
    case "NotAChild":
      return failedOutcome("not_a_child", texts.notYourChild)
    case "IsolationUnavailable":
      return refused("isolation_unavailable", "session", texts.isolationUnavailable(error.detail))
  }
}

/** The tags of `SpawnRefused`, for `Effect.catchTags`. */
export const isSpawnRefused = (error: { readonly _tag: string }): error is SpawnRefused =>
  ["DepthExceeded", "TreeLimitReached", "UnknownAgent", "ChildBusy", "NotAChild", "IsolationUnavailable"]
    .includes(error._tag)

/** A child's result as the parent's model reads it. */
export const describeResult = (result: ChildResult): string => {
  const { changed, detail, label, output, patch, ranCommands, session, status } = result
  return [
    texts.outcome(label, status, detail),
    output === "" ? texts.noOutput : output,
    patch === undefined ? texts.changed(changed, ranCommands) : texts.patch(patch.artifact, patch.files),
    texts.pointer(session)
  ].filter((part) => part !== "").join("\n\n")
}

/** The outcome of a call by what became of its children: an error unless all of them completed. */
export const childOutcome = (results: ReadonlyArray<ChildResult>, content: string): ToolOutcome => {
  const worst = results.find((result) => !result.ok)
  if (worst === undefined) return { outcome: "ok", content }
  const code = worst.status === "GatedOnly" ? PLAN_GATE : `child_${worst.status.toLowerCase()}`
  return failedOutcome(code, content)
}

/** A workspace of its own is for changing things: not while this session or one above it plans. */
export const planningAnywhere = (view: SessionView): boolean =>
  closesGate(view.get(PlanProjection)) || (view.parent !== undefined && planningAnywhere(view.parent))

const decode = Schema.decodeUnknownExit(Parameters)

const spawn = (subagent: Subagent["Service"]) => (args: unknown, call: SignalCall) =>
  Effect.suspend(() => {
    const params = decode(args)
    if (params._tag === "Failure") {
      return Effect.succeed(failedOutcome("invalid_arguments", texts.invalidArguments("\"task\" must say what to do.")))
    }
    const { agent, isolation, label, resume, task } = params.value
    if (isolation === "worktree" && planningAnywhere(call.session.view())) {
      return Effect.succeed(refused(PLAN_GATE, "gate", texts.worktreeWhilePlanning))
    }
    return subagent.waiting(
      call.session,
      subagent.run({
        parent: call.session,
        call: call.id,
        task,
        label: label ?? agent ?? "agent",
        agent,
        resume,
        isolation: isolation === "worktree" ? "worktree" : undefined
      })
    ).pipe(
      Effect.map((result) => childOutcome([result], describeResult(result))),
      Effect.catchIf(isSpawnRefused, (error) => Effect.succeed(refusedSpawn(error))),
      Effect.catchTag("SessionNotFound", (error) => Effect.succeed(failedOutcome("child_failed", error.message)))
    )
  })

/** Adds `spawn_agent`, the catalogue of declared agents as a fixed section, and the gate that enforces authority. */
const layer: Layer.Layer<
  never,
  ToolNameTaken | InvalidTool,
  Subagent | ToolCatalog | ToolGates | PromptSections
> = Layer.effectDiscard(Effect.gen(function*() {
  const subagent = yield* Subagent
  const catalog = yield* ToolCatalog
  const sections = yield* PromptSections
  yield* (yield* ToolGates).register(authorityGate)
  const agents = texts.section(subagent.manifests)
  if (agents !== "") yield* sections.register({ name: "delegation:agents", order: 60, text: agents })
  yield* catalog.register(signalTool(SpawnAgentTool, spawn(subagent)))
}))

export const SpawnAgent = { layer }
