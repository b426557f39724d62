import * as Schema from "effect/Schema"
import type { Fault } from "./Faults.ts"
import { textOf } from "./Protocol.ts"
import type { Branch, ParsedRequest, Scenario } from "./Scenario.ts"
import { firstMatch, ignoring, when } from "./Scenario.ts"

const text = Schema.optionalKey(Schema.String)
const number = Schema.optionalKey(Schema.Number)
const count = Schema.optionalKey(Schema.Int)
const texts = Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)]))

const conditionFields = {
  last: Schema.optionalKey(Schema.Literals(["system", "user", "assistant", "tool"])),
  lastContains: texts,
  userContains: texts,
  systemContains: texts,
  contains: texts,
  result: Schema.optionalKey(Schema.Struct({ tool: text, contains: texts, atLeast: count })),
  step: Schema.optionalKey(Schema.Union([Schema.Int, Schema.Struct({ atLeast: count, below: count })])),
  turn: count,
  model: text,
  thinking: Schema.optionalKey(Schema.Boolean),
  offers: text
}

/** Predicates on a request; all that are given must hold. Of several texts all must be found. */
export interface Condition {
  /** Role of the last message. */
  readonly last?: "system" | "user" | "assistant" | "tool"
  readonly lastContains?: string | ReadonlyArray<string>
  /** The last user message. */
  readonly userContains?: string | ReadonlyArray<string>
  readonly systemContains?: string | ReadonlyArray<string>
  /** Any one message of the conversation. */
  readonly contains?: string | ReadonlyArray<string>
  /** Results since the last user message: of this tool, with this text, at least so many (default 1). */
  readonly result?: {
    readonly tool?: string
    readonly contains?: string | ReadonlyArray<string>
    readonly atLeast?: number
  }
  /** Assistant messages since the last user message. */
  readonly step?: number | { readonly atLeast?: number; readonly below?: number }
  /** User messages in the conversation. */
  readonly turn?: number
  readonly model?: string
  readonly thinking?: boolean
  /** A tool that the request offers. */
  readonly offers?: string
  readonly not?: Condition
  /** One of these holds. */
  readonly any?: ReadonlyArray<Condition>
}

const Condition: Schema.Codec<Condition> = Schema.Struct({
  ...conditionFields,
  not: Schema.optionalKey(Schema.suspend((): Schema.Codec<Condition> => Condition)),
  any: Schema.optionalKey(Schema.Array(Schema.suspend((): Schema.Codec<Condition> => Condition)))
})

const timing = { times: count, key: text }

const fault = <const Type extends Fault["type"], Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields, ...timing })

const FaultSchema = Schema.Union([
  fault("http", { status: Schema.Int, message: text, code: text, retryAfter: number, body: text }),
  fault("reset", { afterFrames: count }),
  fault("stall", { afterFrames: count, keepAliveEvery: number, for: number }),
  fault("eof", { afterFrames: count }),
  fault("cut-frame", { afterFrames: Schema.Int }),
  fault("malformed-frame", { afterFrames: Schema.Int }),
  fault("error-object", { afterFrames: Schema.Int, message: text, code: text }),
  fault("keep-alive", { count: Schema.Int, every: number }),
  fault("delay", { ms: Schema.Number }),
  fault("markup-leak", { variant: Schema.optionalKey(Schema.Literals(["v4", "v4.1", "double-bar", "plain-bar"])) }),
  fault("arguments-cut", { at: count }),
  fault("placeholders", {
    value: Schema.optionalKey(Schema.Union([Schema.Null, Schema.Literal(""), Schema.Struct({})]))
  }),
  Schema.Struct({
    type: Schema.Literals([
      "trailing-usage",
      "no-usage",
      "no-finish",
      "no-choices",
      "brace-missing",
      "brace-extra",
      "brace-early",
      "arrays-as-strings",
      "text-lost",
      "reasoning-only",
      "empty",
      "id-empty",
      "id-blank",
      "id-missing",
      "id-repeated",
      "index-missing",
      "index-shifted",
      "index-reused",
      "reasoning-split"
    ]),
    ...timing
  })
])

const ReplySchema = Schema.Struct({
  reasoning: text,
  content: text,
  toolCalls: Schema.optionalKey(Schema.Array(Schema.Struct({
    name: Schema.String,
    arguments: Schema.Union([Schema.String, Schema.Record(Schema.String, Schema.Json)]),
    id: text
  }))),
  finishReason: Schema.optionalKey(
    Schema.Literals(["stop", "length", "tool_calls", "content_filter", "insufficient_system_resource"])
  ),
  faults: Schema.optionalKey(Schema.Array(FaultSchema))
})

