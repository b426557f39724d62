/**
 * The tools of a session: what the model is shown, and what a name leads to when it is called.
 *
 * Tools are declared with `effect/ai`'s `Tool` and `Toolkit`; the harness runs them. A layer that adds tools takes them
 * away again when its scope closes. The table that the model sees is made once (see `ModelRequest`) and does not follow.
 */
import { Cause, Context, Effect, Layer, Option, Schema, type Scope } from "effect"
import { Tool, type Toolkit } from "effect/ai"
import type { Disposed } from "../Fence.ts"
import type { Asker, Preview } from "../human/Question.ts"
import type { Projection } from "../journal/Projection.ts"
import type { Session, SessionView, TransactError } from "../journal/Session.ts"
import { SessionInfo } from "../journal/SessionInfo.ts"
import type { NewEvent, SessionId, ToolDefinition } from "../journal/SessionEvent.ts"
import { canonicalJson } from "../model/Canonical.ts"
import type { ToolOutcome } from "./ToolOutcome.ts"
import { type Classify, fromAnnotations, type ToolSafety } from "./ToolSafety.ts"

/** What a running tool can know about its call. */
export interface CallContext {
  readonly session: SessionId
  readonly call: string
  readonly tool: string
  /** How the call was judged; `undefined` while it is being judged. */
  readonly safety: ToolSafety | undefined
  /** The labels of the agents from the root down to the one that calls; `[]` for the root. */
  readonly path: ReadonlyArray<string>
  /** The working folder of the session, if it has one of its own. */
  readonly cwd: string | undefined
  /** The state of the session that calls. */
  readonly state: <S>(projection: Projection<S>) => S
  /** Keeps a fact with the call's result in the journal, for a projection to read. */
  readonly record: (name: string, value: Schema.Json) => void
  /** Keeps a text too long for the model beside the session and returns where, if this program can. */
  readonly keep: (name: string, text: string) => Effect.Effect<string | undefined>
}

/** The call that the current fiber runs for; `undefined` outside a tool. */
export class CurrentCall extends Context.Reference<CallContext | undefined>("@holdfast/core/CurrentCall", {
  defaultValue: () => undefined
}) {}

/** What a tool says about its calls beyond its annotations. Every member is optional and none may change anything. */
export interface ToolTraits<Params = unknown> {
  /** Judges one call by its arguments. */
  readonly classify?: (params: Params, call: CallContext) => ReturnType<Classify>
  /** Shows a person what the call would do. */
  readonly preview?: (params: Params, call: CallContext) => Effect.Effect<Preview, unknown>
  /** One line that names the call: `edit_file src/a.ts`. */
  readonly title?: (params: Params) => string
  /** What a grant for the rest of the session would cover; never wider than what the person was shown. */
  readonly grantKey?: (params: Params, call: CallContext) => string | undefined
  /** What `grantKey` covers, in words, for the button that gives it. */
  readonly grantLabel?: (params: Params) => string
  /** A `read` call that still asks a person. */
  readonly needsApproval?: (params: Params) => boolean
  /** The tool waits for a person or for other agents: the deadline of tools does not hold for it. */
  readonly waits?: boolean
}

/** A tool that the harness can run. */
export interface CatalogTool {
  readonly name: string
  readonly safety: ToolSafety
  readonly idempotent: boolean
  readonly definition: ToolDefinition
  /** `false`: it can be called by those who were granted it, but the model's table does not list it. */
  readonly shown: boolean
  readonly traits: ToolTraits
  /** Checks arguments against the tool's schema; the error says what is wrong and where. */
  readonly decode: (args: unknown) => Effect.Effect<unknown, Schema.SchemaError>
  /**
   * Starts the body with decoded arguments. Calling it is the start: the gate is asked in the same tick. A failure is what the tool
   * declared as its failure.
   */
  readonly run: (params: unknown, call: RunningCall) => Effect.Effect<unknown, unknown>
  /** For signals: tells the harness what the model wants, and decides what the model is told. Takes undecoded arguments. */
  readonly signal?: (args: unknown, call: SignalCall) => Effect.Effect<ToolOutcome, TransactError | Disposed>
  /**
   * For signals that ask: the result that follows from the journal when the call itself was cut off. `undefined`: nobody was
   * asked about this call.
   */
  readonly settled?: (view: SessionView, call: string, end: SignalEnd) => ToolOutcome | undefined
}

