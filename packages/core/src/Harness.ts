/**
 * The harness put together: one layer for programs written with Effect, and the same things as promises for those that
 * are not.
 */
import { Cause, type Duration, Effect, Exit, Layer, ManagedRuntime, Schema, Scope, Stream } from "effect"
import { Agent, type AgentHandle, type TurnEnd } from "./agent/Agent.ts"
import { CompactionLimits, type CompactionOptions } from "./agent/Compaction.ts"
import type { CompactionEnd } from "./agent/CompactionState.ts"
import { Fork, type ForkOptions } from "./agent/Fork.ts"
import type { ResumeMode } from "./agent/Repair.ts"
import { Approval, type ApprovalOptions } from "./human/Approval.ts"
import { Attention } from "./human/Attention.ts"
import { Commands } from "./human/Command.ts"
import type { Interaction } from "./human/Interaction.ts"
import type { Journal, SessionSummary } from "./journal/Journal.ts"
import type { LiveEvent } from "./journal/LiveEvent.ts"
import { type Session, Sessions } from "./journal/Session.ts"
import { type SessionEvent, SessionId } from "./journal/SessionEvent.ts"
import { Boundaries } from "./model/Boundary.ts"
import type { ModelTransport } from "./model/ModelTransport.ts"
import { PromptSections } from "./model/PromptSection.ts"
import { Usage, type UsageTotals } from "./model/Usage.ts"
import { type Enforcement, type PlanEnforcementInvalid, PlanGate } from "./plan/PlanGate.ts"
import { PlanMode, type PlanModeConfigInvalid } from "./plan/PlanMode.ts"
import type { ReviewOptions } from "./plan/PlanReview.ts"
import { PlanSignals } from "./plan/PlanSignals.ts"
import type { PlanState, Selection } from "./plan/PlanState.ts"
import { defaultSection } from "./plan/texts.ts"
import { AskUser } from "./tools/AskUser.ts"
import { type InvalidTool, ToolCatalog, type ToolNameTaken } from "./tools/ToolCatalog.ts"
import { ToolGates } from "./tools/ToolGate.ts"
import { ToolHooks } from "./tools/ToolHook.ts"
import { ToolRunner } from "./tools/ToolRunner.ts"

export interface HarnessOptions {
  /** The guidance while planning; the default is a general one. */
  readonly planSection?: string
  /** How plan mode is enforced. Default: what `HOLDFAST_PLAN_ENFORCEMENT` says, else `runtime`. */
  readonly enforcement?: Enforcement
  readonly review?: ReviewOptions
  readonly approval?: ApprovalOptions
  /** How long the person has for a question of the model, from the moment that it is shown. Default: as long as they like. */
  readonly question?: { readonly deadline?: Duration.Input }
  /** How many questions the person is shown at once. Default: what the provider can show. */
  readonly attention?: number
  /** Compacts the history when it grows too long, and adds `/compact`. Default: it never does, unless a person asks. */
  readonly compaction?: Partial<CompactionOptions>
}

/** The registries that parts of a program add to. */
export type Registries = ToolCatalog | ToolGates | ToolHooks | PromptSections | Boundaries | Commands

/** Everything that `Harness.layer` provides. */
export type HarnessServices =
  | Registries
  | Attention
  | Approval
  | ToolRunner
  | PlanMode
  | PlanGate
  | Sessions
  | Fork
  | Agent

const registries = Layer.mergeAll(
  ToolCatalog.layer,
  ToolGates.layer,
  ToolHooks.layer,
  PromptSections.layer,
  Boundaries.layer,
  Commands.layer
)

/**
 * The whole harness over a journal, a model and a person. Tools and sections are added by layers that are provided with
 * this one: `Layer.provideMerge(MyTools, Harness.layer())`.
 */
const layer = (
  options: HarnessOptions = {}
): Layer.Layer<
  HarnessServices,
  PlanModeConfigInvalid | PlanEnforcementInvalid | ToolNameTaken | InvalidTool | ConfigFailure,
  Journal | ModelTransport | Interaction
> => {
  const gate = options.enforcement === undefined
    ? PlanGate.layerConfig
    : PlanGate.layer({ enforcement: options.enforcement })
  const people = Approval.layer(options.approval).pipe(Layer.provideMerge(Attention.layer(options.attention)))
  const plan = Layer.mergeAll(
    PlanMode.layer({ section: options.planSection ?? defaultSection }, options.review),
    gate,
    PlanSignals.layer,
    AskUser.layer(options.question)
  )
  const agent = options.compaction === undefined
    ? Agent.layer
    : Agent.layer.pipe(Layer.provide(CompactionLimits.layer(options.compaction)))
  const running = agent.pipe(Layer.provideMerge(ToolRunner.layer))
  return Layer.mergeAll(running, Sessions.layer, Fork.layer).pipe(
    Layer.provideMerge(plan),
    Layer.provideMerge(people),
    Layer.provideMerge(registries)
  )
}

type ConfigFailure = Layer.Error<typeof PlanGate.layerConfig>

/** The harness was closed, or is being closed. Make a new one. */
export class HarnessClosed extends Schema.TaggedError<HarnessClosed>()("HarnessClosed", {}) {
  override get message() {
    return "The harness is closed"
  }
}

