/**
 * The point in a scope's life after which none of a service's calls can have an effect.
 *
 * Every scoped service of Holdfast goes through a fence. Closing the scope refuses new calls, interrupts those that
 * wait, lets those that write run to their end, and returns when nothing runs any more. Guarded or committed work must
 * therefore not close the scope that it belongs to.
 */
import { Deferred, Effect, Latch, Schema, type Scope } from "effect"

/** The service was closed. What was not yet committed did not happen; open the service again and repeat the call. */
export class Disposed extends Schema.TaggedError<Disposed>()("Disposed", { service: Schema.String }) {
  override get message() {
    return `${this.service} is closed`
  }
}

export interface Fence {
  /** For waits: interrupted when the scope closes, and then fails with `Disposed`. */
  readonly guard: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Disposed, R>
  /** For writes: once begun it runs to its end, and the close waits for it. */
  readonly commit: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Disposed, R>
  /** Fails with `Disposed` once the close has begun. */
  readonly check: Effect.Effect<void, Disposed>
  /** The same check for code that runs in one synchronous step. */
  readonly isOpen: () => boolean
}

/**
 * Opens a fence in the surrounding scope. Make it the last thing of a layer: finalizers run in reverse order, so it is
 * the first to close.
 */
const make = Effect.fnUntraced(function*(service: string): Effect.fn.Return<Fence, never, Scope.Scope> {
  const disposed = new Disposed({ service })
  const closed = yield* Deferred.make<never, Disposed>()
  const idle = yield* Latch.make(true)
  let open = true
  let running = 0

  // The check and the entry are one synchronous step: a fiber that yields between them could begin after the close.
  const enter = Effect.suspend(() => {
    if (!open) return Effect.fail(disposed)
    if (running++ === 0) idle.closeUnsafe()
    return Effect.void
  })
  const leave = () =>
    Effect.sync(() => {
      if (--running === 0) idle.openUnsafe()
    })

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      open = false
      return Effect.andThen(Deferred.fail(closed, disposed), idle.await)
    })
  )
  return {
    isOpen: () => open,
    check: Effect.suspend(() => open ? Effect.void : Effect.fail(disposed)),
    guard: (self) => Effect.acquireUseRelease(enter, () => Effect.raceFirst(Deferred.await(closed), self), leave),
    commit: (self) => Effect.uninterruptible(Effect.acquireUseRelease(enter, () => self, leave))
  }
})

/** Makes fences. */
export const Fence = { make }
