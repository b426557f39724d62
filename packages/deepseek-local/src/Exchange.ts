import type { ServerResponse } from "node:http"
import type { ApiError } from "./ApiErrors.ts"
import { apiError, badRequest, contextExceeded, documentedError, errorBody } from "./ApiErrors.ts"
import type { Clock } from "./Clock.ts"
import { complete, splitsReasoning, stableId } from "./Completion.ts"
import type { Completion } from "./Completion.ts"
import { deliverPlain, deliverStream, waitForStart } from "./Delivery.ts"
import type { Delivery, Outcome } from "./Delivery.ts"
import type { Fault } from "./Faults.ts"
import { findFault } from "./Faults.ts"
import { frames, plainBody } from "./Framing.ts"
import type { LatencyProfile } from "./Latency.ts"
import { prefillDelay } from "./Latency.ts"
import type { PrefixCache } from "./PrefixCache.ts"
import type { PromptTemplate } from "./PromptRendering.ts"
import { renderPrompt, renderReply } from "./PromptRendering.ts"
import type { ChatRequest, FinishReason, Usage } from "./Protocol.ts"
import { canonicalModel } from "./Protocol.ts"
import type { ValidationOptions } from "./RequestValidation.ts"
import { validateRequest } from "./RequestValidation.ts"
import type { ParsedRequest, Reply, Scenario } from "./Scenario.ts"
import { NoReply, parsedRequest } from "./Scenario.ts"
import type { Tokenizer } from "./Tokenizer.ts"

/** A request that the server received, with what became of it. */
export interface RecordedRequest {
  readonly index: number
  readonly path: string
  /** Which time these very bytes were sent, from 1. */
  readonly attempt: number
  /** SHA-256 of the body, hexadecimal: equal for retries that send the same bytes. */
  readonly bodyHash: string
  /** The bytes as they came; empty if the server does not record bodies. */
  readonly body: Uint8Array
  /** The parsed request, if it was valid and bodies are recorded. */
  request: ChatRequest | undefined
  /** 0 when the connection was reset before any headers. */
  status: number
  error: string | undefined
  usage: Usage | undefined
  reply: ReplySummary | undefined
  /** Types of the faults that were in force. */
  faults: ReadonlyArray<string>
  /** `undefined` while the answer is on its way. */
  outcome: Outcome | undefined
  readonly startedAt: number
  endedAt: number | undefined
}

/** What was answered. */
export interface ReplySummary {
  readonly reasoning: string
  readonly content: string
  readonly toolCalls: ReadonlyArray<
    { readonly id: string | undefined; readonly name: string; readonly arguments: string }
  >
  readonly finishReason: FinishReason
}

/** Everything an exchange needs from its server. */
export interface ExchangeContext {
  readonly scenario: Scenario
  readonly tokenizer: Tokenizer
  readonly template: PromptTemplate
  readonly cache: PrefixCache
  readonly clock: Clock
  readonly latency: LatencyProfile
  readonly validation: ValidationOptions
  readonly contextLimit: number
  readonly seed: number
  readonly recordBodies: boolean
  readonly faultCounts: Map<string, number>
}

const terminal: ReadonlySet<string> = new Set([
  "http",
  "reset",
  "stall",
  "eof",
  "cut-frame",
  "malformed-frame",
  "error-object",
  "no-choices"
])

/** The faults in force for this attempt. Of those that end an answer only the first counts, so a list is a sequence of attempts. */
const activeFaults = (
  all: ReadonlyArray<Fault>,
  bodyHash: string,
  counts: Map<string, number>
): ReadonlyArray<Fault> => {
  const active: Array<Fault> = []
  all.forEach((fault, position) => {
    if (terminal.has(fault.type) && active.some((other) => terminal.has(other.type))) return
    const key = `${fault.key ?? bodyHash}/${position}/${fault.type}`
    const used = counts.get(key) ?? 0
    if (fault.times !== undefined && used >= fault.times) return
    counts.set(key, used + 1)
    active.push(fault)
  })
  return active
}

const sendError = (response: ServerResponse, record: RecordedRequest, error: ApiError, body?: string): void => {
  record.status = error.status
  record.error = error.message
  record.outcome = "error"
  response.writeHead(error.status, {
    "content-type": "application/json",
    ...(error.retryAfter === undefined ? {} : { "retry-after": String(error.retryAfter) })
  })
  response.end(body ?? errorBody(error))
}

const httpError = (faults: ReadonlyArray<Fault>): { readonly error: ApiError; readonly body?: string } | undefined => {
  const fault = findFault(faults, "http")
  if (fault === undefined) return undefined
  const known = documentedError(fault.status)
  const error: ApiError = {
    ...apiError(fault.status, fault.message ?? known.message, known.type, fault.code ?? known.code),
    ...(fault.retryAfter === undefined ? {} : { retryAfter: fault.retryAfter })
  }
  return { error, ...(fault.body === undefined ? {} : { body: fault.body }) }
}

const play = (scenario: Scenario, request: ParsedRequest): Reply | ApiError => {
  try {
    return scenario(request)
  } catch (cause) {
    const { last, lastText, step } = request.conversation
    const why = cause instanceof NoReply ? cause.message : `the scenario threw: ${String(cause)}`
    return badRequest(
      `deepseek-local: ${why} (step ${step}, last message: ${last?.role ?? "none"} ${
        JSON.stringify(lastText.slice(0, 200))
      })`
    )
  }
}

