/** Time as the server sees it: cache lags, expiry and latency all go by it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Resolves after so many milliseconds, or at once when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const finish = (): void => {
        clearTimeout(timer)
        signal.removeEventListener("abort", finish)
        resolve()
      }
      const timer = setTimeout(finish, Math.max(0, ms))
      signal.addEventListener("abort", finish)
    })
}

/** A clock that moves only when told to. */
export interface ManualClock extends Clock {
  /** Moves time and wakes who waited that long. */
  readonly advance: (ms: number) => void
}

/**
 * A clock for tests of lags and expiry without waiting. Starts at 2026-11-01T00:00:00Z unless told otherwise.
 *
 * @example
 * const clock = manualClock()
 * clock.advance(6 * 3_600_000)
 */
export const manualClock = (start = Date.UTC(2026, 10, 1)): ManualClock => {
  let now = start
  const waiting = new Map<() => void, number>()
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (ms <= 0 || signal.aborted) return resolve()
        const finish = (): void => {
          waiting.delete(finish)
          signal.removeEventListener("abort", finish)
          resolve()
        }
        waiting.set(finish, now + ms)
        signal.addEventListener("abort", finish)
      }),
    advance: (ms) => {
      now += ms
      for (const [finish, at] of [...waiting].sort((a, b) => a[1] - b[1])) {
        if (at <= now) finish()
      }
    }
  }
}
