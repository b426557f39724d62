/** The writer of one session: appends that arrive while a flush is under way share the next one. */
import {
  JournalConflict,
  JournalUnavailable,
  type JournalWriter,
  type SessionId,
  type StoredEvent
} from "@holdfast/core"
import { Effect } from "effect"
import { LogFile, type WriteFailed } from "./LogFile.ts"
import { LogFormat } from "./LogFormat.ts"
import type { SessionFolder } from "./SessionFolder.ts"

type Appended = Effect.Effect<void, JournalUnavailable | JournalConflict>

interface Waiting {
  readonly events: ReadonlyArray<StoredEvent>
  readonly body: string
  readonly settle: (result: Appended) => void
}

export interface LogWriter extends JournalWriter {
  /** How many bytes of the log are acknowledged: what a reader in this program may see. */
  readonly size: () => number
  readonly length: () => number
  /** Refuses further appends with `reason`, waits for those under way, and closes the file. */
  readonly close: (reason: JournalUnavailable | JournalConflict) => Effect.Effect<void>
}

/** Why `events` cannot follow a log of `length` events, or `undefined`. */
const fault = (events: ReadonlyArray<StoredEvent>, length: number): string | undefined => {
  const first = events[0]!.seq
  if (first !== length) return `the log has ${length} events`
  const wrong = events.findIndex((event, i) => event.seq !== first + i)
  return wrong < 0 ? undefined : `the batch has event ${events[wrong]!.seq} where ${first + wrong} belongs`
}

let lastStamp = 0

/** Microseconds since the epoch that only go up, so that sessions have an order although the clock may be set back. */
const nextStamp = (): number => {
  lastStamp = Math.max(lastStamp + 1, Date.now() * 1000)
  return lastStamp
}

const make = Effect.fnUntraced(function*(session: SessionId, folder: SessionFolder) {
  const file = yield* Effect.tryPromise({ try: () => LogFile.open(session, folder), catch: (cause) => cause })
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  let waiting: Array<Waiting> = []
  let running = false
  let closed: JournalUnavailable | JournalConflict | undefined
  let idle: (() => void) | undefined

  /** Writes what fits the log one after the other; what does not is told so and holds up nobody. */
  const flush = async (group: ReadonlyArray<Waiting>): Promise<void> => {
    const accepted: Array<Waiting> = []
    let length = file.length()
    let lines = ""
    for (const entry of group) {
      const detail = fault(entry.events, length)
      if (detail === undefined) {
        lines += LogFormat.line(entry.events, nextStamp(), entry.body)
        length += entry.events.length
        accepted.push(entry)
      } else entry.settle(Effect.fail(new JournalConflict({ session, seq: entry.events[0]!.seq, detail })))
    }
    const first = accepted[0]
    if (first === undefined) return
    const result = await file.append(lines, length, first.events[0]!.at).then(
      (): Appended => Effect.void,
      (cause: WriteFailed): Appended =>
        Effect.fail(new JournalUnavailable({ operation: "append", detail: cause.message, unsure: cause.unsure }))
    )
    for (const entry of accepted) entry.settle(result)
  }

  const loop: Effect.Effect<void> = Effect.suspend(() => {
    if (waiting.length === 0) {
      running = false
      idle?.()
      return Effect.void
    }
    const group = waiting
    waiting = []
    return Effect.andThen(Effect.promise(() => flush(group)), loop)
  })

  const writer: LogWriter = {
    size: file.size,
    length: file.length,
    append: (events) =>
      Effect.callback((resume) => {
        if (events.length === 0) return resume(Effect.void)
        if (closed !== undefined) return resume(Effect.fail(closed))
        const entry: Waiting = { events, body: LogFormat.body(events), settle: resume }
        waiting.push(entry)
        if (!running) {
          running = true
          fork(loop)
        }
        // Interrupted while it still waits, it is taken back; once its flush has begun, it is on its way.
        return Effect.sync(() => {
          waiting = waiting.filter((other) => other !== entry)
        })
      }),
    close: (reason) =>
      Effect.andThen(
        Effect.callback<void>((resume) => {
          closed ??= reason
          if (!running) return resume(Effect.void)
          idle = () => resume(Effect.void)
        }),
        Effect.promise(() => file.close())
      )
  }
  return writer
})

export const LogWriter = { make }