const isError = (value: Reply | ApiError): value is ApiError => "status" in value

const makeUsage = (
  reply: Reply,
  completion: Completion,
  tokenizer: Tokenizer,
  counts: { readonly prompt: number; readonly hit: number; readonly output: number }
): Usage => ({
  prompt_tokens: counts.prompt,
  completion_tokens: counts.output,
  total_tokens: counts.prompt + counts.output,
  prompt_tokens_details: { cached_tokens: counts.hit },
  ...(completion.thinking
    ? { completion_tokens_details: { reasoning_tokens: tokenizer.tokenise([{ text: completion.reasoning }]).length } }
    : {}),
  prompt_cache_hit_tokens: counts.hit,
  prompt_cache_miss_tokens: counts.prompt - counts.hit,
  ...reply.usage
})

const parseJson = (body: Uint8Array): { readonly value: unknown } | ApiError => {
  try {
    return { value: JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8")) }
  } catch (cause) {
    return badRequest(`Failed to parse the request body as JSON: ${cause instanceof Error ? cause.message : ""}`)
  }
}

/** One chat completion: validated, counted, answered by the scenario, delivered with its faults. */
export const exchange = async (
  context: ExchangeContext,
  account: string,
  body: Uint8Array,
  record: RecordedRequest,
  connection: { readonly response: ServerResponse; readonly signal: AbortSignal }
): Promise<void> => {
  const { cache, clock, template, tokenizer } = context
  const { response, signal } = connection
  const json = parseJson(body)
  if ("status" in json) return sendError(response, record, json)
  const validated = validateRequest(json.value, context.validation)
  if (!validated.ok) return sendError(response, record, validated.error)
  const request = parsedRequest(validated.request)
  if (context.recordBodies) record.request = validated.request
  const reply = play(context.scenario, request)
  if (isError(reply)) return sendError(response, record, reply)
  const { bodyHash } = record
  const faults = activeFaults(reply.faults ?? [], bodyHash, context.faultCounts)
  record.faults = faults.map((fault) => fault.type)
  const delay = findFault(faults, "delay")
  if (delay !== undefined) await clock.sleep(delay.ms, signal)
  const failure = httpError(faults)
  if (failure !== undefined) return sendError(response, record, failure.error, failure.body)

  const prompt = renderPrompt(request, template)
  const ids = tokenizer.tokenise(prompt)
  if (ids.length + (request.maxTokens ?? 0) > context.contextLimit) {
    return sendError(response, record, contextExceeded(context.contextLimit, ids.length, request.maxTokens ?? 0))
  }
  const namespace = `${account}/${request.userId}/${canonicalModel(request.model)}`
  const hit = Math.min(cache.hit(namespace, ids, clock.now()), ids.length)
  const idSeed = `${context.seed}/${bodyHash}/${record.attempt}`
  const completion = complete(request, reply, faults, { tokenizer, template, idSeed })
  const output = renderReply(
    { reasoning: completion.reasoning, content: completion.content, toolCalls: completion.calls },
    request.thinking,
    template
  )
  const usage = makeUsage(reply, completion, tokenizer, {
    prompt: ids.length,
    hit,
    output: tokenizer.tokenise(output).length
  })
  record.reply = {
    reasoning: completion.reasoning,
    content: completion.content,
    toolCalls: completion.calls.map((call) => ({ id: call.id, name: call.name, arguments: call.arguments })),
    finishReason: completion.finishReason
  }
  const latency = { ...context.latency, ...reply.latency }
  const delivery: Delivery = { response, clock, signal, faults, latency }
  const sent = findFault(faults, "no-usage") === undefined ? usage : undefined
  const head = {
    id: stableId(32, idSeed, "id"),
    created: Math.floor(clock.now() / 1000),
    model: request.model
  }

  const early = findFault(faults, "reset")
  if (early !== undefined && (early.afterFrames ?? 0) === 0) {
    response.socket?.resetAndDestroy()
    record.outcome = "reset"
    return
  }
  record.usage = usage
  record.status = 200
  const streaming = request.stream && findFault(faults, "no-choices") === undefined
  response.writeHead(200, {
    "content-type": streaming ? "text/event-stream; charset=utf-8" : "application/json",
    "cache-control": "no-cache"
  })
  response.flushHeaders()
  await waitForStart(delivery, prefillDelay(latency, ids.length - hit), streaming ? ": keep-alive\n\n" : "\n")
  cache.persist(namespace, ids, clock.now(), "input")
  record.outcome = streaming
    ? await deliverStream(
      delivery,
      frames(completion, {
        ...head,
        includeUsage: request.includeUsage,
        usage: sent,
        trailingUsage: findFault(faults, "trailing-usage") !== undefined,
        finish: findFault(faults, "no-finish") === undefined,
        splitReasoning: splitsReasoning(faults),
        pieces: tokenizer.pieces
      })
    )
    : await deliverPlain(
      delivery,
      findFault(faults, "error-object") === undefined
        ? plainBody(completion, head, sent, findFault(faults, "no-choices") === undefined)
        : errorBody(documentedError(500))
    )
  if (record.outcome === "completed") {
    cache.persist(namespace, tokenizer.tokenise([...prompt, ...output]), clock.now(), "output", ids.length)
  }
}
