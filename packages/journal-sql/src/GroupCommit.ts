/**
 * One commit for all appends that wait.
 *
 * A durable commit costs a flush of the disk, whatever it holds. Appends of several sessions that arrive while a commit
 * is under way go into the next one together.
 */
import { JournalUnavailable } from "@holdfast/core"
import type { JournalConflict, JournalWriter, SessionId, StoredEvent } from "@holdfast/core"
import { Cause, Effect, type Scope } from "effect"

/** How many bytes of payload one commit takes, so that a burst of large events does not become one huge message. */
const COMMIT_BYTES = 16 * 1024 * 1024

/**
 * How long a lone writer may go on without a turn of the event loop, in milliseconds. A turn costs 20 to 40 us measured,
 * a quarter of the processor time of a commit; every 5 ms that is below 1 %.
 */
const TURN_MILLIS = 5

/** A writer's own note about its session: the database's key of it, once it is known to be committed. */
export interface SessionKey {
  id: number | undefined
}

/** A batch of one session. */
export interface Batch {
  readonly session: SessionId
  readonly key: SessionKey
  readonly events: ReadonlyArray<StoredEvent>
  /** The payloads as JSON text, one for each event. */
  readonly bodies: ReadonlyArray<string>
}

/** A batch that waits to be committed. `settle` is called once. */
export interface Append extends Batch {
  readonly settle: (result: Appended) => void
}

const size = (append: Append) => append.bodies.reduce((total, body) => total + body.length, 0)

/** What becomes of an append. */
export type Appended = Effect.Effect<void, JournalUnavailable | JournalConflict>

export interface GroupCommit {
  readonly writer: (session: SessionId) => Effect.Effect<JournalWriter, never, Scope.Scope>
}

const closed = Effect.fail(
  new JournalUnavailable({ operation: "append", detail: "the journal is closed", unsure: false })
)

export interface Commits {
  /** Writes all of them durably and settles each. */
  readonly commit: (appends: ReadonlyArray<Append>) => Effect.Effect<void>
  /** Writes in one synchronous step, or gives `undefined` when that cannot be done now and nothing was written. */
  readonly commitNow: (batch: Batch) => Appended | undefined
}

/** Closing the scope refuses new appends and waits for those that are under way. */
const make = Effect.fnUntraced(function*(
  { commit, commitNow }: Commits
): Effect.fn.Return<GroupCommit, never, Scope.Scope> {
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const waiting: Array<Append> = []
  let writers = 0
  let open = true
  let running = false
  let idle: (() => void) | undefined
  let turned = 0

  const take = (): ReadonlyArray<Append> => {
    let count = 0
    let bytes = 0
    while (count < waiting.length && (count === 0 || bytes < COMMIT_BYTES)) bytes += size(waiting[count++]!)
    return waiting.splice(0, count)
  }

  const committed = (batch: ReadonlyArray<Append>) =>
    Effect.catchCause(commit(batch), (cause) =>
      Effect.sync(() => {
        const error = new JournalUnavailable({ operation: "append", detail: Cause.pretty(cause), unsure: true })
        for (const append of batch) append.settle(Effect.fail(error))
      }))

  // The yields let the programs whose appends were just settled, and the event loop, bring more appends.
  const loop: Effect.Effect<void> = Effect.suspend(() => {
    turned = performance.now()
    if (waiting.length === 0) return Effect.sync(rest)
    return Effect.andThen(committed(take()), Effect.suspend(() => waiting.length === 0 ? loop : paced))
  })
  const paced = Effect.andThen(Effect.yieldNow, loop)

  const begin = () => {
    running = true
    fork(paced)
  }
  const rest = () => {
    running = false
    if (waiting.length > 0) begin()
    else idle?.()
  }

  const enqueue = (append: Batch): Appended =>
    Effect.callback((resume) => {
      const entry: Append = { ...append, settle: resume }
      waiting.push(entry)
      if (!running) begin()
      // Interrupted while it still waits, it is taken back; once its commit has begun, it is the commit's.
      return Effect.sync(() => {
        const at = waiting.indexOf(entry)
        if (at >= 0) waiting.splice(at, 1)
      })
    })

  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      open = false
      if (!running) return resume(Effect.void)
      idle = () => resume(Effect.void)
    })
  )

  return {
    writer: (session) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          writers++
          const key: SessionKey = { id: undefined }
          return {
            append: (events) =>
              Effect.suspend(() => {
                if (events.length === 0) return Effect.void
                if (!open) return closed
                const append = { session, key, events, bodies: events.map((event) => JSON.stringify(event.data)) }
                // A program with one session has nobody to wait for.
                const alone = writers === 1 && waiting.length === 0 && performance.now() - turned < TURN_MILLIS
                return (alone ? commitNow(append) : undefined) ?? enqueue(append)
              })
          }
        }),
        () => Effect.sync(() => void writers--)
      )
  }
})

export const GroupCommit = { make }
