/**
 * A session: the one way to write a fact, and the state that follows from the facts.
 *
 * `transact` decides under the session's lock from the folded state, appends the events as one durable batch, folds
 * them, and only then lets anybody see them. There is no other way to change what a session knows.
 */
import { Context, Effect, Exit, Layer, PubSub, Scope, Semaphore, Stream } from "effect"
import { type Disposed, Fence } from "../Fence.ts"
import { EventReader } from "./EventReader.ts"
import {
  EventRejected,
  Journal,
  type JournalConflict,
  type JournalCorrupt,
  type JournalUnavailable,
  SessionNotFound,
  type SessionSummary,
  stamp,
  type UnknownEvent
} from "./Journal.ts"
import { JournalConflict as Conflict } from "./Journal.ts"
import { isLive, type LiveEvent } from "./LiveEvent.ts"
import type { Projection } from "./Projection.ts"
import {
  type EventData,
  EventTypes,
  type NewEvent,
  SessionEvent,
  type SessionEvent as AnyEvent,
  type SessionId,
  type StoredEvent
} from "./SessionEvent.ts"
import { SessionState } from "./SessionState.ts"

/** What a decision may look at: the folded state of a session and of those above it. Reads are synchronous. */
export interface SessionView {
  readonly id: SessionId
  /** How many events the session has; the next one gets this `seq`. */
  readonly length: number
  readonly get: <S>(projection: Projection<S>) => S
  /** The session that spawned this one, as it stands now. */
  readonly parent: SessionView | undefined
  /** The view as it would be after these events. */
  readonly after: (events: ReadonlyArray<NewEvent>) => SessionView
}

/** What a decision wants written, and what it tells its caller. No events: nothing is written. */
export interface Decision<A> {
  readonly events: ReadonlyArray<NewEvent>
  readonly value: A
}

/** Why a transaction was not carried out. Nothing was changed, except where `JournalUnavailable` says `unsure`. */
export type TransactError =
  | JournalUnavailable
  | JournalConflict
  | JournalCorrupt
  | UnknownEvent
  | EventRejected
  | Disposed

/** Why a session cannot be opened. */
export type OpenError = JournalUnavailable | JournalConflict | JournalCorrupt | UnknownEvent | SessionNotFound

export interface Session {
  readonly id: SessionId
  /** The state now. */
  readonly view: () => SessionView
  /**
   * Decides and writes in one step. `decide` is pure and synchronous and runs under the session's lock; its events are
   * appended as one atomic durable batch, then folded, then published.
   */
  readonly transact: <A>(decide: (view: SessionView) => Decision<A>) => Effect.Effect<A, TransactError>
  /** Waits until the state satisfies `predicate`, which is asked again after every batch. */
  readonly until: (predicate: (view: SessionView) => boolean) => Effect.Effect<void>
  /** All events from `from` on: those that are stored, then those that come. Ends when the session closes. */
  readonly events: (
    from?: number
  ) => Stream.Stream<AnyEvent, JournalUnavailable | JournalCorrupt | UnknownEvent>
  /** Facts and live events from now on, in order. An observer that is too slow misses some and holds up nobody. */
  readonly observe: Stream.Stream<AnyEvent | LiveEvent>
  /** Shows something to observers that is not a fact. */
  readonly emit: (...events: ReadonlyArray<LiveEvent>) => Effect.Effect<void>
  /** How many events of unknown ignorable types were skipped when the session was opened. */
  readonly skipped: number
}

/** What a new session starts with. */
export type CreateOptions = Partial<EventData<"session/created">> & { readonly id?: SessionId }

/** How far behind an observer may fall before it reads what it missed from the journal again. */
const OBSERVER_BUFFER = 1024

