/**
 * A layer that is closed and built anew while the program around it runs.
 *
 * What a layer of Holdfast adds (tools, sections, commands, gates) is gone when its scope closes, and closing waits for what it is doing.
 * Facts are in the journal, so the next version finds them where the last one left them.
 */
import { type Context, Effect, Exit, Layer, Scope, Semaphore } from "effect"

export interface Reloadable<Out, E, In> {
  /** What is loaded now. */
  readonly current: () => Context.Context<Out> | undefined
  /**
   * Closes what is loaded and builds this version in its place. If that fails or is interrupted, the version before is built again, and
   * the error is the caller's.
   */
  readonly load: (layer: Layer.Layer<Out, E, In>) => Effect.Effect<void, E>
  /** Closes what is loaded. */
  readonly unload: Effect.Effect<void>
}

interface Loaded<Out, E, In> {
  readonly layer: Layer.Layer<Out, E, In>
  readonly context: Context.Context<Out>
  readonly scope: Scope.Closeable
}

/** Makes a place for one layer, which may need anything that is around. The surrounding scope closes what is loaded at the end. */
export const makeReloadable = <Out, E, In>(): Effect.Effect<Reloadable<Out, E, In>, never, In | Scope.Scope> =>
  Effect.gen(function*() {
    const around = yield* Effect.context<In>()
    const outer = yield* Effect.scope
    const oneAtATime = yield* Semaphore.make(1)
    let loaded: Loaded<Out, E, In> | undefined

    const close = Effect.suspend(() => {
      const before = loaded
      loaded = undefined
      return before === undefined ? Effect.void : Scope.close(before.scope, Exit.void)
    })
    const build = (layer: Layer.Layer<Out, E, In>) =>
      Effect.gen(function*() {
        const scope = yield* Scope.fork(outer)
        // The same layer twice would otherwise be the instance that was built first, and that one is closed.
        yield* Layer.buildWithScope(Layer.fresh(layer), scope).pipe(
          Effect.provideContext(around),
          Effect.map((context) => void (loaded = { layer, context, scope })),
          Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
        )
      })
    return {
      current: () => loaded?.context,
      unload: oneAtATime.withPermit(Effect.uninterruptible(close)),
      load: (layer) =>
        oneAtATime.withPermit(Effect.uninterruptibleMask((restore) =>
          Effect.gen(function*() {
            const before = loaded
            // Closed first: two of them would have the same names.
            yield* close
            yield* restore(build(layer)).pipe(
              Effect.onError(() => before === undefined ? Effect.void : Effect.ignore(build(before.layer)))
            )
          })
        ))
    }
  })
