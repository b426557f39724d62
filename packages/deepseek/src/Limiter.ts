/**
 * What all requests with one key in this process share: a number of streams at once, and the server's wish to be left alone.
 *
 * When one request is told to slow down, its siblings would each be told the same; so all wait. Transports with the same
 * key and address find the same limiter, whatever layer they come from.
 */
import type { TransportError } from "@holdfast/core"
import { type Clock, Duration, Effect, type Scope, Semaphore } from "effect"
import { createHash } from "node:crypto"

export interface LimiterOptions {
  /** Streams at once. Of several layers with one key, the smallest number counts. */
  readonly concurrency: number
  /** How long all wait after a 429 without `Retry-After`, in milliseconds. */
  readonly cooldown: number
  /** The longest that one reply can make all wait, in milliseconds; the error still tells the whole time. */
  readonly maxCooldown: number
}

/**
 * 8 streams carry a root and its children with some to spare, and are far below what an account is allowed (500 at the
 * time of writing). A minute is the longest pause that is taken on a server's word without asking it again.
 */
export const defaultLimits: LimiterOptions = { concurrency: 8, cooldown: 1000, maxCooldown: 60_000 }

const millis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** The shared state of one key. */
export class Limiter {
  private readonly permits = Semaphore.makeUnsafe(0)
  private readonly members: Array<number> = []
  private openAt = Number.NEGATIVE_INFINITY

  /** Adds a transport with its limit for the life of the scope. */
  join(concurrency: number, last: () => void): Effect.Effect<void, never, Scope.Scope> {
    const resize = Effect.suspend(() => this.permits.resize(Math.min(...this.members)))
    return Effect.acquireRelease(
      Effect.andThen(Effect.sync(() => this.members.push(concurrency)), resize),
      () =>
        Effect.suspend(() => {
          this.members.splice(this.members.indexOf(concurrency), 1)
          if (this.members.length > 0) return resize
          last()
          return Effect.void
        })
    )
  }

  /**
   * Waits for a permit, which comes back with the scope, and for the pause to be over. The permit is held through the
   * pause: nobody else could use it. Interruptible throughout.
   */
  enter(clock: Clock.Clock): Effect.Effect<void, never, Scope.Scope> {
    const pause: Effect.Effect<void> = Effect.suspend(() => {
      const left = this.openAt - millis(clock)
      return left > 0 ? Effect.andThen(Effect.sleep(Duration.millis(left)), pause) : Effect.void
    })
    return Effect.andThen(this.permits.takeScoped(1), pause)
  }

  /** Makes all wait if that is what an error asks for. */
  note(error: TransportError, clock: Clock.Clock, options: LimiterOptions): void {
    if (error.reason !== "RateLimitError" && error.retryAfterMillis === undefined) return
    const wait = Math.min(error.retryAfterMillis ?? options.cooldown, options.maxCooldown)
    this.openAt = Math.max(this.openAt, millis(clock) + wait)
  }
}

const limiters = new Map<string, Limiter>()

/** The limiter of a key at a server, joined for the life of the scope. Paths do not matter: the account is the same. */
export const joinLimiter = Effect.fnUntraced(function*(
  key: string,
  baseURL: string,
  options: LimiterOptions
): Effect.fn.Return<Limiter, never, Scope.Scope> {
  const name = createHash("sha256").update(`${new URL(baseURL).origin}\n${key}`).digest("hex")
  let limiter = limiters.get(name)
  if (limiter === undefined) {
    limiter = new Limiter()
    limiters.set(name, limiter)
  }
  yield* limiter.join(options.concurrency, () => limiters.delete(name))
  return limiter
})
