/**
 * A journal in memory that outlives the program that writes it, and that fails or dies when a test says so.
 *
 * "Killing a process" is an append that never returns: everything that the program would have done after it is left
 * undone, and a second program opens the same log.
 */
import { Deferred, Effect, Layer, Stream } from "effect"
import {
  EventTypes,
  Journal,
  JournalConflict,
  JournalUnavailable,
  type SessionEvent,
  SessionId,
  type StoredEvent
} from "../../src/index.ts"
import { EventReader } from "../../src/journal/EventReader.ts"

type Batch = ReadonlyArray<StoredEvent>

/** `refused`: not written. `lost` and `kept`: not known to the writer; in truth not written, or written. */
export type Failure = "refused" | "lost" | "kept"

/** Whether the process dies with this append: before anything is written, or right after it. */
export type Death = "before" | "after"

export interface Storage {
  readonly layer: Layer.Layer<Journal>
  readonly stored: (id?: string) => Batch
  /** The same, decoded. */
  readonly events: (id?: string) => ReadonlyArray<SessionEvent>
  /** How many appends the storage was asked for. */
  readonly appends: () => number
  /** Puts a log into the storage as another program might have left it. */
  readonly put: (
    events: ReadonlyArray<{ readonly type: string; readonly data: StoredEvent["data"] }>,
    id?: string
  ) => void
  readonly failWhen: (when: (batch: Batch, n: number) => Failure | undefined) => void
  readonly mend: () => void
  /** What every append waits for before it is done. */
  readonly slowBy: (pause: Effect.Effect<void>) => void
  readonly dieWhen: (when: (batch: Batch, n: number) => Death | undefined) => void
  /** Waits for the death of the process. */
  readonly dead: Effect.Effect<void>
  /** The same disk in the hands of a new process. */
  readonly reborn: () => Storage
}

const detail = { operation: "append", detail: "the disk does not answer" }

const over = (logs: Map<string, Array<StoredEvent>>): Storage => {
  let fails: (batch: Batch, n: number) => Failure | undefined = () => undefined
  let dies: (batch: Batch, n: number) => Death | undefined = () => undefined
  let pause: Effect.Effect<void> = Effect.void
  let appends = 0
  let isDead = false
  const death = Deferred.makeUnsafe<void>()

  const write = (session: SessionId, batch: Batch) =>
    Effect.suspend(() => {
      const events = logs.get(session) ?? []
      const first = batch[0]
      if (first === undefined) return Effect.void
      if (first.seq !== events.length) {
        return Effect.fail(
          new JournalConflict({ session, seq: first.seq, detail: `there are ${events.length} events` })
        )
      }
      // What is stored is a copy, as it would be on a disk.
      logs.set(session, [...events, ...batch.map((event) => JSON.parse(JSON.stringify(event)) as StoredEvent)])
      return Effect.void
    })

  const die = Effect.suspend(() => {
    isDead = true
    return Effect.andThen(Deferred.succeed(death, undefined), Effect.never)
  })

  const append = (session: SessionId) => (batch: Batch) =>
    Effect.suspend((): Effect.Effect<void, JournalUnavailable | JournalConflict> => {
      if (isDead) return Effect.never
      const n = appends++
      const end = dies(batch, n)
      if (end === "before") return die
      const failure = fails(batch, n)
      if (failure === "refused") return Effect.fail(new JournalUnavailable({ ...detail, unsure: false }))
      if (failure === "lost") return Effect.fail(new JournalUnavailable({ ...detail, unsure: true }))
      const written = write(session, batch)
      if (failure === "kept") {
        return Effect.andThen(written, Effect.fail(new JournalUnavailable({ ...detail, unsure: true })))
      }
      return end === "after" ? Effect.andThen(written, die) : written
    })

  const stored = (id = "s"): Batch => logs.get(id) ?? []

  return {
    stored,
    events: (id) => decode(stored(id)),
    appends: () => appends,
    put: (events, id = "s") => {
      const session = SessionId.make(id)
      logs.set(id, events.map(({ data, type }, seq) => ({ session, seq, at: 0, type, version: 1, data })))
    },
    failWhen: (when) => void (fails = when),
    mend: () => void (fails = () => undefined),
    slowBy: (by) => void (pause = by),
    dieWhen: (when) => void (dies = when),
    dead: Deferred.await(death),
    reborn: () => over(logs),
    layer: Layer.succeed(Journal, {
      writer: (session) => Effect.succeed({ append: (batch) => Effect.andThen(pause, append(session)(batch)) }),
      read: (session, from = 0) => Stream.suspend(() => Stream.fromIterable(stored(session).slice(from))),
      list: Effect.sync(() =>
        [...logs].map(([id, log]) => ({
          session: SessionId.make(id),
          events: log.length,
          createdAt: log[0]!.at,
          updatedAt: log.at(-1)!.at
        }))
      ),
      remove: (session) => Effect.sync(() => void logs.delete(session))
    })
  }
}

const reader = EventReader.make(EventTypes.defaultValue())

/** The events of a stored log; a log that cannot be read is a failure of the test. */
const decode = (batch: Batch): ReadonlyArray<SessionEvent> =>
  Effect.runSync(Stream.runCollect(reader.decode(Stream.fromIterable(batch), 0)))

export const storage = (): Storage => over(new Map())

/** Whether a batch holds an event of this type, and one that `where` picks. */
export const holds = (type: string, where: (data: never) => boolean = () => true) => (batch: Batch): boolean =>
  batch.some((event) => event.type === type && where(event.data as never))
