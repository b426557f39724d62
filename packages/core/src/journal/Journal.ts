/**
 * The seam to storage: an append-only log of events for each session.
 *
 * A journal stores what it is given, in order, and loses nothing that it has acknowledged. It knows nothing of what the
 * events mean; `Session` decides, folds and publishes.
 */
import { Clock, Context, Effect, Layer, Schema, Stream } from "effect"
import type { Scope } from "effect"
import { SessionId, type StoredEvent } from "./SessionEvent.ts"

/**
 * The storage did not answer. `unsure` is true when it is not known whether the append took: the next transaction
 * re-reads the tail first. Nothing that was acknowledged is lost; try again.
 */
export class JournalUnavailable extends Schema.TaggedError<JournalUnavailable>()("JournalUnavailable", {
  operation: Schema.String,
  detail: Schema.String,
  unsure: Schema.Boolean
}) {
  override get message() {
    return `The journal could not ${this.operation}: ${this.detail}`
  }
}

/** Somebody else writes to this session. The handle is dead: close it and open the session again. */
export class JournalConflict extends Schema.TaggedError<JournalConflict>()("JournalConflict", {
  session: SessionId,
  seq: Schema.Natural,
  detail: Schema.String
}) {
  override get message() {
    return `Session ${this.session} has another writer (at event ${this.seq}): ${this.detail}`
  }
}

/**
 * A stored event cannot be read. Everything before `seq` stays readable; what follows is kept. `offset` is the byte in
 * a file journal.
 */
export class JournalCorrupt extends Schema.TaggedError<JournalCorrupt>()("JournalCorrupt", {
  session: SessionId,
  seq: Schema.Natural,
  type: Schema.String,
  detail: Schema.String,
  offset: Schema.optionalKey(Schema.Natural)
}) {
  override get message() {
    const where = this.offset === undefined ? "" : `, byte ${this.offset}`
    return `Session ${this.session} is corrupt at event ${this.seq} (${this.type}${where}): ${this.detail}`
  }
}

/** An event of a type that this program does not know and may not skip. Open the session with the program that wrote it. */
export class UnknownEvent extends Schema.TaggedError<UnknownEvent>()("UnknownEvent", {
  session: SessionId,
  seq: Schema.Natural,
  type: Schema.String
}) {
  override get message() {
    return `Session ${this.session} holds an event of the unknown type "${this.type}" (at ${this.seq})`
  }
}

/**
 * An event that no reader could read again: its type is not registered with `EventTypes`, or its payload does not fit the
 * type's schema. Nothing of its transaction was written.
 */
export class EventRejected extends Schema.TaggedError<EventRejected>()("EventRejected", {
  session: SessionId,
  type: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `An event of the type "${this.type}" was not written to session ${this.session}: ${this.detail}`
  }
}

export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", { session: SessionId }) {
  override get message() {
    return `There is no session ${this.session}`
  }
}

/** One line about a stored session. `events` is the number of events; times are milliseconds since the epoch. */
export interface SessionSummary {
  readonly session: SessionId
  readonly events: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** The right to append to one session. */
export interface JournalWriter {
  /**
   * Appends `events` as one atomic batch, durable before it returns. `events[0].seq` is the length that the writer
   * believes the log to have; if it has another, nothing is written and the append fails with `JournalConflict`.
   */
  readonly append: (
    events: ReadonlyArray<StoredEvent>
  ) => Effect.Effect<void, JournalUnavailable | JournalConflict>
}

/** What a storage adapter implements. The conformance suite of `@holdfast/testing` says what it must do. */
export class Journal extends Context.Service<Journal, {
  /** Opens a session for writing; the scope is the life of the writer, and of the lock where the storage has one. */
  readonly writer: (
    session: SessionId
  ) => Effect.Effect<JournalWriter, JournalUnavailable | JournalConflict, Scope.Scope>
  /** The events of a session from `from` (default 0) on, in order. A session that does not exist has none. */
  readonly read: (
    session: SessionId,
    from?: number
  ) => Stream.Stream<StoredEvent, JournalUnavailable | JournalCorrupt>
  /** All sessions, the one that was written to last first. */
  readonly list: Effect.Effect<ReadonlyArray<SessionSummary>, JournalUnavailable>
  /** Deletes a session; deleting one that does not exist does nothing. */
  readonly remove: (session: SessionId) => Effect.Effect<void, JournalUnavailable>
}>()("@holdfast/core/Journal") {
  /** Keeps events in memory, for tests and for programs that need no resume. They are gone with the layer. */
  static readonly layerMemory: Layer.Layer<Journal> = Layer.sync(Journal, () => makeMemory())
}

const makeMemory = (): Journal["Service"] => {
  const logs = new Map<SessionId, Array<StoredEvent>>()
  return {
    writer: (session) =>
      Effect.succeed({
        append: (events) =>
          Effect.suspend(() => {
            const log = logs.get(session) ?? []
            const wrong = events.find((event, i) => event.seq !== log.length + i)
            if (wrong !== undefined) {
              return Effect.fail(
                new JournalConflict({ session, seq: wrong.seq, detail: `the log has ${log.length} events` })
              )
            }
            if (events.length === 0) return Effect.void
            logs.set(session, log)
            for (const event of events) log.push(event)
            return Effect.void
          })
      }),
    read: (session, from = 0) => Stream.suspend(() => Stream.fromIterable((logs.get(session) ?? []).slice(from))),
    list: Effect.sync(() =>
      [...logs].map(([session, log]): SessionSummary => ({
        session,
        events: log.length,
        createdAt: log[0]!.at,
        updatedAt: log.at(-1)!.at
      })).sort((a, b) => b.updatedAt - a.updatedAt)
    ),
    remove: (session) => Effect.sync(() => void logs.delete(session))
  }
}

/** The time that an event is stamped with, in milliseconds since the epoch. */
export const stamp: Effect.Effect<number> = Clock.currentTimeMillis