/** How a signal was cut off: with its turn, or because the session or a service in it was closed. */
export type SignalEnd = "interrupted" | "closed"

export interface RunningCall {
  readonly id: string
  /** Something to show a person while the tool runs. */
  readonly progress: (value: unknown) => Effect.Effect<void>
}

/** What a signal can do: write facts of its session, and ask. */
export interface SignalCall {
  readonly id: string
  readonly name: string
  readonly session: Session
  readonly asker: Asker
  /** Results of the batch that are still to be logged; a signal that writes puts them before its own events. */
  readonly pending: (view: SessionView) => ReadonlyArray<NewEvent>
}

/** Two tools of one name. Rename one of them, or take the first away before the second comes. */
export class ToolNameTaken extends Schema.TaggedError<ToolNameTaken>()("ToolNameTaken", { name: Schema.String }) {
  override get message() {
    return `There is already a tool named "${this.name}"`
  }
}

/** A tool that no model can be shown: its name or its schema breaks the rules that all providers share. */
export class InvalidTool extends Schema.TaggedError<InvalidTool>()("InvalidTool", {
  name: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `The tool "${this.name}" cannot be offered: ${this.detail}`
  }
}

type Traits<Tools extends Record<string, Tool.Any>> = {
  readonly [Name in keyof Tools]?: ToolTraits<Tool.Parameters<Tools[Name]>>
}

interface Options {
  /** `false`: delegable, not shown (design section 9). Default `true`. */
  readonly shown?: boolean
  /** Replaces tools of the same name for the life of the layer. Default `false`: the same name twice is an error. */
  readonly replace?: boolean
}

/** The registry of tools. `get` and `all` see what is registered now. */
export class ToolCatalog extends Context.Service<ToolCatalog, {
  readonly get: (name: string) => CatalogTool | undefined
  /** All tools, sorted by name. */
  readonly all: () => ReadonlyArray<CatalogTool>
  readonly register: (
    tool: CatalogTool,
    options?: { readonly replace?: boolean }
  ) => Effect.Effect<void, ToolNameTaken | InvalidTool, Scope.Scope>
}>()("@holdfast/core/ToolCatalog") {
  /** An empty catalogue, to which other layers add. */
  static readonly layer: Layer.Layer<ToolCatalog> = Layer.sync(ToolCatalog, () => makeCatalog())

  /**
   * Adds the tools of a toolkit. The handlers are those of `toolkit.toLayer`.
   *
   * @example
   * const Time = Tool.make("time", { success: Schema.String }).annotate(Tool.Readonly, true)
   * const Clock = Toolkit.make(Time)
   * const ClockTools = ToolCatalog.add(Clock).pipe(
   *   Layer.provide(Clock.toLayer({ time: () => Effect.succeed("noon") }))
   * )
   */
  static readonly add = <Tools extends Record<string, Tool.Any>, E = never, R = never>(
    toolkit: Toolkit.Toolkit<Tools>,
    options: Options & { readonly traits?: Traits<Tools> | Effect.Effect<Traits<Tools>, E, R> } = {}
  ): Layer.Layer<
    never,
    ToolNameTaken | InvalidTool | E,
    ToolCatalog | Tool.HandlersFor<Tools> | Exclude<R, Scope.Scope>
  > =>
    Layer.effectDiscard(Effect.gen(function*() {
      const catalog = yield* ToolCatalog
      const handlers = yield* Effect.context<Tool.HandlersFor<Tools>>()
      const given = options.traits ?? {}
      const traits = Effect.isEffect(given)
        ? yield* (given as Effect.Effect<Traits<Tools>, E, R>)
        : given as Traits<Tools>
      for (const tool of Object.values(toolkit.tools)) {
        yield* catalog.register(
          fromTool(tool, {
            shown: options.shown ?? true,
            traits: (traits[tool.name] ?? {}) as ToolTraits,
            run: runnerOf(tool, handlers)
          }),
          options
        )
      }
    }))
}