/** Opens, creates, forks and lists sessions. A session lives in the scope that opened it. */
export class Sessions extends Context.Service<Sessions, {
  /** Creates a session and opens it. */
  readonly create: (
    options: CreateOptions & { readonly id: SessionId }
  ) => Effect.Effect<Session, OpenError | Disposed, Scope.Scope>
  readonly open: (id: SessionId) => Effect.Effect<Session, OpenError | Disposed, Scope.Scope>
  /** The session of this id, if it is open in this process. */
  readonly live: (id: SessionId) => Session | undefined
  readonly list: Effect.Effect<ReadonlyArray<SessionSummary>, JournalUnavailable>
  readonly remove: (id: SessionId) => Effect.Effect<void, JournalUnavailable>
  /** The stored events of a session, decoded, without opening it for writing. */
  readonly read: (
    id: SessionId,
    from?: number
  ) => Stream.Stream<AnyEvent, JournalUnavailable | JournalCorrupt | UnknownEvent>
}>()("@holdfast/core/Sessions") {
  static readonly layer: Layer.Layer<Sessions, never, Journal> = Layer.effect(
    Sessions,
    Effect.gen(function*() {
      const journal = yield* Journal
      const reader = EventReader.make(yield* EventTypes)
      const live = new Map<SessionId, Session>()
      const claimed = new Set<SessionId>()
      const fence = yield* Fence.make("Sessions")

      const read = (id: SessionId, from = 0) => reader.decode(journal.read(id, from), from)

      const load = (id: SessionId) =>
        Stream.runFold(read(id), () => SessionState.empty(id), (state, event) => SessionState.apply(state, event))

      const viewOf = (state: () => SessionState, parent: () => SessionView | undefined): SessionView => {
        const current = state()
        return {
          id: current.id,
          length: current.length,
          get: (projection) => SessionState.get(current, projection),
          get parent() {
            return parent()
          },
          after: (events) => {
            const next = SessionState.applyNew(current, events)
            return viewOf(() => next, parent)
          }
        }
      }

      /** The state above a session: that of the open parent, or what the journal holds of one that is not open. */
      const ancestor = (id: SessionId | undefined): Effect.Effect<() => SessionView | undefined, OpenError> =>
        Effect.gen(function*() {
          if (id === undefined) return () => undefined
          const open = live.get(id)
          if (open !== undefined) return () => (live.get(id) ?? open).view()
          const state = yield* load(id)
          if (state.length === 0) return yield* new SessionNotFound({ session: id })
          const above = yield* ancestor(SessionState.parent(state))
          return () => live.get(id)?.view() ?? viewOf(() => state, above)
        })

      /** One handle for each session: with two, whoever looks up the chain could find the one that does not move. */
      const claim = (id: SessionId): Effect.Effect<void, JournalConflict, Scope.Scope> =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            if (claimed.has(id)) {
              return Effect.fail(new Conflict({ session: id, seq: 0, detail: "it is open in this program already" }))
            }
            claimed.add(id)
            return Effect.void
          }),
          () => Effect.sync(() => void claimed.delete(id))
        )

      /** What an opening that fails has taken is given back at once, and not when the caller's scope closes. */
      const opening = <A, E>(self: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E, Scope.Scope> =>
        Effect.gen(function*() {
          const own = yield* Scope.fork(yield* Effect.scope)
          return yield* Effect.onError(Scope.provide(self, own), () => Scope.close(own, Exit.void))
        })

      const start = (
        id: SessionId,
        loaded: SessionState,
        first: ReadonlyArray<NewEvent> = []
      ): Effect.Effect<Session, OpenError | Disposed | EventRejected, Scope.Scope> =>
        Effect.gen(function*() {
          const writer = yield* journal.writer(id)
          const parent = yield* ancestor(SessionState.parent(loaded))
          const lock = yield* Semaphore.make(1)
          const published = yield* PubSub.sliding<AnyEvent | LiveEvent>(OBSERVER_BUFFER)
          const watchers = new Set<() => void>()
          let state = loaded
          let dead: JournalConflict | undefined
          let unsure: ReadonlyArray<StoredEvent> | undefined
          // One view for each state: whoever asks often between two batches pays for a field access.
          let current = viewOf(() => state, parent)
          const view = () => current

          const take = (events: ReadonlyArray<AnyEvent>) =>
            Effect.suspend(() => {
              for (const event of events) state = SessionState.apply(state, event)
              current = viewOf(() => state, parent)
              for (const watcher of [...watchers]) watcher()
              return PubSub.publishAll(published, events)
            })

          // After an append whose fate is unknown, the tail of the log is the only truth about it.
          const settle = Effect.gen(function*() {
            if (unsure === undefined) return
            const tail = yield* Stream.runCollect(journal.read(id, state.length))
            const ours = tail.every((stored, i) => same(stored, unsure?.[i]))
            unsure = undefined
            if (!ours) {
              dead = new Conflict({ session: id, seq: state.length, detail: "somebody else appended" })
              return yield* dead
            }
            yield* take(yield* Stream.runCollect(reader.decode(Stream.fromIterable(tail), state.length)))
          })

          const write = <A>(decide: (view: SessionView) => Decision<A>): Effect.Effect<A, TransactError> =>
            Effect.gen(function*() {
              if (dead !== undefined) return yield* dead
              yield* settle
              const { events, value } = decide(view())
              if (events.length === 0) return value
              const at = Math.max(yield* stamp, state.at)
              const stored: Array<StoredEvent> = []
              for (const event of events) {
                const encoded = reader.encode(id, state.length + stored.length, at, event)
                if (encoded instanceof EventRejected) return yield* encoded
                stored.push(encoded)
              }
              yield* writer.append(stored).pipe(
                Effect.tapError((error) =>
                  Effect.sync(() => {
                    if (error._tag === "JournalConflict") dead = error
                    else if (error.unsure) unsure = stored
                  })
                )
              )
              yield* take(events.map((event, i): AnyEvent => ({ ...event, session: id, seq: stored[i]!.seq, at })))
              return value
            })

          const session: Session = {
            id,
            view,
            skipped: loaded.skipped,
            // `withPermit` and not an interruptible `take`: that one can be interrupted after it has got the permit.
            transact: (decide) => lock.withPermit(sessionFence.commit(write(decide))),
            until: (predicate) =>
              Effect.callback<void>((resume) => {
                const check = () => {
                  if (!predicate(view())) return
                  watchers.delete(check)
                  resume(Effect.void)
                }
                watchers.add(check)
                check()
                return Effect.sync(() => void watchers.delete(check))
              }),
            observe: Stream.unwrap(Effect.map(PubSub.subscribe(published), Stream.fromSubscription)),
            emit: (...events) => Effect.asVoid(PubSub.publishAll(published, events)),
            events: (from = 0) =>
              Stream.unwrap(Effect.gen(function*() {
                const subscription = yield* PubSub.subscribe(published)
                let next = from
                type Events = Stream.Stream<AnyEvent, JournalUnavailable | JournalCorrupt | UnknownEvent>
                const upTo = (end: number): Events => Stream.takeWhile(read(id, next), (event) => event.seq < end)
                const live = Stream.flatMap(Stream.fromSubscription(subscription), (event): Events => {
                  if (isLive(event) || event.seq < next) return Stream.empty
                  return event.seq === next ? Stream.succeed(event) : upTo(event.seq + 1)
                })
                return Stream.concat(Stream.suspend(() => upTo(state.length)), live).pipe(
                  Stream.tap((event) => Effect.sync(() => void (next = event.seq + 1)))
                )
              }))
          }
          // It is found until its fence is closed.
          yield* Effect.addFinalizer(() =>
            Effect.andThen(Effect.sync(() => void live.delete(id)), PubSub.shutdown(published))
          )
          const sessionFence = yield* Fence.make(`Session ${id}`)
          yield* session.transact(() => ({ events: first, value: undefined }))
          // And not before it is durable.
          live.set(id, session)
          return session
        })

      return Sessions.of({
        live: (id) => live.get(id),
        create: (options) =>
          opening(Effect.gen(function*() {
            yield* fence.check
            const { id, ...created } = options
            yield* claim(id)
            return yield* start(id, SessionState.empty(id, created.parent?.session), [
              SessionEvent.event("session/created", { depth: 0, ...created })
            ])
          })).pipe(Effect.catchTag("EventRejected", Effect.die)),
        open: (id) =>
          opening(Effect.gen(function*() {
            yield* fence.check
            yield* claim(id)
            const state = yield* load(id)
            if (state.length === 0) return yield* new SessionNotFound({ session: id })
            return yield* start(id, state)
          })).pipe(Effect.catchTag("EventRejected", Effect.die)),
        list: journal.list,
        remove: journal.remove,
        read
      })
    })
  )
}

const same = (stored: StoredEvent, attempted: StoredEvent | undefined): boolean =>
  attempted !== undefined && stored.seq === attempted.seq && stored.type === attempted.type &&
  JSON.stringify(stored.data) === JSON.stringify(attempted.data)
