/**
 * Tools that do nothing but tell that they started, and a wrapper that tells the same of any tool.
 *
 * A start is seen in the tick in which the harness calls the body, together with how much of every journal was known then.
 */
import {
  CurrentCall,
  type InvalidTool,
  type SessionId,
  type Sessions,
  type SessionView,
  ToolCatalog,
  ToolHooks,
  type ToolNameTaken
} from "@holdfast/core"
import { Deferred, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { SLOW, STAMPED } from "../model/Vocabulary.ts"

const Note = Schema.Struct({ note: Schema.optionalKey(Schema.String) })

/** One tool of each class: reads, changes, destroys, and says nothing about itself. */
const Tools = Toolkit.make(
  Tool.make("look", { parameters: Note, success: Schema.String }).annotate(Tool.Readonly, true),
  Tool.make("change", { parameters: Note, success: Schema.String }).annotate(Tool.Destructive, false),
  Tool.make("wreck", { parameters: Note, success: Schema.String }).annotate(Tool.Destructive, true),
  Tool.make("plain", { parameters: Note, success: Schema.String })
)

/** A body that waits for its end. */
export interface Body {
  readonly session: SessionId
  readonly call: string
  readonly end: Deferred.Deferred<void>
}

/** How many events of a session, and of those above it, were known at a moment. */
export type Known = ReadonlyMap<string, number>

export interface StartSeen {
  session: SessionId | undefined
  call: string
  readonly tool: string
  readonly known: ReadonlyMap<string, Known>
}

export interface Workshop {
  readonly layer: Layer.Layer<never, ToolNameTaken | InvalidTool, ToolCatalog>
  /** Wraps every tool that the catalogue holds when the layer is built. */
  readonly watched: Layer.Layer<never, ToolNameTaken | InvalidTool, ToolCatalog>
  readonly bodies: () => ReadonlyArray<Body>
  /** Bodies that run, those that wait for their end among them. */
  readonly running: () => number
  readonly finish: (body: Body) => void
  readonly starts: ReadonlyArray<StartSeen>
}

/** How much of the journals is known: of each session, and of the sessions above it as it sees them. */
export const knownNow = (
  ids: ReadonlyArray<SessionId>,
  live: Sessions["Service"]["live"]
): ReadonlyMap<string, Known> =>
  new Map(ids.flatMap((id) => {
    const session = live(id)
    if (session === undefined) return []
    const chain = new Map<string, number>()
    for (let at: SessionView | undefined = session.view(); at !== undefined; at = at.parent) chain.set(at.id, at.length)
    return [[id, chain] as const]
  }))

export const makeWorkshop = (known: () => ReadonlyMap<string, Known>): Workshop => {
  const bodies = new Set<Body>()
  const starts: Array<StartSeen> = []
  let running = 0
  const body = (name: string) => ({ note }: typeof Note.Type) =>
    note === SLOW
      ? Effect.flatMap(CurrentCall, (context) =>
        Effect.acquireUseRelease(
          Effect.sync((): Body => {
            const item: Body = {
              session: context?.session ?? ("nowhere" as SessionId),
              call: context?.call ?? "",
              end: Deferred.makeUnsafe<void>()
            }
            bodies.add(item)
            return item
          }),
          (item) => Effect.as(Deferred.await(item.end), `${name} done`),
          (item) => Effect.sync(() => void bodies.delete(item))
        ))
      : Effect.as(Effect.yieldNow, `${name} done`)
  const handlers = Tools.toLayer({
    look: body("look"),
    change: body("change"),
    wreck: body("wreck"),
    plain: body("plain")
  })
  const traits = { change: { grantKey: () => "change", grantLabel: () => "change" } }
  return {
    starts,
    bodies: () => [...bodies],
    running: () => running,
    finish: (item) => {
      bodies.delete(item)
      Deferred.doneUnsafe(item.end, Effect.void)
    },
    layer: ToolCatalog.add(Tools, { traits }).pipe(Layer.provide(handlers)),
    watched: Layer.effectDiscard(Effect.gen(function*() {
      const catalog = yield* ToolCatalog
      for (const tool of catalog.all()) {
        if (tool.signal !== undefined) continue
        yield* catalog.register({
          ...tool,
          run: (params, call) => {
            const start: StartSeen = { session: undefined, call: call.id, tool: tool.name, known: known() }
            starts.push(start)
            running++
            const began = tool.run(params, call)
            return Effect.andThen(
              Effect.map(CurrentCall, (context) => void (start.session = context?.session)),
              began
            ).pipe(Effect.ensuring(Effect.sync(() => void running--)))
          }
        }, { replace: true })
      }
    }))
  }
}

/** A hook that makes other arguments out of the stamped call in each process. */
export const stampHook = (process: number): Layer.Layer<never, never, ToolHooks> =>
  ToolHooks.add({
    name: "stamp",
    before: (call) =>
      Effect.succeed(
        JSON.stringify(call.arguments).includes(STAMPED) ? { arguments: { note: `process ${process}` } } : undefined
      )
  })
