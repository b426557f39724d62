/**
 * One life of a program: the real Layers over a disk, a person and a model on strings, with plan mode in a scope of its own.
 *
 * A process that dies is left where it stands; nothing of it runs again, because nobody moves its scheduler any more.
 */
import {
  Agent,
  type AgentHandle,
  Approval,
  AskUser,
  Attention,
  Boundaries,
  Commands,
  type Enforcement,
  Harness,
  type HarnessServices,
  type Interaction,
  Journal,
  LoopGuard,
  PlanGate,
  PlanMode,
  PlanSignals,
  PromptSections,
  type Registries,
  RetryPolicy,
  type SessionId,
  Sessions,
  ToolCatalog,
  ToolDeadline,
  ToolGates,
  ToolHooks,
  ToolRunner
} from "@holdfast/core"
import { Clock, Context, Effect, Exit, type Fiber, Layer, Scheduler, Scope } from "effect"
import { ATTEMPTS } from "../model/Loop.ts"
import { type Who } from "../model/Draft.ts"
import type { Disk } from "./Disk.ts"
import { type LanguageModel, makeLanguageModel, makePerson, type Person, type Thinking } from "./Puppets.ts"
import { Stepper, type StillClock, stillClock } from "./Stepper.ts"
import { knownNow, makeWorkshop, stampHook, type Workshop } from "./Tools.ts"

/** The parts of a program that its author brings. */
export interface Parts {
  /** Tools, hooks, sections and gates of one's own. */
  readonly tools?: Layer.Layer<never, unknown, Registries>
  /** An interaction provider around the one that the runner steers. */
  readonly interaction?: Layer.Layer<Interaction, unknown, Interaction>
  readonly enforcement?: Exclude<Enforcement, "guidance">
}

export interface ProcessOptions extends Parts {
  readonly number: number
  readonly seed: number
  readonly disk: Disk
  readonly sessions: ReadonlyArray<SessionId>
  readonly hooked: boolean
  readonly stubborn: boolean
  /** Composed by `Harness.layer`; plan mode cannot be closed by itself then. */
  readonly whole: boolean
  readonly sent: (thinking: Thinking, process: Process) => void
}

/** The text by which a guided request is known. */
export const GUIDANCE = "GUIDANCE: look, think, then submit a plan"

/** How long a question may wait: until the runner says that time passes. */
const deadline = "30 minutes"

/** An agent at work, and the scope that ends it. */
export interface Open {
  readonly handle: AgentHandle
  readonly scope: Scope.Closeable
}

export interface Process {
  readonly number: number
  readonly stepper: Stepper
  readonly clock: StillClock
  readonly person: Person
  readonly model: LanguageModel
  readonly workshop: Workshop
  readonly services: Context.Context<HarnessServices | Journal>
  readonly agents: Map<Who, Open>
  readonly isPlanOpen: () => boolean
  readonly plan: () => PlanMode["Service"]
  readonly closePlan: Effect.Effect<void>
  readonly openPlan: Effect.Effect<void, unknown>
  /** Starts something under the process's scheduler and clock. */
  readonly go: <A, E>(self: Effect.Effect<A, E, HarnessServices | Journal>) => Fiber.Fiber<A, E>
  readonly end: Effect.Effect<void>
}

const registries = () =>
  Layer.mergeAll(
    ToolCatalog.layer,
    ToolGates.layer,
    ToolHooks.layer,
    PromptSections.layer,
    Boundaries.layer,
    Commands.layer
  )

const limits = Layer.mergeAll(
  RetryPolicy.layer({ attempts: ATTEMPTS, base: "1 seconds", jitter: 0 }),
  LoopGuard.layer({ rounds: 1_000_000, remindAfter: 1_000_000, stopAfter: 1_000_000 }),
  // Deadlines of tools are no business of plan mode, and the clock passes by the hour.
  Layer.succeed(ToolDeadline, undefined)
)

/** The layers of `Harness.layer`, without plan mode and its signals. */
const withoutPlan = (enforcement: Enforcement) => {
  const people = Approval.layer({ deadline }).pipe(Layer.provideMerge(Attention.layer()))
  const agent = Agent.layer.pipe(Layer.provideMerge(ToolRunner.layer))
  return Layer.mergeAll(agent, Sessions.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(PlanGate.layer({ enforcement }), AskUser.layer({ deadline }))),
    Layer.provideMerge(people),
    Layer.provideMerge(registries())
  )
}

const whole = (enforcement: Enforcement) =>
  Harness.layer({
    enforcement,
    planSection: GUIDANCE,
    review: { deadline },
    approval: { deadline },
    question: { deadline }
  })

