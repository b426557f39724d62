/**
 * Notices that a reply has stopped coming.
 *
 * The `openai` client's own timeout ends with the response headers, so a stalled stream would hang for ever. One watchdog
 * looks at bytes, keep-alive comments included; the other at events with data, because a server may keep a dead reply
 * alive with comments. Activity costs one clock reading; a single sleeping fiber does the rest.
 */
import { TransportError } from "@holdfast/core"
import { type Clock, Duration, Effect } from "effect"

/** How long to wait. All count from the last thing seen, and none while the reader itself is behind. */
export interface Timeouts {
  /** For the first byte of the reply, connecting included. The server gives up by itself after 10 minutes. */
  readonly firstByte: Duration.Input
  /** For the next byte, comments included. */
  readonly bytes: Duration.Input
  /** For the first event with data, while keep-alives come. */
  readonly firstEvent: Duration.Input
  /** For the next event with data, while keep-alives come. */
  readonly events: Duration.Input
}

/** A server that has not begun after 10 minutes closes; keep-alives come far more often than every 2 minutes. */
export const defaultTimeouts: Timeouts = {
  firstByte: "10 minutes",
  bytes: "2 minutes",
  firstEvent: "11 minutes",
  events: "5 minutes"
}

type Millis = { readonly [Name in keyof Timeouts]: number }

/** Timeouts in the unit that the watchdog compares. */
export const resolveTimeouts = (timeouts: Timeouts): Millis => ({
  firstByte: Duration.toMillis(timeouts.firstByte),
  bytes: Duration.toMillis(timeouts.bytes),
  firstEvent: Duration.toMillis(timeouts.firstEvent),
  events: Duration.toMillis(timeouts.events)
})

/** Watches one reply. */
export class Watchdog {
  private readonly clock: Clock.Clock
  private readonly limits: Millis
  private lastByte: number
  private lastEvent: number
  private anyByte = false
  private anyEvent = false
  private paused = false
  private changes = 0
  private wake: (() => void) | undefined = undefined

  constructor(clock: Clock.Clock, limits: Millis) {
    this.clock = clock
    this.limits = limits
    this.lastByte = this.lastEvent = this.now()
  }

  private now(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  }

  byte(): void {
    this.lastByte = this.now()
    if (this.anyByte) return
    this.anyByte = true
    this.comeNearer()
  }

  /** An event comes with bytes, so the clock need not be read again. */
  event(): void {
    this.lastEvent = this.lastByte
    if (this.anyEvent) return
    this.anyEvent = true
    this.comeNearer()
  }

  /** The reader is behind: silence is its own. */
  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
    this.lastByte = this.lastEvent = this.now()
  }

  private due(): { readonly at: number; readonly error: () => TransportError } {
    const bytes = this.lastByte + (this.anyByte ? this.limits.bytes : this.limits.firstByte)
    const events = this.lastEvent + (this.anyEvent ? this.limits.events : this.limits.firstEvent)
    return bytes <= events
      ? { at: bytes, error: () => idle("idle", "the server sent nothing", this.now() - this.lastByte) }
      : {
        at: events,
        error: () => idle("idle-events", "the server sent only keep-alives", this.now() - this.lastEvent)
      }
  }

  /** The first byte and the first event bring the next deadline nearer; all others only move it away. */
  private comeNearer(): void {
    this.changes++
    this.wake?.()
  }

  private nearerThan(changes: number): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      if (this.changes !== changes) return resume(Effect.void)
      this.wake = () => resume(Effect.void)
      return Effect.sync(() => {
        this.wake = undefined
      })
    })
  }

  /** Waits until the reply has stopped coming, and says so. */
  readonly run: Effect.Effect<TransportError> = Effect.suspend(() => {
    const due = this.due()
    const left = this.paused ? Math.min(this.limits.bytes, this.limits.events) : due.at - this.now()
    if (left <= 0 && !this.paused) return Effect.succeed(due.error())
    const sleep = Effect.sleep(Duration.millis(Math.max(1, left)))
    return Effect.andThen(Effect.raceFirst(sleep, this.nearerThan(this.changes)), this.run)
  })
}

const idle = (code: string, what: string, millis: number): TransportError =>
  new TransportError({
    reason: "NetworkError",
    code,
    detail: `${what} for ${Math.round(millis / 1000)} s`,
    retryable: true
  })
