/**
 * `run_workflow`: several children on one plan, at once or one after the other.
 *
 * It dresses the same kernel as `spawn_agent`. Each step is a child of a call id of its own, so a workflow that was cut goes on with the
 * steps that have not ended, and finished ones are not run again.
 */
import { Effect, Layer, Schema, Semaphore } from "effect"
import { Tool } from "effect/ai"
import type { Disposed } from "../Fence.ts"
import type { OpenError, Session, TransactError } from "../journal/Session.ts"
import { PLAN_GATE } from "../plan/PlanGate.ts"
import { type InvalidTool, type SignalCall, signalTool, ToolCatalog, type ToolNameTaken } from "../tools/ToolCatalog.ts"
import { cut, failedOutcome, refused, type ToolOutcome } from "../tools/ToolOutcome.ts"
import { childOutcome, describeResult, isSpawnRefused, planningAnywhere, refusedSpawn } from "./SpawnAgent.ts"
import type { ChildResult } from "./ChildResult.ts"
import type { SpawnRefused } from "./SpawnRefused.ts"
import { Subagent } from "./Subagent.ts"
import * as texts from "./texts.ts"
import { TreeLimits } from "./TreeLimits.ts"

const Step = Schema.Struct({
  task: Schema.NonEmptyString.annotate({ description: texts.parameters.task }),
  label: Schema.optionalKey(Schema.NonEmptyString.annotate({ description: texts.parameters.label })),
  agent: Schema.optionalKey(Schema.NonEmptyString.annotate({ description: texts.parameters.agent }))
})

const Parameters = Schema.Struct({
  mode: Schema.Literals(["parallel", "pipeline"]).annotate({ description: texts.parameters.mode }),
  steps: Schema.Array(Step),
  isolation: Schema.optionalKey(
    Schema.Literals(["none", "worktree"]).annotate({ description: texts.parameters.isolation })
  ),
  onFailure: Schema.optionalKey(
    Schema.Literals(["stop", "pass"]).annotate({ description: texts.parameters.onFailure })
  )
})
type Parameters = typeof Parameters.Type

const RunWorkflowTool = Tool.make("run_workflow", {
  description: texts.descriptions.runWorkflow,
  parameters: Parameters,
  success: Schema.String
})

/** One step's result, or why it was not started. */
export type StepResult =
  | { readonly _tag: "Ran"; readonly result: ChildResult }
  | { readonly _tag: "Refused"; readonly label: string; readonly error: SpawnRefused }
  | { readonly _tag: "Skipped"; readonly label: string }

interface Parts {
  readonly subagent: Subagent["Service"]
  readonly parent: Session
  readonly call: string
  readonly params: Parameters
  readonly alive: number
}

type StepError = TransactError | OpenError | Disposed

const labelOf = (params: Parameters, index: number): string => {
  const step = params.steps[index]
  return step?.label ?? step?.agent ?? `step ${index + 1}`
}

const runStep = (
  parts: Parts,
  permits: Semaphore.Semaphore,
  index: number,
  task: string
): Effect.Effect<StepResult, StepError> => {
  const label = labelOf(parts.params, index)
  return parts.subagent.run({
    parent: parts.parent,
    call: `${parts.call}/${index}`,
    task,
    label,
    agent: parts.params.steps[index]?.agent,
    isolation: parts.params.isolation === "worktree" ? "worktree" : undefined,
    permits
  }).pipe(
    Effect.map((result): StepResult => ({ _tag: "Ran", result })),
    Effect.catchIf(isSpawnRefused, (error) => Effect.succeed<StepResult>({ _tag: "Refused", label, error }))
  )
}

/** All steps at once, as many as the limits allow; the results stand in the order of the steps, whatever fails. */
const parallel = (parts: Parts) =>
  Effect.gen(function*() {
    const permits = yield* Semaphore.make(parts.alive)
    return yield* Effect.forEach(parts.params.steps, (step, index) => runStep(parts, permits, index, step.task), {
      concurrency: "unbounded"
    })
  })