/** Builds the layers and waits for them under the process's own scheduler. */
export const startProcess = async (options: ProcessOptions): Promise<Process> => {
  const stepper = Stepper.make(options.seed)
  const clock = stillClock()
  const scope = Effect.runSync(Scope.make())
  const enforcement = options.enforcement ?? "runtime"
  let process: Process | undefined
  const person = makePerson(options.stubborn)
  const model = makeLanguageModel((thinking) => {
    if (process !== undefined) options.sent(thinking, process)
  })
  const live: Sessions["Service"]["live"] = (id) =>
    process === undefined ? undefined : Context.get(process.services, Sessions).live(id)
  const workshop = makeWorkshop(() => knownNow(options.sessions, live))
  const interaction = options.interaction === undefined
    ? person.layer
    : options.interaction.pipe(Layer.provide(person.layer))

  const core: Layer.Layer<Exclude<HarnessServices, PlanMode>, unknown, CoreNeeds> = options.whole
    ? whole(enforcement)
    : withoutPlan(enforcement) as never
  const tools = Layer.mergeAll(
    workshop.layer,
    options.tools ?? Layer.empty,
    options.hooked ? stampHook(options.number) : Layer.empty
  )
  const layer = workshop.watched.pipe(
    Layer.provideMerge(tools),
    Layer.provideMerge(core),
    Layer.provide(Layer.mergeAll(model.layer, interaction)),
    Layer.provide(limits),
    Layer.provideMerge(Layer.succeed(Journal, options.disk.journal))
  )
  const start = <A, E, R>(context: Context.Context<R>, self: Effect.Effect<A, E, R>): Fiber.Fiber<A, E> =>
    Effect.runForkWith(
      context.pipe(Context.add(Scheduler.Scheduler, stepper.scheduler), Context.add(Clock.Clock, clock.clock))
    )(self)
  const built = await settled(start(Context.empty(), Layer.buildWithScope(layer, scope)), stepper)
  const services = built as unknown as Context.Context<HarnessServices | Journal>

  // Plan mode's own scopes: its signals close first.
  let plan: { readonly service: PlanMode["Service"]; readonly scopes: ReadonlyArray<Scope.Closeable> } | undefined
  let last: PlanMode["Service"] | undefined
  const openPlan = Effect.gen(function*() {
    if (options.whole || plan !== undefined) return
    const modeScope = yield* Scope.make()
    const signalScope = yield* Scope.make()
    const mode = Layer.buildWithScope(PlanMode.layer({ section: GUIDANCE }, { deadline }), modeScope)
    last = Context.get(yield* Effect.provideContext(mode, services), PlanMode)
    yield* Effect.provideContext(Layer.buildWithScope(PlanSignals.layer, signalScope), services)
    plan = { service: last, scopes: [signalScope, modeScope] }
  })
  const closePlan = Effect.suspend(() => {
    const closing = plan?.scopes ?? []
    plan = undefined
    return Effect.forEach(closing, (one) => Scope.close(one, Exit.void), { discard: true })
  })
  if (options.whole) last = Context.get(services, PlanMode)

  process = {
    number: options.number,
    stepper,
    clock,
    person,
    model,
    workshop,
    services,
    agents: new Map(),
    isPlanOpen: () => options.whole || plan !== undefined,
    plan: () => last!,
    closePlan,
    openPlan,
    go: (self) => start(services, self),
    end: Effect.suspend(() => Effect.andThen(closePlan, Scope.close(scope, Exit.void)))
  }
  await settled(process.go(openPlan), stepper)
  return process
}

type CoreNeeds = Layer.Services<ReturnType<typeof Harness.layer>>

/** Waits for a fiber of a process, moving the process along. */
export const settled = async <A, E>(fiber: Fiber.Fiber<A, E>, stepper: Stepper): Promise<A> => {
  for (let rounds = 0; fiber.pollUnsafe() === undefined; rounds++) {
    if (stepper.run(1000) === 0) await nextTick(rounds)
    if (rounds > 20_000) throw new Error("the program does not get anywhere")
  }
  const exit = fiber.pollUnsafe()!
  if (Exit.isSuccess(exit)) return exit.value
  throw new Error(String(exit), { cause: exit })
}

/** Lets promises, files and sockets have their turn; the longer it takes, the less often it looks. */
export const nextTick = (rounds: number): Promise<void> =>
  new Promise((resolve) => rounds < 200 ? setImmediate(resolve) : setTimeout(resolve, 1))
