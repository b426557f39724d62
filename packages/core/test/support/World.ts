/** A whole harness in memory with tools that record what they did. */
import { Effect, Layer, Schema, type Scope, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  Agent,
  type AgentHandle,
  Harness,
  type HarnessOptions,
  type Interaction,
  type InvalidTool,
  Journal,
  type NewEvent,
  PlanMode,
  type Registries,
  type Session,
  type SessionEvent,
  SessionId,
  Sessions,
  ToolCatalog,
  type ToolNameTaken
} from "../../src/index.ts"
import { type Person, person } from "./Person.ts"
import { type Script, type ScriptedModel, scriptedModel } from "./ScriptedModel.ts"

const Note = Schema.Struct({ note: Schema.optionalKey(Schema.String) })

export const Recorder = Toolkit.make(
  Tool.make("look", { parameters: Note, success: Schema.String }).annotate(Tool.Readonly, true),
  Tool.make("change", { parameters: Note, success: Schema.String, failure: Schema.String }).annotate(
    Tool.Destructive,
    false
  ),
  Tool.make("wreck", { parameters: Note, success: Schema.String }).annotate(Tool.Destructive, true),
  Tool.make("plain", { parameters: Note, success: Schema.String })
)

export interface WorldOptions extends HarnessOptions {
  readonly script: Script
  readonly person?: Person
  readonly interaction?: Layer.Layer<Interaction>
  readonly journal?: Layer.Layer<Journal>
  readonly body?: (tool: string, note: string | undefined) => Effect.Effect<string, string>
  /** Called in the tick in which a tool's body starts. */
  readonly onStart?: (tool: string, note: string | undefined) => void
  readonly extra?: Layer.Layer<never, ToolNameTaken | InvalidTool, Registries> | undefined
  /** Limits, policies and placements that the harness reads from references. */
  readonly settings?: Layer.Layer<never>
}

export interface World {
  readonly model: ScriptedModel
  readonly person: Person
  readonly ran: Array<string>
  readonly layer: Layer.Layer<
    Layer.Success<ReturnType<typeof Harness.layer>> | Journal,
    Layer.Error<ReturnType<typeof Harness.layer>>
  >
}

export const world = (options: WorldOptions): World => {
  const model = scriptedModel(options.script)
  const someone = options.person ?? person()
  const ran: Array<string> = []
  const handler = (tool: string) => ({ note }: { readonly note?: string }) => {
    // The call of the handler is the start of the body, whatever the effect does later.
    ran.push(note === undefined ? tool : `${tool}:${note}`)
    options.onStart?.(tool, note)
    return Effect.suspend(() => options.body?.(tool, note) ?? Effect.succeed(`${tool} done`))
  }
  const never = (tool: string) => (args: { readonly note?: string }) => Effect.orDie(handler(tool)(args))
  const tools = ToolCatalog.add(Recorder).pipe(Layer.provide(Recorder.toLayer({
    look: never("look"),
    change: handler("change"),
    wreck: never("wreck"),
    plain: never("plain")
  })))
  const journal = options.journal ?? Journal.layerMemory
  return {
    model,
    person: someone,
    ran,
    layer: Layer.mergeAll(tools, options.extra ?? Layer.empty).pipe(
      Layer.provideMerge(Harness.layer({ enforcement: "runtime", ...options })),
      Layer.provide(Layer.mergeAll(model.layer, options.interaction ?? someone.layer)),
      Layer.provide(options.settings ?? Layer.empty),
      Layer.provideMerge(journal)
    )
  }
}

/** A new session with an agent at work on it. */
export const start = (id = "s"): Effect.Effect<AgentHandle, unknown, Sessions | Agent | Scope.Scope> =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const session = yield* sessions.create({ id: SessionId.make(id) })
    return yield* (yield* Agent).open(session)
  })

export const reopen = (
  id = "s"
): Effect.Effect<AgentHandle, unknown, Sessions | Agent | Scope.Scope> =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const session = yield* sessions.open(SessionId.make(id))
    return yield* (yield* Agent).open(session)
  })

export const log = (session: Session): Effect.Effect<ReadonlyArray<SessionEvent>, unknown, Sessions> =>
  Effect.flatMap(Sessions, (sessions) => Stream.runCollect(sessions.read(session.id)))

export const types = (events: ReadonlyArray<NewEvent>): ReadonlyArray<string> => events.map((event) => event.type)

export const ofType = <K extends NewEvent["type"]>(events: ReadonlyArray<SessionEvent>, type: K) =>
  events.filter((event): event is Extract<SessionEvent, { readonly type: K }> => event.type === type)

export const results = (events: ReadonlyArray<SessionEvent>) => ofType(events, "tool/result").map((event) => event.data)

export const select = (agent: AgentHandle, active: boolean) =>
  Effect.flatMap(PlanMode, (plan) => plan.set(agent.session, active))
