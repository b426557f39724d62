/** Carries a compaction out: one request for a summary at a time, each a pair of facts. */
import { Duration, Effect, Random, Stream } from "effect"
import type { Disposed } from "../Fence.ts"
import type { Command } from "../human/Command.ts"
import type { Session, SessionView, TransactError } from "../journal/Session.ts"
import { type CompactionReason, SessionEvent, type SessionId } from "../journal/SessionEvent.ts"
import type { ModelTransport, TransportError } from "../model/ModelTransport.ts"
import { retryDelay, type RetryOptions } from "../model/RetryPolicy.ts"
import type { ToolCatalog } from "../tools/ToolCatalog.ts"
import { beginAttempt } from "./Attempt.ts"
import {
  canCompact,
  type CompactionOptions,
  dueCompaction,
  failCompaction,
  interruptCompaction,
  logCompacted,
  openCompaction,
  summaryOf
} from "./Compaction.ts"
import { type CompactionEnd, CompactionProjection } from "./CompactionState.ts"
import { repair } from "./Repair.ts"
import * as texts from "./texts.ts"
import { TurnProjection } from "./Turn.ts"

export interface Compactor {
  /** Why a summary must be asked for now, if that is so. */
  readonly due: (view: SessionView) => CompactionReason | undefined
  /** Makes one request for a summary and logs what came of it. */
  readonly attempt: (session: Session, reason: CompactionReason) => Effect.Effect<void, TransactError>
}

export const makeCompactor = (parts: {
  readonly transport: ModelTransport["Service"]
  readonly retries: RetryOptions
  readonly limits: CompactionOptions | undefined
}): Compactor => {
  const { limits, retries, transport } = parts

  const failed = (session: Session, error: TransportError) =>
    Effect.gen(function*() {
      const random = yield* Random.next
      const wait = yield* session.transact((view) =>
        failCompaction(view, limits, error, (tries) => retryDelay(retries, error, tries, random))
      )
      if (wait === undefined) return
      yield* session.emit({
        live: "retrying",
        attempt: 1,
        inMillis: Duration.toMillis(wait),
        reason: error.message
      })
      yield* Effect.sleep(wait)
    })

  return {
    due: (view) => dueCompaction(view, limits),
    attempt: (session, reason) =>
      Effect.gen(function*() {
        const opened = yield* session.transact((view) => openCompaction(view, limits, reason))
        if (opened === undefined) return
        const attempt = beginAttempt(opened.step)
        yield* transport.stream(opened.request).pipe(
          // A summary is no reply: observers see its facts, and no text of it as if it were one.
          Stream.runForEachArray((batch) => Effect.sync(() => void attempt.take(batch))),
          Effect.andThen(Effect.suspend((): Effect.Effect<void, TransactError | TransportError> => {
            const reply = attempt.complete()
            const summary = summaryOf(reply)
            if (typeof summary !== "string") return Effect.fail(summary)
            const usage = "calls" in reply ? reply.usage : undefined
            return session.transact((view) => logCompacted(view, summary, usage))
          })),
          Effect.catchTag("TransportError", (error) => failed(session, error))
        )
      })
  }
}

/**
 * Wishes for a compaction and waits until it is done. The wish is a fact, so a running turn carries it out at its next
 * boundary, and a process that dies does not forget it. Interrupting takes it back.
 */
export const compactAndWait = (agent: {
  readonly session: Session
  readonly catalog: ToolCatalog["Service"]
  readonly limits: CompactionOptions | undefined
  readonly running: () => boolean
  readonly wake: Effect.Effect<void>
  /** Waits for the running turn and fails with its error. */
  readonly settled: Effect.Effect<void, TransactError>
  readonly interrupt: Effect.Effect<void>
}): Effect.Effect<CompactionEnd, TransactError> => {
  const { session } = agent
  const state = () => session.view().get(CompactionProjection)
  const wish = session.transact((view) => {
    // A turn that nobody carries on was cut: it is closed before anything new begins.
    const due = agent.running() ? [] : repair(view, agent.catalog, "close")
    const after = view.after(due)
    // While a turn runs, its next boundary knows better what there is to replace.
    if (!agent.running() && !canCompact(after, agent.limits, "requested")) return { events: due, value: false }
    const wanted = after.get(CompactionProjection).wanted !== undefined
    const event = SessionEvent.event("compaction/requested", { by: "user" })
    return { events: wanted ? due : [...due, event], value: true }
  })
  const resting = () => session.view().get(TurnProjection).phase === "idle"
  // At rest nothing else waits for the request, so it is interrupted; in a turn one that was sent may still be of use.
  const unwish = Effect.suspend(() => resting() ? agent.interrupt : Effect.void).pipe(
    Effect.andThen(session.transact((view) => ({
      events: view.get(CompactionProjection).open === undefined ? interruptCompaction(view) : [],
      value: undefined
    }))),
    Effect.ignore
  )
  return Effect.gen(function*() {
    if (!(yield* wish)) return { outcome: "nothing-to-replace" } as const
    yield* agent.wake
    yield* Effect.raceFirst(session.until((view) => view.get(CompactionProjection).wanted === undefined), agent.settled)
    return state().end ?? ({ outcome: "interrupted" } as const)
  }).pipe(Effect.onInterrupt(() => unwish))
}

/** `/compact`, over the agents that are at work. */
export const compactCommand = (
  compact: (session: SessionId) => Effect.Effect<CompactionEnd, TransactError | Disposed> | undefined
): Command => ({
  name: "compact",
  summary: texts.people.compactSummary,
  run: (_, { session }) =>
    Effect.map(
      compact(session.id) ?? Effect.succeed<CompactionEnd>({ outcome: "nothing-to-replace" }),
      texts.people.compaction
    )
})