/** One step after the other; each is given what the one before said. */
const pipeline = (parts: Parts) =>
  Effect.gen(function*() {
    const permits = yield* Semaphore.make(1)
    const results: Array<StepResult> = []
    let stopped = false
    for (const [index, step] of parts.params.steps.entries()) {
      if (stopped) {
        results.push({ _tag: "Skipped", label: labelOf(parts.params, index) })
        continue
      }
      const before = results.at(-1)
      const task = before?._tag === "Ran"
        ? texts.pipelineInput(step.task, before.result.label, before.result.output)
        : step.task
      const result = yield* runStep(parts, permits, index, task)
      results.push(result)
      const failed = result._tag !== "Ran" || !result.result.ok
      stopped = failed && (parts.params.onFailure ?? "stop") === "stop"
    }
    return results
  })

const describeStep = (step: StepResult): string => {
  switch (step._tag) {
    case "Ran":
      return describeResult(step.result)
    case "Refused":
      return refusedSpawn(step.error).content
    case "Skipped":
      return texts.skipped(step.label)
  }
}

/** The results as the parent's model reads them: each capped, and all of them together. */
export const describeWorkflow = (steps: ReadonlyArray<StepResult>, characters: number): ToolOutcome => {
  const each = Math.max(500, Math.floor(characters / Math.max(1, steps.length)))
  const content = steps.map((step, i) => `## ${i + 1}\n\n${cut(describeStep(step), each, undefined)}`).join("\n\n")
  const ran = steps.flatMap((step) => step._tag === "Ran" ? [step.result] : [])
  const outcome = childOutcome(ran, content)
  const first = steps.find((step) => step._tag === "Refused")
  return outcome.outcome === "ok" && first?._tag === "Refused"
    ? failedOutcome(refusedSpawn(first.error).code ?? "not_started", content)
    : outcome
}

const decode = Schema.decodeUnknownExit(Parameters)

const workflow = (
  subagent: Subagent["Service"],
  limits: { readonly workflowSteps: number; readonly workflowCharacters: number; readonly alivePerWorkflow: number }
) =>
(args: unknown, call: SignalCall) =>
  Effect.suspend(() => {
    const params = decode(args)
    if (params._tag === "Failure" || params.value.steps.length === 0) {
      return Effect.succeed(
        failedOutcome(
          "invalid_arguments",
          texts.invalidArguments("\"mode\" and at least one step with a \"task\" are needed.")
        )
      )
    }
    if (params.value.steps.length > limits.workflowSteps) {
      return Effect.succeed(refused("tree_limit", "limit", texts.tooManySteps(limits.workflowSteps)))
    }
    if (params.value.isolation === "worktree" && planningAnywhere(call.session.view())) {
      return Effect.succeed(refused(PLAN_GATE, "gate", texts.worktreeWhilePlanning))
    }
    const parts: Parts = {
      subagent,
      parent: call.session,
      call: call.id,
      params: params.value,
      alive: limits.alivePerWorkflow
    }
    return subagent.waiting(call.session, params.value.mode === "parallel" ? parallel(parts) : pipeline(parts)).pipe(
      Effect.map((steps) => describeWorkflow(steps, limits.workflowCharacters)),
      Effect.catchTag("SessionNotFound", (error) => Effect.succeed(failedOutcome("child_failed", error.message)))
    )
  })

/** Adds `run_workflow`. */
const layer: Layer.Layer<never, ToolNameTaken | InvalidTool, Subagent | ToolCatalog> = Layer.effectDiscard(
  Effect.gen(function*() {
    const catalog = yield* ToolCatalog
    yield* catalog.register(signalTool(RunWorkflowTool, workflow(yield* Subagent, yield* TreeLimits)))
  })
)

export const Workflow = { layer }
