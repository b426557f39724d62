/**
 * Whether a failed attempt is made again, and when.
 *
 * Retries belong here and not to the vendor's client, because each one is a boundary: a selection that was made in the meantime comes
 * into force with it. Defaults: 5 attempts, 500 ms doubled up to 30 s, 20 % jitter, a server's own wish honoured up to
 * 2 minutes (DeepSeek Harness waits 0.5 to 10 s over 5 attempts).
 */
import { Context, Duration, Layer } from "effect"
import type { TransportError } from "./ModelTransport.ts"

export interface RetryOptions {
  /** Attempts for one step, the first included. */
  readonly attempts: number
  readonly base: Duration.Input
  readonly max: Duration.Input
  /** The longest wait that a server may ask for; one that asks for more ends the turn. */
  readonly maxRetryAfter: Duration.Input
  /** The part of a delay that is random, 0 to 1. */
  readonly jitter: number
}

export const retryDefaults: RetryOptions = {
  attempts: 5,
  base: "500 millis",
  max: "30 seconds",
  maxRetryAfter: "2 minutes",
  jitter: 0.2
}

/** The wait before the next attempt, or `undefined` when there is none. `attempt` counts from 1; `random` is in [0, 1). */
export const retryDelay = (
  options: RetryOptions,
  error: Pick<TransportError, "retryable" | "retryAfterMillis">,
  attempt: number,
  random: number
): Duration.Duration | undefined => {
  if (!error.retryable || attempt >= options.attempts) return undefined
  const asked = error.retryAfterMillis ?? 0
  if (asked > Duration.toMillis(options.maxRetryAfter)) return undefined
  const backoff = Math.min(Duration.toMillis(options.max), Duration.toMillis(options.base) * 2 ** (attempt - 1))
  const jittered = backoff * (1 - options.jitter + 2 * options.jitter * random)
  // Jitter is added to what a server asked for, never taken from it: many clients must not come back at one moment.
  return Duration.millis(Math.ceil(Math.max(jittered, asked === 0 ? 0 : asked + backoff * options.jitter * random)))
}

export class RetryPolicy extends Context.Reference<RetryOptions>("@holdfast/core/RetryPolicy", {
  defaultValue: () => retryDefaults
}) {
  static readonly layer = (options: Partial<RetryOptions>): Layer.Layer<never> =>
    Layer.succeed(RetryPolicy, { ...retryDefaults, ...options })
}
