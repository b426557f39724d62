/**
 * Forks: a new session that begins with a copy of another one's events.
 *
 * The copy is byte for byte what is stored, ignorable events of unknown types among it, so every fold of the fork is that
 * of the prefix: plan state, grants, header, usage, what waits in the inbox. Only the first event says in addition where
 * the session comes from. The source is read and never written, so it may be open and at work meanwhile.
 */
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { EventReader } from "../journal/EventReader.ts"
import {
  Journal,
  type JournalConflict,
  type JournalCorrupt,
  type JournalUnavailable,
  SessionNotFound,
  type UnknownEvent
} from "../journal/Journal.ts"
import { Projection } from "../journal/Projection.ts"
import { EventTypes, type SessionEvent, SessionId, type StoredEvent } from "../journal/SessionEvent.ts"
import { ToolBatch } from "../tools/ToolBatch.ts"
import { CompactionProjection } from "./CompactionState.ts"
import { OpenAsks } from "./Repair.ts"
import { TurnProjection } from "./Turn.ts"

/**
 * The prefix would end inside a step: a request without its reply, a call without its result, a question without its
 * answer. `nearest` is the last event before `at` where a fork may end.
 */
export class ForkInsideStep extends Schema.TaggedError<ForkInsideStep>()("ForkInsideStep", {
  session: SessionId,
  at: Schema.Int,
  nearest: Schema.Natural
}) {
  override get message() {
    return `Session ${this.session} cannot be forked at event ${this.at}: a step is open there. Event ${this.nearest} would do`
  }
}

/** The session has no such event. `last` is its newest one. */
export class ForkOutOfRange extends Schema.TaggedError<ForkOutOfRange>()("ForkOutOfRange", {
  session: SessionId,
  at: Schema.Number,
  last: Schema.Natural
}) {
  override get message() {
    return `Session ${this.session} has no event ${this.at}; its last one is ${this.last}`
  }
}

export type ForkError =
  | ForkInsideStep
  | ForkOutOfRange
  | SessionNotFound
  | JournalUnavailable
  | JournalConflict
  | JournalCorrupt
  | UnknownEvent

export interface ForkOptions {
  /** The last event of the copy. Default: the last one where no step is open. */
  readonly at?: number
  /** The id of the new session; an id that is taken fails with `JournalConflict`. Default: a random one. */
  readonly id?: SessionId
}

export interface Forked {
  readonly session: SessionId
  /** The last event that was copied. */
  readonly at: number
}

/** The folds that say whether a step is open. */
interface Standing {
  readonly turn: typeof TurnProjection.initial
  readonly batch: typeof ToolBatch.initial
  readonly asks: typeof OpenAsks.initial
  readonly compaction: typeof CompactionProjection.initial
}

const start: Standing = {
  turn: TurnProjection.initial,
  batch: ToolBatch.initial,
  asks: OpenAsks.initial,
  compaction: CompactionProjection.initial
}

const advance = (standing: Standing, event: SessionEvent): Standing => ({
  turn: Projection.step(TurnProjection, standing.turn, event),
  batch: Projection.step(ToolBatch, standing.batch, event),
  asks: Projection.step(OpenAsks, standing.asks, event),
  compaction: Projection.step(CompactionProjection, standing.compaction, event)
})

const isClosed = ({ asks, batch, compaction, turn }: Standing, event: SessionEvent): boolean => {
  // A turn begins together with what it is about; its first event alone would be a turn about nothing.
  if (event.type === "turn/start") return false
  if (asks.size > 0 || compaction.open !== undefined || batch.calls.some((call) => call.status !== "done")) return false
  // An interrupted reply and the end of its turn are one fact in two events.
  if (turn.phase === "replied") return turn.reply?.finish !== "interrupted"
  return turn.phase === "idle" || (turn.phase === "boundary" && turn.attempt === 0)
}

/** Where a session may be forked: the `seq` of every event after which no step is open. Event 0 always is one. */
export const closedBoundaries = (events: Iterable<SessionEvent>): ReadonlyArray<number> => {
  const closed: Array<number> = []
  let standing = start
  for (const event of events) {
    standing = advance(standing, event)
    if (isClosed(standing, event)) closed.push(event.seq)
  }
  return closed
}

/** The stored events of a fork. */
const copy = (prefix: ReadonlyArray<StoredEvent>, source: SessionId, id: SessionId): ReadonlyArray<StoredEvent> =>
  prefix.map((event) => {
    const moved = { ...event, session: id }
    if (event.type !== "session/created" || typeof event.data !== "object" || event.data === null) return moved
    return { ...moved, data: { ...event.data, origin: { session: source, seq: prefix.length - 1 } } }
  })

/** Makes forks. */
export class Fork extends Context.Service<Fork, {
  /**
   * Copies a session up to an event into a new one, in one durable batch, and returns the new one's id; open it with
   * `Sessions.open`. Depth and parent stay what they are, so a child does not become a root. Nothing of the fork runs by
   * itself: a turn that was open between two steps waits for `resume`, or is closed by the next prompt.
   *
   * @example
   * const { session } = yield* Fork.use((fork) => fork.fork(SessionId.make("s"), { at: 41 }))
   */
  readonly fork: (source: SessionId, options?: ForkOptions) => Effect.Effect<Forked, ForkError>
}>()("@holdfast/core/Fork") {
  static readonly layer: Layer.Layer<Fork, never, Journal> = Layer.effect(
    Fork,
    Effect.gen(function*() {
      const journal = yield* Journal
      const reader = EventReader.make(yield* EventTypes)

      const fork = (source: SessionId, options: ForkOptions = {}): Effect.Effect<Forked, ForkError> =>
        Effect.scoped(Effect.gen(function*() {
          const stored = yield* Stream.runCollect(journal.read(source))
          if (stored.length === 0) return yield* new SessionNotFound({ session: source })
          const last = stored.length - 1
          const asked = options.at ?? last
          if (!Number.isSafeInteger(asked) || asked < 0 || asked > last) {
            return yield* new ForkOutOfRange({ session: source, at: asked, last })
          }
          const events = yield* Stream.runCollect(reader.decode(Stream.fromIterable(stored.slice(0, asked + 1))))
          const nearest = closedBoundaries(events).at(-1) ?? 0
          if (options.at !== undefined && nearest !== options.at) {
            return yield* new ForkInsideStep({ session: source, at: options.at, nearest })
          }
          const id = options.id ?? SessionId.make(crypto.randomUUID())
          const writer = yield* journal.writer(id)
          yield* writer.append(copy(stored.slice(0, nearest + 1), source, id))
          return { session: id, at: nearest }
        }))

      return Fork.of({ fork })
    })
  )
}
