/**
 * The agent: turns of steps, each a boundary, a request, a reply and its tool calls.
 *
 * The loop asks `nextAction` what the journal's state calls for and carries it out. It keeps nothing that must survive: a
 * turn that was cut by a crash is resumed by the same loop.
 */
import { Context, Duration, Effect, Exit, Fiber, Layer, Random, Schema, type Scope, Stream } from "effect"
import { type Disposed, Fence } from "../Fence.ts"
import { Commands, parseCommand, runCommand, type UnknownCommand } from "../human/Command.ts"
import type { LiveEvent } from "../journal/LiveEvent.ts"
import type { Decision, Session, SessionView, TransactError } from "../journal/Session.ts"
import {
  SessionEvent,
  type SessionEvent as AnyEvent,
  type SessionId,
  type TurnEndReason
} from "../journal/SessionEvent.ts"
import { Boundaries } from "../model/Boundary.ts"
import { StatePlacement } from "../model/ModelRequest.ts"
import { ModelTransport, type TransportError } from "../model/ModelTransport.ts"
import { PromptSections } from "../model/PromptSection.ts"
import { retryDelay, RetryPolicy } from "../model/RetryPolicy.ts"
import { closeBatch, interruptedCall, openCalls } from "../tools/ToolBatch.ts"
import { ToolCatalog } from "../tools/ToolCatalog.ts"
import { ToolGates } from "../tools/ToolGate.ts"
import type { ToolOutcome } from "../tools/ToolOutcome.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import { type Attempt, beginAttempt } from "./Attempt.ts"
import { CompactionLimits, contextLengthEnd, interruptCompaction } from "./Compaction.ts"
import type { CompactionEnd } from "./CompactionState.ts"
import { compactAndWait, compactCommand, makeCompactor } from "./Compactor.ts"
import { receive } from "./Inbox.ts"
import { loopEnd, LoopGuard, loopReminder } from "./LoopGuard.ts"
import { lostCalls, repair, type ResumeMode } from "./Repair.ts"
import { type OpenedStep, openStep, type StepParts } from "./Step.ts"
import { nextAction, turnEnd, TurnProjection } from "./Turn.ts"

/** How a turn ended. `completed` is the only success. */
export interface TurnEnd {
  readonly turn: number
  readonly reason: TurnEndReason
  readonly detail?: string
}

/** Why a turn could not be carried on. The session itself is intact: the next prompt closes the turn first. */
export type TurnError = TransactError

/** There is nothing to go on with: no turn of the session is open. */
export class NothingToResume extends Schema.TaggedError<NothingToResume>()("NothingToResume", {
  session: Schema.String
}) {
  override get message() {
    return `Session ${this.session} has no open turn`
  }
}

/** An agent at work on one session. */
export interface AgentHandle {
  readonly session: Session
  /** Says something and waits until the turn that it belongs to has ended. Interrupting it interrupts the turn. */
  readonly prompt: (text: string) => Effect.Effect<TurnEnd, TurnError>
  /** Says something and returns: it is a message of the next step, and wakes the agent if it rests. */
  readonly send: (text: string) => Effect.Effect<void, TurnError>
  /** Runs a line that starts with a slash as a command, and says any other. The result is for the person. */
  readonly command: (line: string) => Effect.Effect<string | undefined, TurnError | UnknownCommand>
  /** Goes on with a turn that was cut (`continue`), or ends it with a result for every call (`close`). */
  readonly resume: (mode: ResumeMode) => Effect.Effect<TurnEnd, TurnError | NothingToResume>
  /**
   * Replaces the history with a summary, before the next step of a running turn or at once, and waits for it.
   * Interrupting it leaves the history as it was.
   */
  readonly compact: Effect.Effect<CompactionEnd, TurnError>
  /** Interrupts the running turn and waits until everything of it has ended. */
  readonly interrupt: Effect.Effect<void>
  /** Waits until no turn runs. */
  readonly idle: Effect.Effect<void>
  /** Facts and live events as they happen. */
  readonly events: Stream.Stream<AnyEvent | LiveEvent>
  /** Takes the program's own header over from the next step on, and logs why. It costs the prefix cache. */
  readonly adoptHeader: (reason: string) => Effect.Effect<void, TurnError>
}