const latencyFields = {
  firstByteMs: number,
  prefillTokensPerSecond: number,
  outputTokensPerSecond: number,
  burst: number,
  keepAliveMs: number
}

/** The JSON form of a scenario: rules in order, the first whose condition holds gives the reply. */
export const ScenarioFile = Schema.Struct({
  rules: Schema.Array(Schema.Struct({
    /** Missing: always. */
    when: Schema.optionalKey(Condition),
    reply: Schema.optionalKey(ReplySchema),
    /** One fault, added to those of the reply. */
    fault: Schema.optionalKey(FaultSchema)
  })),
  /** User messages that contain one of these texts are looked past (tails, notices). */
  ignore: Schema.optionalKey(Schema.Array(Schema.String)),
  port: count,
  seed: number,
  tokens: Schema.optionalKey(Schema.Literals(["estimate", "exact", "auto"])),
  validation: Schema.optionalKey(Schema.Literals(["strict", "lenient"])),
  contextLimit: count,
  concurrency: count,
  latency: Schema.optionalKey(Schema.Struct(latencyFields)),
  cache: Schema.optionalKey(Schema.Struct({
    mode: Schema.optionalKey(Schema.Literals(["blocks", "units"])),
    block: count,
    inputLag: number,
    outputLag: number,
    ttl: number,
    dropRate: number,
    interval: count
  }))
})

/** A decoded scenario file. */
export type ScenarioFile = typeof ScenarioFile.Type

/** Decodes parsed JSON; unknown keys fail, since a misspelt predicate would match everything. */
export const decodeScenarioFile = (value: unknown): ScenarioFile =>
  Schema.decodeUnknownSync(ScenarioFile)(value, { errors: "all", onExcessProperty: "error" })

const includesAll = (haystack: string, needles: string | ReadonlyArray<string> | undefined): boolean =>
  needles === undefined ||
  (typeof needles === "string" ? [needles] : needles).every((needle) => haystack.includes(needle))

const stepHolds = (step: number, wanted: Condition["step"]): boolean =>
  wanted === undefined || (typeof wanted === "number"
    ? step === wanted
    : step >= (wanted.atLeast ?? 0) && step < (wanted.below ?? Infinity))

const resultHolds = (request: ParsedRequest, wanted: Condition["result"]): boolean =>
  wanted === undefined ||
  request.conversation.results(wanted.tool).filter((result) => includesAll(result.content, wanted.contains)).length >=
    (wanted.atLeast ?? 1)

/** Whether a condition holds for a request. */
export const holds = (condition: Condition, request: ParsedRequest): boolean => {
  const { conversation } = request
  const { any, contains, last, lastContains, model, not, offers, systemContains, thinking, turn, userContains } =
    condition
  return (last === undefined || conversation.last?.role === last) &&
    includesAll(conversation.lastText, lastContains) &&
    includesAll(conversation.userText, userContains) &&
    includesAll(conversation.systemText, systemContains) &&
    (contains === undefined || conversation.all.some((message) => includesAll(textOf(message), contains))) &&
    resultHolds(request, condition.result) &&
    stepHolds(conversation.step, condition.step) &&
    (turn === undefined || conversation.userTexts.length === turn) &&
    (model === undefined || request.model === model) &&
    (thinking === undefined || request.thinking === thinking) &&
    (offers === undefined || request.tools.some((tool) => tool.function.name === offers)) &&
    (not === undefined || !holds(not, request)) &&
    (any === undefined || any.some((item) => holds(item, request)))
}

/**
 * The scenario of a file.
 *
 * @example
 * const file = decodeScenarioFile(JSON.parse(await readFile("scenario.json", "utf8")))
 * const server = await startServer({ scenario: fromFile(file) })
 */
export const fromFile = (file: ScenarioFile): Scenario => {
  const branches = file.rules.map((rule): Branch =>
    when((request) => holds(rule.when ?? {}, request), {
      ...rule.reply,
      faults: [...(rule.fault === undefined ? [] : [rule.fault]), ...(rule.reply?.faults ?? [])]
    })
  )
  const ignored = file.ignore ?? []
  const scenario = firstMatch(...branches)
  return ignored.length === 0
    ? scenario
    : ignoring((_, content) => ignored.some((part) => content.includes(part)), scenario)
}
