/** A clock that goes backwards between two programs, and what the second one makes of it. */
import { type Journal, SessionEvent, SessionId, Sessions } from "@holdfast/core"
import { Effect, Layer, type Scope, Stream } from "effect"
import { deepStrictEqual } from "node:assert"

export interface ClockDrillOptions {
  /** A journal whose storage outlives it; it is built anew for each program. */
  readonly layer: Layer.Layer<Journal, unknown>
  /** Sets the clock, in milliseconds since the epoch. */
  readonly setTime: (millis: number) => void
}

const LATE = 2_000_000_000_000
const EARLY = 1_000_000_000_000

/** Runs the drill. The promise is rejected with an `AssertionError` when the order of events or of sessions changes. */
export const clockDrill = async ({ layer, setTime }: ClockDrillOptions): Promise<void> => {
  const first = SessionId.make(`clock-${crypto.randomUUID()}`)
  const second = SessionId.make(`clock-${crypto.randomUUID()}`)
  const program = <A>(run: (sessions: Sessions["Service"]) => Effect.Effect<A, unknown, Scope.Scope>) =>
    Effect.runPromise(
      Effect.scoped(Effect.flatMap(Sessions, run)).pipe(Effect.provide(Sessions.layer.pipe(Layer.provide(layer))))
    )

  setTime(LATE)
  await program((sessions) => sessions.create({ id: first }))
  setTime(EARLY)
  await program((sessions) => sessions.create({ id: second }))
  const { events, listed } = await program((sessions) =>
    Effect.gen(function*() {
      const session = yield* sessions.open(first)
      const said = SessionEvent.event("message/user", { text: "back", source: { kind: "user" } })
      yield* session.transact(() => ({ events: [said], value: undefined }))
      return { events: yield* Stream.runCollect(sessions.read(first)), listed: yield* sessions.list }
    })
  )
  deepStrictEqual(events.map(({ at }) => at), [LATE, LATE], "an event is never earlier than the one before it")
  deepStrictEqual(
    listed.map(({ session }) => session).filter((id) => id === first || id === second),
    [first, second],
    "the session that was written to last is the first"
  )
}