export class Agent extends Context.Service<Agent, {
  /** Puts the agent to work on a session; closing the scope interrupts its turn and waits for the cleanup. */
  readonly open: (session: Session) => Effect.Effect<AgentHandle, Disposed, Scope.Scope>
}>()("@holdfast/core/Agent") {
  static readonly layer: Layer.Layer<
    Agent,
    never,
    ModelTransport | ToolCatalog | ToolGates | ToolRunner | PromptSections | Boundaries | Commands
  > = Layer.effect(
    Agent,
    Effect.gen(function*() {
      const transport = yield* ModelTransport
      const catalog = yield* ToolCatalog
      const gates = yield* ToolGates
      const runner = yield* ToolRunner
      const sections = yield* PromptSections
      const boundaries = yield* Boundaries
      const commands = yield* Commands
      const placement = yield* StatePlacement
      const retries = yield* RetryPolicy
      const limits = yield* LoopGuard
      const compaction = yield* CompactionLimits
      const compactor = makeCompactor({ transport, retries, limits: compaction })
      const working = new Map<SessionId, AgentHandle>()
      if (compaction !== undefined) yield* commands.register(compactCommand((id) => working.get(id)?.compact))
      const fence = yield* Fence.make("Agent")

      const parts = (): StepParts => ({
        boundaries: boundaries.items(),
        sections: sections.items(),
        tools: catalog.all(),
        gates: gates.gates(),
        placement,
        encoding: transport.encoding,
        settings: transport.settings,
        tail: (view) => loopReminder(limits, view)
      })

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
      ): Effect.Effect<void, TurnError> => {
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

      return Agent.of({
        open: (session) =>
          Effect.gen(function*() {
            yield* fence.check
            let fiber: Fiber.Fiber<void, TurnError> | undefined
            // A fiber that has decided to stop takes nothing more on, although it has not ended yet.
            let resting = true

            const wakeWith = (known: ReadonlyMap<string, ToolOutcome>) =>
              Effect.contextWith((context: Context.Context<never>) => {
                if (running()) return Effect.void
                const view = session.view()
                if (nextAction(view)._tag === "Idle" && compactor.due(view) === undefined) return Effect.void
                resting = false
                const before = fiber
                const turn = Effect.withFiber<void, TurnError>((self) => {
                  const own = self as Fiber.Fiber<void, TurnError>
                  fiber = own
                  return run(session, known, () => void (resting = resting || fiber === own))
                })
                // Forked in this very tick: an effect that forks could be put back before anybody knows of the fiber, and
                // another wake, or a wait for the end of the turn, would find none. The finalizer below ends it.
                const started = Effect.runForkWith(context)(turn, { uninterruptible: true })
                if (fiber === before) fiber = started
                return Effect.void
              })
            const wake = wakeWith(new Map())
            const running = () => !resting && fiber !== undefined && fiber.pollUnsafe() === undefined

            /** Waits for the running turn; its error is the caller's. */
            const settled: Effect.Effect<void, TurnError> = Effect.suspend(() =>
              fiber === undefined ?
                Effect.void :
                Effect.flatMap(
                  Fiber.await(fiber),
                  (exit) => Exit.isFailure(exit) && !Exit.hasInterrupts(exit) ? exit : Effect.void
                )
            )

            /** A turn that nobody carries on was cut: it is closed before anything new begins. */
            const taken = (view: SessionView, text: string) => {
              const due = running() ? [] : repair(view, catalog, "close")
              const after = view.after(due)
              const open = after.get(TurnProjection).phase !== "idle"
              const start = open ? [] : [
                SessionEvent.event("turn/start", { turn: after.get(TurnProjection).turn + 1 })
              ]
              const before = [...due, ...start]
              return { events: [...before, receive(view.after(before), text, { kind: "user" })], value: undefined }
            }

            const send = (text: string) =>
              fence.commit(Effect.andThen(session.transact((view) => taken(view, text)), wake))

            const ended: Effect.Effect<TurnEnd> = Effect.sync(() =>
              session.view().get(TurnProjection).end ?? { turn: 0, reason: "closed" }
            )

            const interrupt = Effect.suspend(() => fiber === undefined ? Effect.void : Fiber.interrupt(fiber))

            const finish: Effect.Effect<TurnEnd, TurnError> = Effect.suspend(() =>
              running() ? Effect.andThen(settled, finish) : Effect.andThen(settled, ended)
            )
            const interrupting = Effect.onInterrupt(() => interrupt)

            const idle: Effect.Effect<void> = Effect.suspend(() => {
              const current = fiber
              if (current === undefined) return Effect.void
              return Effect.flatMap(Fiber.await(current), () => current === fiber ? Effect.void : idle)
            })

            yield* Effect.addFinalizer(() => interrupt)

            const compact = compactAndWait({ session, catalog, limits: compaction, running, wake, settled, interrupt })

            const handle: AgentHandle = {
              session,
              events: session.observe,
              send,
              interrupt,
              compact: fence.guard(compact),
              idle,
              // Once the message is recorded, an interruption is one of the turn, however early it comes.
              prompt: (text) =>
                Effect.uninterruptibleMask((restore) => Effect.andThen(send(text), interrupting(restore(finish)))).pipe(
                  fence.guard
                ),
              command: (line) => {
                const command = parseCommand(line)
                return command === undefined
                  ? Effect.as(send(line), undefined)
                  : runCommand(commands, command.name, command.args, { session, steer: send })
              },
              resume: (mode) =>
                Effect.gen(function*() {
                  const { lost, open } = yield* session.transact((view) => {
                    const events = running() ? [] : repair(view, catalog, mode)
                    const isOpen = view.get(TurnProjection).phase !== "idle"
                    return { events, value: { open: isOpen, lost: lostCalls(view.after(events), catalog) } }
                  })
                  if (!open) return yield* new NothingToResume({ session: session.id })
                  yield* wakeWith(lost)
                  return yield* interrupting(finish)
                }).pipe(fence.guard),
              adoptHeader: (reason) =>
                session.transact(() => ({
                  events: [SessionEvent.event("request/adopted", { reason })],
                  value: undefined
                })).pipe(fence.commit)
            }
            yield* Effect.acquireRelease(
              Effect.sync(() => void working.set(session.id, handle)),
              () => Effect.sync(() => void (working.get(session.id) === handle && working.delete(session.id)))
            )
            return handle
          })
      })
    })
  )
}

/** Whether a turn was interrupted, by a person or because the agent was closed. */
const wasStopped = (exit: Exit.Exit<void, TurnError>): boolean => {
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
