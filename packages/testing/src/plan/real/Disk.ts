/**
 * A journal between the program and the user's own, that fails or dies when it is told to.
 *
 * To kill a process means here that its appends are never acknowledged again: everything that it would have done after them is left
 * undone, and another process opens the same storage.
 */
import {
  type Journal,
  type JournalConflict,
  JournalUnavailable,
  type SessionId,
  type StoredEvent
} from "@holdfast/core"
import { Effect, Exit, Scope } from "effect"
import type { AppendFault } from "../model/Draft.ts"

export interface Disk {
  /** The journal of one process. */
  readonly journal: Journal["Service"]
  readonly fail: (session: SessionId, after: number, fault: AppendFault) => void
  /** The process dies with an append to come: before it is written, or after. */
  readonly dieAt: (session: SessionId, after: number, moment: "before" | "after") => void
  readonly mend: () => void
  /** Whether a fault or a death still waits for its append. */
  readonly isArmed: (session: SessionId) => boolean
  readonly isDead: () => boolean
  /** The process is dead from now on; its locks are given back, as an operating system would. */
  readonly kill: () => Promise<void>
  /** Appends that the storage works on. */
  readonly working: () => number
  /** How many batches were written, by session. */
  readonly written: (session: SessionId) => number
}

type AppendError = JournalUnavailable | JournalConflict

const detail = { operation: "append", detail: "the disk does not answer" }

interface Armed {
  after: number
  readonly fault: AppendFault | "before" | "after"
}

export const makeDisk = (base: Journal["Service"]): Disk => {
  const armed = new Map<SessionId, Array<Armed>>()
  const written = new Map<SessionId, number>()
  const locks = new Set<Scope.Closeable>()
  let isDead = false
  let working = 0

  const due = (session: SessionId): Armed["fault"] | undefined => {
    const waiting = armed.get(session) ?? []
    for (const item of waiting) item.after--
    const hit = waiting.find((item) => item.after <= 0)
    if (hit !== undefined) armed.set(session, waiting.filter((item) => item !== hit))
    return hit?.fault
  }

  const die = Effect.suspend(() => {
    isDead = true
    return Effect.never
  })

  const append =
    (session: SessionId, inner: (events: ReadonlyArray<StoredEvent>) => Effect.Effect<void, AppendError>) =>
    (
      events: ReadonlyArray<StoredEvent>
    ): Effect.Effect<void, AppendError> =>
      Effect.suspend((): Effect.Effect<void, AppendError> => {
        if (isDead) return Effect.never
        if (events.length === 0) return inner(events)
        const fault = due(session)
        if (fault === "before") return die
        if (fault === "refused" || fault === "lost") {
          return Effect.fail(new JournalUnavailable({ ...detail, unsure: fault === "lost" }))
        }
        working++
        const write = inner(events).pipe(
          Effect.andThen(Effect.sync(() => void written.set(session, (written.get(session) ?? 0) + 1))),
          Effect.ensuring(Effect.sync(() => void working--)),
          // The acknowledgement takes its time: others act in between.
          Effect.andThen(Effect.yieldNow),
          Effect.andThen(Effect.suspend(() => isDead ? Effect.never : Effect.void))
        )
        if (fault === "kept") {
          return Effect.andThen(write, Effect.fail(new JournalUnavailable({ ...detail, unsure: true })))
        }
        return fault === "after" ? Effect.andThen(write, die) : write
      })

  return {
    fail: (session, after, fault) => void armed.set(session, [...(armed.get(session) ?? []), { after, fault }]),
    dieAt: (session, after, moment) =>
      void armed.set(session, [...(armed.get(session) ?? []), { after, fault: moment }]),
    mend: () => armed.clear(),
    isArmed: (session) => (armed.get(session) ?? []).length > 0,
    isDead: () => isDead,
    kill: async () => {
      isDead = true
      await Effect.runPromise(Effect.forEach(locks, (lock) => Scope.close(lock, Exit.void), { discard: true }))
    },
    working: () => working,
    written: (session) => written.get(session) ?? 0,
    journal: {
      writer: (session) =>
        Effect.gen(function*() {
          const lock = yield* Scope.make()
          locks.add(lock)
          yield* Effect.addFinalizer(() =>
            Effect.suspend(() => locks.delete(lock) && !isDead ? Scope.close(lock, Exit.void) : Effect.void)
          )
          const writer = yield* Scope.provide(base.writer(session), lock)
          return { append: append(session, writer.append) }
        }),
      read: base.read,
      list: base.list,
      remove: base.remove
    }
  }
}
