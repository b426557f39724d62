/** What the tests of this package share: a temporary workspace, and calls of its tools as the harness makes them. */
import { type CallContext, CurrentCall, Projection, type SessionEvent, SessionId, ToolCatalog } from "@holdfast/core"
import { Effect, Exit, Layer, type Schema, type Scope } from "effect"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** A folder that goes with the scope, as the canonical path. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => realpath(await mkdtemp(join(tmpdir(), "holdfast-workspace-")))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)

/** Writes files below a folder; keys are paths. */
export const put = (folder: string, files: { readonly [path: string]: string | Uint8Array }): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content)
    }
  })

/** One session: its journal of tool results, and the calls that it makes. */
export interface Caller {
  readonly events: Array<SessionEvent>
  readonly context: (call: string, facts: Map<string, Schema.Json>) => CallContext
  readonly kept: Map<string, string>
}

export const caller = (
  options: { readonly session?: string; readonly cwd?: string; readonly events?: ReadonlyArray<SessionEvent> } = {}
): Caller => {
  const events = [...options.events ?? []]
  const kept = new Map<string, string>()
  return {
    events,
    kept,
    context: (call, facts) => ({
      session: SessionId.make(options.session ?? "s"),
      call,
      tool: "",
      safety: undefined,
      path: [],
      cwd: options.cwd,
      state: (projection) => Projection.fold(projection, events),
      record: (name, value) => void facts.set(name, value),
      keep: (name, text) => Effect.sync(() => (kept.set(name, text), `kept/${name}`))
    })
  }
}

let calls = 0

export interface Ran {
  readonly ok: boolean
  readonly text: string
  readonly tag: string | undefined
  readonly facts: { readonly [name: string]: Schema.Json }
}

/** Runs a tool as the harness would. `journal: false` leaves the result out of the journal (the batch is not over). */
export const call = Effect.fnUntraced(function*(
  from: Caller,
  name: string,
  args: unknown,
  options: { readonly journal?: boolean; readonly id?: string } = {}
) {
  const catalog = yield* ToolCatalog
  const tool = catalog.get(name)
  if (tool === undefined) return yield* Effect.die(`no tool ${name}`)
  const id = options.id ?? `call_${++calls}`
  const facts = new Map<string, Schema.Json>()
  const params = yield* tool.decode(args)
  const context = from.context(id, facts)
  const classify = tool.traits.classify
  const judged = classify === undefined
    ? {}
    : yield* Effect.provideService(classify(params, context), CurrentCall, context)
  const safety = judged.safety ?? tool.safety
  const exit = yield* Effect.exit(
    tool.run(params, { id, progress: () => Effect.void }).pipe(
      Effect.provideService(CurrentCall, { ...context, safety })
    )
  )
  const error = Exit.isFailure(exit) ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error : undefined
  if (Exit.isFailure(exit) && error === undefined) return yield* Effect.failCause(exit.cause as never)
  const ran: Ran = {
    ok: Exit.isSuccess(exit),
    text: Exit.isSuccess(exit) ? String(exit.value) : (error as { readonly message: string }).message,
    tag: Exit.isSuccess(exit) ? undefined : (error as { readonly _tag: string })._tag,
    facts: Object.fromEntries(facts)
  }
  if (options.journal !== false) {
    from.events.push({
      session: SessionId.make("s"),
      seq: from.events.length,
      at: 0,
      type: "tool/result",
      data: { call: id, name, outcome: ran.ok ? "ok" : "error", content: ran.text, facts: ran.facts }
    })
  }
  return ran
})

/** What the tool would show a person. Not run as the call, as in the harness: the call is an argument. */
export const previewOf = Effect.fnUntraced(function*(from: Caller, name: string, args: unknown, id = "preview") {
  const tool = (yield* ToolCatalog).get(name)!
  const params = yield* tool.decode(args)
  return yield* tool.traits.preview!(params, from.context(id, new Map()))
})

/** A catalogue with the tools of the given layers. */
export const tools = <E, R>(...layers: ReadonlyArray<Layer.Layer<never, E, R>>) =>
  Layer.mergeAll(Layer.empty, ...layers).pipe(Layer.provideMerge(ToolCatalog.layer))