// The handler is called directly and not through `Toolkit.handle`, which starts it on a later tick: the gate is asked in
// the tick that calls it.
const runnerOf = (tool: Tool.Any, handlers: Context.Context<never>): CatalogTool["run"] => {
  const entry = handlers.mapUnsafe.get(tool.id) as Tool.Handler<string>
  const encode = Schema.encodeUnknownEffect(tool.successSchema as Schema.Codec<unknown, unknown>)
  const encodeFailure = Schema.encodeUnknownEffect(tool.failureSchema as Schema.Codec<unknown, unknown>)
  return (params, call) =>
    (entry.handler(params, { toolCallId: call.id, preliminary: call.progress }) as Effect.Effect<unknown, unknown>)
      .pipe(
        Effect.updateContext((input: Context.Context<never>) => Context.merge(entry.context, input)),
        Effect.matchCauseEffect({
          onSuccess: encode,
          onFailure: (cause) => {
            const failure = Cause.findErrorOption(cause)
            if (Option.isNone(failure)) return Effect.failCause(cause)
            // An error speaks for itself; its encoding would lose a message that is computed.
            return failure.value instanceof Error
              ? Effect.fail(failure.value)
              : Effect.flatMap(
                Effect.catch(encodeFailure(failure.value), () => Effect.succeed(failure.value)),
                Effect.fail
              )
          }
        })
      )
}

/** Makes a catalogue entry from a declared tool and a way to run it. */
const fromTool = (
  tool: Tool.Any,
  options: Pick<CatalogTool, "run" | "shown" | "traits"> & { readonly safety?: ToolSafety }
): CatalogTool => ({
  name: tool.name,
  safety: options.safety ?? fromAnnotations(tool),
  idempotent: Context.get(tool.annotations, Tool.Idempotent),
  definition: {
    name: tool.name,
    description: Tool.getDescription(tool) ?? "",
    parameters: canonicalJson(Tool.getJsonSchema(tool) as Schema.Json)
  },
  shown: options.shown,
  traits: options.traits,
  decode: Schema.decodeUnknownEffect(tool.parametersSchema as Schema.Codec<unknown, unknown>),
  run: options.run
})

/** Who a session asks as. */
export const askerOf = (view: SessionView): Asker => {
  const path: Array<string> = []
  for (let at: SessionView | undefined = view; at !== undefined; at = at.parent) {
    const { depth, title } = at.get(SessionInfo)
    if (depth > 0) path.unshift(title ?? at.id)
  }
  return { session: view.id, path }
}

/** The folder that a session works in: its own, or that of the nearest session above it that has one. */
export const cwdOf = (view: SessionView): string | undefined =>
  view.get(SessionInfo).cwd ?? (view.parent === undefined ? undefined : cwdOf(view.parent))

/** Makes a signal: a call that speaks to the harness and changes nothing in the world. */
export const signalTool = (
  tool: Tool.Any,
  signal: NonNullable<CatalogTool["signal"]>,
  settled?: CatalogTool["settled"]
): CatalogTool => ({
  ...fromTool(tool, { safety: "signal", shown: true, traits: {}, run: () => Effect.void }),
  signal,
  ...(settled === undefined ? {} : { settled })
})

/** Function names that every OpenAI-compatible endpoint accepts (DeepSeek answers 400 to any other). */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/

const makeCatalog = (): ToolCatalog["Service"] => {
  const tools = new Map<string, ReadonlyArray<CatalogTool>>()
  let sorted: ReadonlyArray<CatalogTool> | undefined
  const put = (name: string, stack: ReadonlyArray<CatalogTool>) => {
    sorted = undefined
    if (stack.length === 0) tools.delete(name)
    else tools.set(name, stack)
  }
  return {
    get: (name) => tools.get(name)?.at(-1),
    all: () => sorted ??= [...tools.values()].map((stack) => stack.at(-1)!).sort((a, b) => a.name < b.name ? -1 : 1),
    register: (tool, options) =>
      Effect.suspend((): Effect.Effect<void, ToolNameTaken | InvalidTool, Scope.Scope> => {
        if (!NAME.test(tool.name)) {
          return Effect.fail(
            new InvalidTool({ name: tool.name, detail: "a name has 1 to 64 letters, digits, dashes and underscores" })
          )
        }
        const stack = tools.get(tool.name) ?? []
        if (stack.length > 0 && options?.replace !== true) return Effect.fail(new ToolNameTaken({ name: tool.name }))
        return Effect.acquireRelease(
          Effect.sync(() => put(tool.name, [...stack, tool])),
          () => Effect.sync(() => put(tool.name, (tools.get(tool.name) ?? []).filter((other) => other !== tool)))
        )
      })
  }
}
