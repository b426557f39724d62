/**
 * The tools of a session: what the model is shown, and what a name leads to when it is called.
 *
 * Tools are declared with `effect/ai`'s `Tool` and `Toolkit`; the harness runs them. A layer that adds tools takes them
 * away again when its scope closes. The table that the model sees is made once (see `ModelRequest`) and does not follow.
 */
import { Context, Effect, Layer, Schema, type Scope, Stream } from "effect"
import { Tool, type Toolkit } from "effect/ai"
import type { Preview } from "../human/Question.ts"
import type { Projection } from "../journal/Projection.ts"
import type { SessionId, ToolDefinition } from "../journal/SessionEvent.ts"
import { canonicalJson } from "../model/Canonical.ts"
import { type Classify, fromAnnotations, type ToolSafety } from "./ToolSafety.ts"

/** What a running tool can know about its call. */
export interface CallContext {
  readonly session: SessionId
  readonly call: string
  readonly tool: string
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
  readonly classify?: (params: Params) => ReturnType<Classify>
  /** Shows a person what the call would do. */
  readonly preview?: (params: Params, call: CallContext) => Effect.Effect<Preview, unknown>
  /** One line that names the call: `edit_file src/a.ts`. */
  readonly title?: (params: Params) => string
  /** What a grant for the rest of the session would cover; never wider than what the person was shown. */
  readonly grantKey?: (params: Params) => string | undefined
  /** What `grantKey` covers, in words, for the button that gives it. */
  readonly grantLabel?: (params: Params) => string
  /** A `read` call that still asks a person. */
  readonly needsApproval?: (params: Params) => boolean
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
  /** Runs the call. `args` are the encoded arguments. A failure is what the tool declared as its failure. */
  readonly run: (args: unknown, call: string) => Effect.Effect<unknown, unknown>
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
      const handlers = yield* toolkit
      const given = options.traits ?? {}
      const traits = Effect.isEffect(given) ? yield* (given as Effect.Effect<Traits<Tools>, E, R>) : given as Traits<Tools>
      for (const tool of Object.values(toolkit.tools)) {
        yield* catalog.register(
          fromTool(tool, {
            shown: options.shown ?? true,
            traits: (traits[tool.name] ?? {}) as ToolTraits,
            run: (args, call) => lastResult(handlers.handle(tool.name, args as never, call))
          }),
          options
        )
      }
    }))
}

// A handler's services are those of its layer; the stream that Toolkit gives back asks for nothing more at this point.
const lastResult = (
  started: Effect.Effect<Stream.Stream<Tool.HandlerResult<Tool.Any>, unknown, unknown>, unknown, unknown>
): Effect.Effect<unknown, unknown> =>
  Effect.flatMap(started as Effect.Effect<Stream.Stream<Tool.HandlerResult<Tool.Any>, unknown>, unknown>, (results) =>
    Stream.runFold(
      results,
      (): Tool.HandlerResult<Tool.Any> | undefined => undefined,
      (last, result) => result.preliminary ? last : result
    )).pipe(Effect.flatMap((result) => {
      if (result === undefined) return Effect.void
      return result.isFailure ? Effect.fail(result.encodedResult) : Effect.succeed(result.encodedResult)
    }))

/** Makes a catalogue entry from a declared tool and a way to run it. */
export const fromTool = (
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
    all: () =>
      sorted ??= [...tools.values()].map((stack) => stack.at(-1)!).sort((a, b) => a.name < b.name ? -1 : 1),
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
