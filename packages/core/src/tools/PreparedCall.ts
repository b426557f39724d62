/** A call as far as it can be understood without doing anything: its tool, its arguments, its judgement. */
import { Effect, Exit, Schema } from "effect"
import type { CallRecord } from "../journal/SessionEvent.ts"
import { type CallContext, type CatalogTool, CurrentCall, type ToolCatalog } from "./ToolCatalog.ts"
import { failedOutcome, refused, type ToolOutcome } from "./ToolOutcome.ts"
import { type Judgement, ToolSafety } from "./ToolSafety.ts"
import * as texts from "./texts.ts"

export interface ReadyCall {
  readonly _tag: "Ready"
  readonly record: CallRecord
  readonly tool: CatalogTool
  readonly judgement: Judgement
  /** The arguments as they were written; the bytes that a decision is bound to. */
  readonly text: string
  readonly args: Schema.Json
  readonly params: Exit.Exit<unknown, Schema.SchemaError>
  /** The result to give when `params` is a failure. */
  readonly invalid: ToolOutcome
}

export type PreparedCall = ReadyCall | {
  readonly _tag: "Fault"
  readonly record: CallRecord
  readonly outcome: ToolOutcome
}

/** Understands one call. It never fails: what is wrong with a call is its outcome. */
export const prepareCall = (
  catalog: ToolCatalog["Service"],
  record: CallRecord,
  context: CallContext
): Effect.Effect<PreparedCall> =>
  Effect.gen(function*() {
    const fault = (outcome: ToolOutcome): PreparedCall => ({ _tag: "Fault", record, outcome })
    const tool = catalog.get(record.name)
    if (tool === undefined) {
      const known = catalog.all().filter((other) => other.shown).map((other) => other.name)
      return fault(failedOutcome("unknown_tool", texts.unknownTool(record.name, known)))
    }
    if (record.fault !== undefined) {
      return fault(failedOutcome("invalid_json", texts.notJsonArguments(record.name, record.fault)))
    }
    const args = JSON.parse(record.arguments) as Schema.Json
    const params = yield* Effect.exit(tool.decode(args))
    const judgement = yield* judge(tool, params, context)
    if (judgement === undefined) {
      return fault(refused("safety_unknown", "policy", texts.classifyFailed(record.name)))
    }
    return {
      _tag: "Ready",
      record,
      tool,
      judgement,
      text: record.arguments,
      args,
      params,
      invalid: failedOutcome("invalid_arguments", texts.invalidArguments(record.name, problem(params)))
    }
  })

/** The one place where a call's class is decided, for every path that a call can take. */
const judge = (
  tool: CatalogTool,
  params: Exit.Exit<unknown, unknown>,
  context: CallContext
): Effect.Effect<Judgement | undefined> => {
  const declared: Judgement = { safety: tool.safety, name: tool.name }
  const classify = tool.traits.classify
  if (classify === undefined || Exit.isFailure(params)) return Effect.succeed(declared)
  return Effect.exit(Effect.suspend(() => classify(params.value, context))).pipe(
    Effect.provideService(CurrentCall, context),
    Effect.map((exit) => Exit.isSuccess(exit) ? checked({ ...declared, ...exit.value }) : undefined)
  )
}

// A class that nobody knows would pass by every check, and only the harness's own tools are signals.
const checked = (judgement: Judgement): Judgement | undefined =>
  isToolSafety(judgement.safety) && judgement.safety !== "signal" && typeof judgement.name === "string"
    ? judgement
    : undefined

const isToolSafety = Schema.is(ToolSafety)

const problem = (params: Exit.Exit<unknown, Schema.SchemaError>): string => {
  const error = Exit.findErrorOption(params)
  return error._tag === "Some" ? error.value.message : "they could not be read"
}
