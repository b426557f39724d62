/**
 * The loop of a turn: what `nextAction` calls for, carried out until the turn rests.
 *
 * It keeps nothing that must survive. Whatever stops it, the turn is closed in the journal, with a result for every call.
 */
import { Duration, Effect, Exit, Random, Stream } from "effect"
import type { Fence } from "../Fence.ts"
import type { Decision, Session, SessionView, TransactError } from "../journal/Session.ts"
import { SessionEvent, type TurnEndReason } from "../journal/SessionEvent.ts"
import type { ModelTransport, TransportError } from "../model/ModelTransport.ts"
import { retryDelay, type RetryOptions } from "../model/RetryPolicy.ts"
import { closeBatch, interruptedCall, openCalls } from "../tools/ToolBatch.ts"
import type { ToolCatalog } from "../tools/ToolCatalog.ts"
import type { ToolOutcome } from "../tools/ToolOutcome.ts"
import type { ToolRunner } from "../tools/ToolRunner.ts"
import { type Attempt, beginAttempt } from "./Attempt.ts"
import { type CompactionOptions, contextLengthEnd, interruptCompaction } from "./Compaction.ts"
import type { Compactor } from "./Compactor.ts"
import { loopEnd, type LoopLimits } from "./LoopGuard.ts"
import { type OpenedStep, openStep, type StepParts } from "./Step.ts"
import { nextAction, turnEnd, TurnProjection } from "./Turn.ts"

export interface LoopParts {
  readonly transport: ModelTransport["Service"]
  readonly catalog: ToolCatalog["Service"]
  readonly runner: ToolRunner["Service"]
  readonly retries: RetryOptions
  readonly limits: LoopLimits
  readonly compaction: CompactionOptions | undefined
  readonly compactor: Compactor
  readonly fence: Fence
  /** What the program brings to a boundary now. */
  readonly step: () => StepParts
}

