/**
 * A running program whose plan-mode layer and tools layer are closed and built anew while plan mode is on.
 *
 * The gate, the agent and the journal stay. They know plan mode by its facts only, so the gate stays closed without the layer,
 * and a new one finds that it is active.
 */
import {
  Agent,
  type AgentHandle,
  Approval,
  Attention,
  Boundaries,
  Commands,
  foldPlanMode,
  Interaction,
  Journal,
  PlanGate,
  PlanMode,
  PromptSections,
  type SessionEvent,
  SessionId,
  Sessions,
  ToolCatalog,
  ToolGates,
  ToolHooks,
  ToolRunner
} from "@holdfast/core"
import { DeepSeek } from "@holdfast/deepseek"
import { DeepSeekLocal, Scenario } from "@holdfast/deepseek-local"
import { Effect, Layer, Redacted, Stream } from "effect"
import { notesTools } from "./Notes.ts"
import { makeReloadable } from "./Reloadable.ts"

const request = "Write the note."

/** The stand-in's model: it writes when it is told to, and says what came of it. */
const scenario: Scenario.Scenario = Scenario.ignoring(
  (_, text) => text.startsWith("# Planning") || text.startsWith("The user "),
  Scenario.firstMatch(
    Scenario.when(({ conversation }) => conversation.step === 0, Scenario.call("write_note", { text: "hello" })),
    Scenario.when(({ conversation }) => conversation.resultContains("Written"), Scenario.text("The note is written.")),
    Scenario.when(() => true, Scenario.text("I was not allowed to write it."))
  )
)

const registries = Layer.mergeAll(
  ToolCatalog.layer,
  ToolGates.layer,
  ToolHooks.layer,
  PromptSections.layer,
  Boundaries.layer,
  Commands.layer
)

/** Everything that stays: `Harness.layer` without plan mode itself. */
const staying = Layer.mergeAll(Agent.layer, Sessions.layer, PlanGate.layer()).pipe(
  Layer.provideMerge(ToolRunner.layer),
  Layer.provideMerge(Approval.layer({ policy: () => "allow" })),
  Layer.provideMerge(Attention.layer()),
  Layer.provideMerge(registries)
)

const model = Layer.unwrap(
  Effect.map(DeepSeekLocal, ({ url }) => DeepSeek.layer({ apiKey: Redacted.make("stand-in"), baseURL: url }))
)

const outside = Layer.mergeAll(Journal.layerMemory, Interaction.layerNone, model).pipe(
  Layer.provideMerge(DeepSeekLocal.layer({ scenario }))
)

/** The first line of the guidance that the last request carried, or why there is none. */
const guidanceOf = (events: ReadonlyArray<SessionEvent>): string => {
  const open = events.findLast((event) => event.type === "step/open")
  const tail = open?.type === "step/open" ? open.data.tail : null
  return tail === null ? "no guidance" : `guidance "${tail.split("\n", 1)[0]?.replace("# ", "")}"`
}

export interface Told {
  readonly events: ReadonlyArray<SessionEvent>
  readonly notes: ReadonlyArray<string>
  /** The bodies of the requests. */
  readonly requests: ReadonlyArray<string>
}

/** Tells the story line by line. */
export const story = (log: (line: string) => void): Effect.Effect<Told, unknown> =>
  Effect.gen(function*() {
    const notes: Array<string> = []
    const tools = yield* makeReloadable<never, unknown, ToolCatalog>()
    const planMode = yield* makeReloadable<
      PlanMode,
      unknown,
      Attention | Boundaries | Commands | PromptSections | ToolCatalog
    >()
    const sessions = yield* Sessions
    const session = yield* sessions.create({ id: SessionId.make("hot-reload") })
    const agent: AgentHandle = yield* (yield* Agent).open(session)
    const events = Effect.map(Stream.runCollect(sessions.read(session.id)), (all): ReadonlyArray<SessionEvent> => all)

    const command = (line: string) =>
      agent.command(line).pipe(
        Effect.catchTag("UnknownCommand", (error) => Effect.succeed(error.message)),
        Effect.map((reply) => log(`  ${line} → ${reply ?? ""}`))
      )
    const ask = Effect.gen(function*() {
      yield* agent.prompt(request)
      const all = yield* events
      const result = all.findLast((event) => event.type === "tool/result")
      const outcome = result?.type === "tool/result"
        ? `${result.data.outcome}${result.data.code === undefined ? "" : ` [${result.data.code}]`}`
        : ""
      log(
        `  "${request}" with ${guidanceOf(all)} → write_note ${outcome}; plan mode is ${
          foldPlanMode(all).active ? "on" : "off"
        }`
      )
    })

    log("Tools and plan mode are loaded.")
    yield* tools.load(notesTools(notes, (text) => text))
    yield* planMode.load(PlanMode.layer({ section: "# Planning, first edition\n\nLook, then submit a plan." }))
    yield* command("/plan")
    yield* ask

    log("The plan-mode layer is closed. The gate is not.")
    yield* planMode.unload
    yield* command("/plan off")
    yield* ask

    log("It is built again, with another guidance: plan mode is still on, and its command is back.")
    yield* planMode.load(PlanMode.layer({ section: "# Planning, second edition\n\nLook twice, then submit a plan." }))
    yield* ask

    log("A version with a mistake in it does not load, and the one before stays.")
    const error = yield* Effect.flip(planMode.load(PlanMode.layer({ section: " " })))
    log(`  ${error instanceof Error ? error.message : String(error)}`)
    yield* ask

    log("The tools are replaced as well: what a call does is judged anew, and it is still refused.")
    yield* tools.load(notesTools(notes, (text) => text.toUpperCase()))
    yield* ask

    log("Leaving opens the gate.")
    yield* command("/plan off")
    yield* ask
    log(`  notes: ${JSON.stringify(notes)}`)

    const { requests } = yield* DeepSeekLocal
    return { events: yield* events, notes, requests: requests.map(({ body }) => Buffer.from(body).toString()) }
  }).pipe(Effect.scoped, Effect.provide(staying.pipe(Layer.provideMerge(outside))))