/** What a program provides to `Harness.make`: a journal, a model, a person, and whatever it adds to the registries. */
export type HarnessParts<E> = Layer.Layer<HarnessServices, E>

/** An open session for code without Effect. Promises reject with the same tagged errors. */
export interface HarnessSession extends AsyncDisposable {
  readonly id: SessionId
  /** Says something and resolves when the turn has ended. Aborting interrupts the turn; the promise still resolves. */
  readonly prompt: (text: string, options?: { readonly signal?: AbortSignal }) => Promise<TurnEnd>
  readonly send: (text: string) => Promise<void>
  readonly command: (line: string) => Promise<string | undefined>
  readonly resume: (mode: ResumeMode) => Promise<TurnEnd>
  /** Replaces the history with a summary; see `AgentHandle.compact`. */
  readonly compact: () => Promise<CompactionEnd>
  readonly interrupt: () => Promise<void>
  readonly plan: { readonly get: () => PlanState; readonly set: (active: boolean) => Promise<Selection> }
  readonly usage: () => UsageTotals
  readonly events: () => AsyncIterable<SessionEvent | LiveEvent>
  /** Ends the running turn and closes the session. */
  readonly close: () => Promise<void>
}

export interface HarnessHandle extends AsyncDisposable {
  /** Creates a session. */
  readonly create: (
    options?: { readonly id?: string; readonly title?: string; readonly cwd?: string }
  ) => Promise<HarnessSession>
  /** Opens a stored session; call its `resume` when its last turn was cut. */
  readonly open: (id: string) => Promise<HarnessSession>
  /** Copies a session up to an event (default: the last one where no step is open) into a new one and opens that. */
  readonly fork: (id: string, options?: { readonly at?: number; readonly id?: string }) => Promise<HarnessSession>
  readonly list: () => Promise<ReadonlyArray<SessionSummary>>
  readonly close: () => Promise<void>
}

/**
 * Builds a program's layer and offers it as promises.
 *
 * @example
 * const harness = await Harness.make(MyTools.pipe(Layer.provideMerge(Harness.layer()), Layer.provide(MyJournalModelAndPerson)))
 * const session = await harness.create()
 * const end = await session.prompt("Fix the parser")
 * await harness.close()
 */
const make = async <E>(parts: HarnessParts<E>): Promise<HarnessHandle> => {
  const runtime = ManagedRuntime.make(parts)
  let closed = false
  const run = async <A, F>(effect: Effect.Effect<A, F, HarnessServices>): Promise<A> => {
    if (closed) throw new HarnessClosed()
    const exit = await runtime.runPromiseExit(effect)
    if (Exit.isSuccess(exit)) return exit.value
    throw Cause.squash(exit.cause)
  }
  await run(Effect.void)

  const start = (opening: Effect.Effect<AgentHandle, unknown, Scope.Scope | HarnessServices>) =>
    run(Effect.gen(function*() {
      const scope = yield* Scope.make()
      const agent = yield* Effect.onError(Scope.provide(opening, scope), () => Scope.close(scope, Exit.void))
      const plan = yield* PlanMode
      const context = yield* Effect.context<never>()
      const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
      const session: HarnessSession = {
        id: agent.session.id,
        prompt: async (text, { signal } = {}) => {
          const abort = () => void Effect.runFork(agent.interrupt)
          signal?.addEventListener("abort", abort)
          try {
            return await run(agent.prompt(text))
          } finally {
            signal?.removeEventListener("abort", abort)
          }
        },
        send: (text) => run(agent.send(text)),
        command: (line) => run(agent.command(line)),
        resume: (mode) => run(agent.resume(mode)),
        compact: () => run(agent.compact),
        interrupt: () => run(agent.interrupt),
        plan: { get: () => plan.get(agent.session), set: (active) => run(plan.set(agent.session, active)) },
        usage: () => agent.session.view().get(Usage),
        events: () => Stream.toAsyncIterableWith(agent.events, context),
        close,
        [Symbol.asyncDispose]: close
      }
      return session
    }))

  const close = async () => {
    closed = true
    await runtime.dispose()
  }
  const work = (opening: Effect.Effect<Session, unknown, Scope.Scope | HarnessServices>) =>
    start(Effect.flatMap(opening, (session) => Agent.use((agent) => agent.open(session))))
  return {
    create: ({ id, ...rest } = {}) =>
      work(Sessions.use((all) => all.create({ id: SessionId.make(id ?? crypto.randomUUID()), ...rest }))),
    open: (id) => work(Sessions.use((all) => all.open(SessionId.make(id)))),
    fork: (id, options = {}) =>
      work(Effect.gen(function*() {
        const to: ForkOptions = {
          ...(options.at === undefined ? {} : { at: options.at }),
          ...(options.id === undefined ? {} : { id: SessionId.make(options.id) })
        }
        const { session } = yield* Fork.use((fork) => fork.fork(SessionId.make(id), to))
        return yield* Sessions.use((all) => all.open(session))
      })),
    list: () => run(Effect.flatMap(Sessions, (sessions) => sessions.list)),
    close,
    [Symbol.asyncDispose]: close
  }
}

export const Harness = { layer, make }