/** Makes the loop of a program; it carries the turns of any session. */
export const makeLoop = (loopParts: LoopParts) => {
  const { catalog, compaction, compactor, fence, limits, retries, runner, step: parts, transport } = loopParts
  const end = (session: Session, reason: TurnEndReason, detail?: string) =>
    session.transact((view) => ({ events: [turnEnd(view, reason, detail)], value: undefined }))

  /** Logs a reply, with the start of its leading reading calls, or with the end of the turn when nothing follows. */
  const logReply = (session: Session, attempt: Attempt) =>
    Effect.gen(function*() {
      const reply = attempt.complete()
      if (!("calls" in reply)) return yield* reply
      const prepared = yield* runner.prepare(session, reply.calls)
      const event = SessionEvent.event("message/assistant", reply)
      yield* session.transact((view) => {
        const after = view.after([event])
        const started = runner.startable(after, prepared)
        const next = nextAction(after)
        const last = next._tag === "End" ? [turnEnd(after, next.reason, next.detail)] : []
        return { events: [event, ...started, ...last], value: undefined }
      })
    })

  const request = (session: Session, opened: OpenedStep, attempt: Attempt) =>
    transport.stream(opened.request).pipe(
      Stream.runForEachArray((batch) => session.emit(...attempt.take(batch))),
      Effect.andThen(Effect.suspend(() => logReply(session, attempt)))
    )

  /** Logs the failure, and waits for the next attempt or ends the turn. */
  const failed = (session: Session, opened: OpenedStep, error: TransportError) =>
    Effect.gen(function*() {
      const random = yield* Random.next
      const delay = yield* session.transact((view) => {
        const event = SessionEvent.event("step/failed", {
          step: opened.step,
          attempt: opened.attempt,
          reason: error.reason,
          message: error.message,
          retryable: error.retryable,
          ...(error.retryAfterMillis === undefined ? {} : { retryAfterMillis: error.retryAfterMillis })
        })
        const after = view.after([event])
        const tooLong = error.reason === "ContextLength"
        const wait = tooLong ? undefined : retryDelay(retries, error, after.get(TurnProjection).failures, random)
        const ending = tooLong
          ? contextLengthEnd(after, compaction)
          : { reason: "failed" as const, detail: undefined }
        return {
          events: wait === undefined && ending !== undefined
            ? [event, turnEnd(after, ending.reason, ending.detail ?? error.message)]
            : [event],
          value: wait
        }
      })
      if (delay === undefined) return
      yield* session.emit({
        live: "retrying",
        attempt: opened.attempt + 1,
        inMillis: Duration.toMillis(delay),
        reason: error.message
      })
      yield* Effect.sleep(delay)
    })

  const step = (session: Session, current: { attempt: Attempt | undefined }) =>
    Effect.gen(function*() {
      const stop = loopEnd(limits, session.view())
      const retrying = session.view().get(TurnProjection).attempt > 0
      if (stop !== undefined && !retrying) return yield* end(session, stop.reason, stop.detail)
      const opened = yield* session.transact((view) => openStep(view, parts()))
      const attempt = beginAttempt(opened.step)
      current.attempt = attempt
      yield* request(session, opened, attempt).pipe(
        Effect.catchTag("TransportError", (error) => failed(session, opened, error))
      )
      current.attempt = undefined
    })

  const calls = (session: Session, known: ReadonlyMap<string, ToolOutcome>) =>
    Effect.gen(function*() {
      const open = openCalls(session.view())
      const prepared = yield* runner.prepare(session, open.map((call) => call.record))
      yield* runner.run(session, prepared, {
        progress: (call, value) => session.emit({ live: "tool-progress", call, value }),
        known
      })
    })

  /**
   * Carries the turn on until it rests. Whatever interrupts it, the turn is closed in the journal. `known` are
   * outcomes of calls that an earlier process had started; `rest` is called in the step that finds nothing more to do.
   * To be run by a fiber that starts uninterruptible: what closes the turn is in place before anything can interrupt it.
   */
  const run = (
    session: Session,
    known: ReadonlyMap<string, ToolOutcome>,
    rest: () => void
  ): Effect.Effect<void, TransactError> => {
    const current: { attempt: Attempt | undefined } = { attempt: undefined }
    let rested = false
    const loop = Effect.gen(function*() {
      while (true) {
        const view = session.view()
        const action = nextAction(view)
        const due = action._tag === "Idle" || action._tag === "Boundary" ? compactor.due(view) : undefined
        if (due !== undefined) yield* compactor.attempt(session, due)
        else if (action._tag === "Idle") {
          rested = true
          return rest()
        } else if (action._tag === "Boundary") yield* step(session, current)
        else if (action._tag === "Calls") yield* calls(session, known)
        else {
          // Decided again under the lock: a message may have come in the meantime.
          yield* session.transact((view) => {
            const now = nextAction(view)
            return {
              events: now._tag === "End" ? [turnEnd(view, now.reason, now.detail)] : [],
              value: undefined
            }
          })
        }
      }
    })
    const close = session.transact((view) => {
      // In the same step: whoever speaks after this finds an agent that rests, and wakes it.
      rest()
      return closeInterrupted(view, catalog, current.attempt)
    })
    return Effect.interruptible(fence.guard(loop)).pipe(
      // A loop that had come to its rest leaves the session to whoever woke it again.
      Effect.onExit((exit) => rested || !wasStopped(exit) ? Effect.void : Effect.ignore(close))
    )
  }

  return run
}

/** Whether a turn was interrupted, by a person or because the agent was closed. */
const wasStopped = (exit: Exit.Exit<void, TransactError>): boolean => {
  const error = Exit.findErrorOption(exit)
  return Exit.hasInterrupts(exit) || (error._tag === "Some" && error.value._tag === "Disposed")
}

/** The end of a turn that was interrupted: what was said so far stays, every call gets its result. */
const closeInterrupted = (
  view: SessionView,
  catalog: ToolCatalog["Service"],
  attempt: Attempt | undefined
): Decision<void> => {
  const { phase } = view.get(TurnProjection)
  const compaction = interruptCompaction(view)
  if (phase === "idle") return { events: compaction, value: undefined }
  const partial = phase === "requesting" && attempt !== undefined ? [attempt.interrupted()] : []
  const results = closeBatch(view, new Map(), interruptedCall(catalog, view))
  return { events: [...compaction, ...partial, ...results, turnEnd(view, "interrupted")], value: undefined }
}
