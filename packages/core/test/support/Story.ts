/** How a test tells what happens: a session with an agent, a process that dies, a moment to wait for. */
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import {
  Agent,
  type AgentHandle,
  type EventData,
  type ModelRequest,
  PlanMode,
  SessionId,
  Sessions
} from "../../src/index.ts"
import { PlanProjection } from "../../src/index.ts"
import type { Storage } from "./Storage.ts"
import { reopen, start, type World } from "./World.ts"

export type Services = Layer.Success<World["layer"]>

/** The guidance that the tests give plan mode. */
export const GUIDANCE = "GUIDANCE: you are planning"

/** Plays a story in a world of its own, on a new session. */
export const play = <A, E>(
  w: World,
  story: (agent: AgentHandle) => Effect.Effect<A, E, Services | Scope.Scope>
): Effect.Effect<A, unknown> => Effect.flatMap(start(), story).pipe(Effect.scoped, Effect.provide(w.layer))

/** The same on a session that is already stored. */
export const playOn = <A, E>(
  w: World,
  story: (agent: AgentHandle) => Effect.Effect<A, E, Services | Scope.Scope>
): Effect.Effect<A, unknown> => Effect.flatMap(reopen(), story).pipe(Effect.scoped, Effect.provide(w.layer))

/** Plays a story in a process that dies in the middle of it, when its storage does. */
export const playUntilDeath = <A, E>(
  w: World,
  disk: Storage,
  story: (agent: AgentHandle) => Effect.Effect<A, E, Services | Scope.Scope>,
  opening: Effect.Effect<AgentHandle, unknown, Sessions | Agent | Scope.Scope> = start()
): Effect.Effect<void> =>
  Effect.gen(function*() {
    // Nobody ever closes this scope: a dead process runs no finalizers.
    const scope = yield* Scope.make()
    const life = Effect.gen(function*() {
      const context = yield* Layer.buildWithScope(w.layer, scope)
      return yield* Effect.flatMap(opening, story).pipe(Scope.provide(scope), Effect.provideContext(context))
    })
    const fiber = yield* Effect.forkDetach(life)
    yield* Effect.raceFirst(
      disk.dead,
      Effect.flatMap(Fiber.await(fiber), (exit) =>
        Effect.die(
          new Error(`the story ended before the process died: ${Exit.isSuccess(exit) ? "it was over" : exit}`)
        ))
    )
  })

/** Waits for something that another fiber brings about. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => condition() ? Effect.void : Effect.andThen(Effect.yieldNow, until(condition)))

/** A child session with an agent of its own, as delegation would make it. */
export const startChild = (
  parent: AgentHandle,
  id: string,
  depth = 1
): Effect.Effect<AgentHandle, unknown, Sessions | Agent | Scope.Scope> =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const session = yield* sessions.create({
      id: SessionId.make(id),
      title: id,
      depth,
      parent: { session: parent.session.id }
    })
    return yield* (yield* Agent).open(session)
  })

/** Plan mode as the service tells it. */
export const plan = (agent: AgentHandle) => Effect.map(PlanMode, (mode) => mode.get(agent.session))

/** Whether plan mode is in force in the session's fold. */
export const planning = (agent: AgentHandle): boolean => agent.session.view().get(PlanProjection).state.active

export const isGuided = (request: ModelRequest): boolean =>
  request.tail?.includes(GUIDANCE) === true || request.header.system.includes(GUIDANCE)

/** Plan mode's notices in the history of a request. */
export const noticesIn = (request: ModelRequest): ReadonlyArray<string> =>
  request.messages.flatMap((message) =>
    message.role === "user" && message.source.kind === "plugin" && message.source.plugin === "plan-mode"
      ? [message.text]
      : []
  )

export const codes = (results: ReadonlyArray<EventData<"tool/result">>) =>
  results.map((result) => result.code ?? result.outcome)

/** The calls of the usual batches. */
export const enter = ["enter_plan_mode", { reason: "several files" }] as const
export const submit = (plan = "# Plan\n\nDo it.") => ["exit_plan_mode", { plan }] as const
export const call = (tool: string, note?: string) => [tool, note === undefined ? {} : { note }] as const

/** Tools run without asking: for tests of what stands before approval. */
export const allowAll = { approval: { policy: () => "allow" as const } }
