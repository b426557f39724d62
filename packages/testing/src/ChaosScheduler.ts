/**
 * A scheduler that picks the next step of any fiber at random from a seed.
 *
 * Effect's own scheduler runs fibers in one order, so most interleavings are never seen by a test. This one explores
 * them, and the same seed gives the same interleaving again: a failure found once can be looked at for as long as it takes.
 */
import { Cause, Context, Effect, Exit, Scheduler } from "effect"

/** Numbers in [0, 1) that follow from a seed (mulberry32). */
const randomNumbers = (seed: number): () => number => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Choices that follow from a seed. */
export interface Dice {
  readonly next: () => number
  /** A whole number from 0 to `below - 1`. */
  readonly int: (below: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(items: ReadonlyArray<A>) => A
}

const dice = (seed: number): Dice => {
  const next = randomNumbers(seed)
  const int = (below: number) => Math.floor(next() * below)
  return { next, int, chance: (probability) => next() < probability, pick: (items) => items[int(items.length)]! }
}

export interface ChaosOptions {
  /** How likely a fiber is to be put back after each of its operations (default 0.25). */
  readonly yieldProbability?: number
  /** Milliseconds of real time after which a run counts as hanging (default: never; `explore`: 10,000). */
  readonly patience?: number
}

// Steps between two visits to the event loop: enough to be fast, few enough that promises and timers get their turn.
const STEPS_AT_ONCE = 32

/** The scheduler of one seed. */
const make = (seed: number, options: ChaosOptions = {}): Scheduler.Scheduler => {
  const random = randomNumbers(seed)
  const probability = options.yieldProbability ?? 0.25
  const tasks: Array<() => void> = []
  let scheduled = false
  const step = () => {
    const index = Math.floor(random() * tasks.length)
    const task = tasks[index]!
    const last = tasks.pop()!
    if (index < tasks.length) tasks[index] = last
    task()
  }
  const wake = () => {
    if (scheduled || tasks.length === 0) return
    scheduled = true
    setImmediate(() => {
      for (let i = 0; i < STEPS_AT_ONCE && tasks.length > 0; i++) step()
      scheduled = false
      wake()
    })
  }
  const dispatcher: Scheduler.SchedulerDispatcher = {
    scheduleTask: (task) => {
      tasks.push(task)
      wake()
    },
    flush: () => {
      while (tasks.length > 0) step()
    }
  }
  return {
    executionMode: "async",
    shouldYield: () => random() < probability,
    makeDispatcher: () => dispatcher
  }
}

/** Runs `self` under the interleaving that `seed` chooses. */
const run = <A, E, R>(self: Effect.Effect<A, E, R>, seed: number, options?: ChaosOptions): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback<A, E>((resume) => {
      const scheduler = make(seed, options)
      const fiber = Effect.runForkWith(Context.add(context, Scheduler.Scheduler, scheduler))(self)
      // What hangs may not even react to an interruption, so nobody waits for that.
      const { patience } = options ?? {}
      const timer = patience === undefined ? undefined : setTimeout(() => {
        resume(Effect.die(new Error(`nothing came of it within ${patience} ms`)))
        fiber.interruptUnsafe()
      }, patience)
      fiber.addObserver((exit) => {
        clearTimeout(timer)
        resume(exit)
      })
      return Effect.sync(() => fiber.interruptUnsafe())
    })
  )

export interface ExploreOptions extends ChaosOptions {
  /** How many seeds to try. */
  readonly runs: number
  /** The first seed (default 1); the environment variable `HOLDFAST_SEED` names one seed to run alone. */
  readonly from?: number
}

/**
 * Runs a property under many interleavings, one seed after the other. The first failure ends it with an error that names the
 * seed.
 *
 * @example
 * it.live("no seat is sold twice", () => ChaosScheduler.explore({ runs: 200 }, (dice) => sellSeats(dice)))
 */
const explore = <E, R>(
  options: ExploreOptions,
  property: (dice: Dice, seed: number) => Effect.Effect<void, E, R>
): Effect.Effect<void, never, R> =>
  Effect.gen(function*() {
    const alone = process.env["HOLDFAST_SEED"]
    const first = alone === undefined ? options.from ?? 1 : Number(alone)
    const runs = alone === undefined ? options.runs : 1
    for (let seed = first; seed < first + runs; seed++) {
      const exit = yield* Effect.exit(
        run(Effect.suspend(() => property(dice(seed), seed)), seed, { patience: 10_000, ...options })
      )
      if (Exit.isFailure(exit)) {
        const cause = Cause.squash(exit.cause)
        const detail = cause instanceof Error ? cause.stack ?? cause.message : String(cause)
        return yield* Effect.die(new Error(`HOLDFAST_SEED=${seed} fails: ${detail}`, { cause }))
      }
    }
  })

/** Makes and runs seeded interleavings. */
export const ChaosScheduler = { make, run, explore, dice }
