/**
 * A scheduler that moves only when it is told to, and picks the next step of any fiber at random from a seed; and a clock that
 * stands still until it is told that time passes.
 *
 * With both, one thread decides exactly how far a program gets between two things that happen to it.
 */
import { type Clock, Effect, type Scheduler } from "effect"
import { ChaosScheduler } from "../../ChaosScheduler.ts"

export interface Stepper {
  readonly scheduler: Scheduler.Scheduler
  /** Makes at most so many steps and returns how many there were to make. */
  readonly run: (steps: number) => number
  /** Whether nothing can move without being woken from outside. */
  readonly isStill: () => boolean
}

const make = (seed: number, yieldProbability = 0.25): Stepper => {
  const dice = ChaosScheduler.dice(seed)
  const tasks: Array<() => void> = []
  const step = () => {
    const index = dice.int(tasks.length)
    const task = tasks[index]!
    const last = tasks.pop()!
    if (index < tasks.length) tasks[index] = last
    task()
  }
  const run = (steps: number): number => {
    let made = 0
    while (made < steps && tasks.length > 0) {
      step()
      made++
    }
    return made
  }
  const dispatcher: Scheduler.SchedulerDispatcher = {
    scheduleTask: (task) => void tasks.push(task),
    flush: () => void run(Number.MAX_SAFE_INTEGER)
  }
  return {
    scheduler: {
      executionMode: "async",
      shouldYield: () => dice.chance(yieldProbability),
      makeDispatcher: () => dispatcher
    },
    run,
    isStill: () => tasks.length === 0
  }
}

/** Makes schedulers that are driven by hand. */
export const Stepper = { make }

export interface StillClock {
  readonly clock: Clock.Clock
  /** How many fibers sleep. */
  readonly sleepers: () => number
  /** An hour passes. */
  readonly pass: () => void
}

const HOUR = 3_600_000

/** A clock for one process. All waits end together when time passes: none of them is longer than an hour. */
export const stillClock = (): StillClock => {
  const sleeping = new Set<() => void>()
  let now = 1_600_000_000_000
  const nanos = () => BigInt(now) * 1_000_000n
  const sleep = (): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const wake = () => {
        sleeping.delete(wake)
        resume(Effect.void)
      }
      sleeping.add(wake)
      return Effect.sync(() => void sleeping.delete(wake))
    })
  return {
    sleepers: () => sleeping.size,
    pass: () => {
      now += HOUR
      for (const wake of [...sleeping]) wake()
    },
    clock: {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep
    }
  }
}
