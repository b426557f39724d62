/**
 * The agent: turns of steps, each a boundary, a request, a reply and its tool calls.
 *
 * The loop asks `nextAction` what the journal's state calls for and carries it out. It keeps nothing that must survive: a
 * turn that was cut by a crash is resumed by the same loop.
 */
import { Context, Effect, Exit, Fiber, Layer, Schema, type Scope, Semaphore, type Stream } from "effect"
import { type Disposed, Fence } from "../Fence.ts"
import { Commands, parseCommand, runCommand, type UnknownCommand } from "../human/Command.ts"
import type { LiveEvent } from "../journal/LiveEvent.ts"
import type { Session, SessionView, TransactError } from "../journal/Session.ts"
import {
  SessionEvent,
  type SessionEvent as AnyEvent,
  type SessionId,
  type TurnEndReason
} from "../journal/SessionEvent.ts"
import { Boundaries } from "../model/Boundary.ts"
import { StatePlacement } from "../model/ModelRequest.ts"
import { ModelTransport } from "../model/ModelTransport.ts"
import { PromptSections } from "../model/PromptSection.ts"
import { RetryPolicy } from "../model/RetryPolicy.ts"
import { ToolCatalog } from "../tools/ToolCatalog.ts"
import { ToolGates } from "../tools/ToolGate.ts"
import type { ToolOutcome } from "../tools/ToolOutcome.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import { CompactionLimits } from "./Compaction.ts"
import type { CompactionEnd } from "./CompactionState.ts"
import { compactAndWait, compactCommand, makeCompactor } from "./Compactor.ts"
import { receive } from "./Inbox.ts"
import { makeLoop } from "./Loop.ts"
import { LoopGuard, loopReminder } from "./LoopGuard.ts"
import { lostCalls, repair, type ResumeMode } from "./Repair.ts"
import type { StepParts } from "./Step.ts"
import { nextAction, TurnProjection } from "./Turn.ts"

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

      const run = makeLoop({ transport, catalog, runner, retries, limits, compaction, compactor, fence, step: parts })

      return Agent.of({
        open: (session) =>
          Effect.gen(function*() {
            yield* fence.check
            let fiber: Fiber.Fiber<void, TurnError> | undefined
            // Between the fact that gives the agent work and the fiber that does it, nobody may judge that work as cut.
            const entering = yield* Semaphore.make(1)
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
              fence.commit(entering.withPermit(Effect.andThen(session.transact((view) => taken(view, text)), wake)))

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
                  const open = yield* entering.withPermit(Effect.gen(function*() {
                    const { lost, open } = yield* session.transact((view) => {
                      const events = running() ? [] : repair(view, catalog, mode)
                      const isOpen = view.get(TurnProjection).phase !== "idle"
                      return { events, value: { open: isOpen, lost: lostCalls(view.after(events), catalog) } }
                    })
                    if (open) yield* wakeWith(lost)
                    return open
                  }))
                  if (!open) return yield* new NothingToResume({ session: session.id })
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
