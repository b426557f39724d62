/** The program that is killed: it appends without end and says on its standard output what was acknowledged. */
import { Journal, SessionId, type StoredEvent } from "@holdfast/core"
import { Effect, type Layer, Schedule, Stream } from "effect"
import { writeSync } from "node:fs"

/** What each event says of its batch, so that a torn or a lost one is seen. */
export interface CrashData {
  /** Names the batch; no two have the same. */
  readonly batch: string
  readonly index: number
  readonly of: number
}

/** An acknowledged batch, as a line of the program's output. */
export interface Acknowledged extends CrashData {
  readonly session: string
  readonly seq: number
}

/** The first line of output: the program is loaded and now opens the journal. */
export const READY = "ready"

const say = (line: string) => writeSync(1, `${line}\n`)

/** Up to 4 events a batch, of up to about 3 KB, so that batches span the pages and blocks of what they are stored in. */
const makeBatch = (session: SessionId, seq: number): ReadonlyArray<StoredEvent> => {
  const of = 1 + Math.floor(Math.random() * 4)
  const batch = crypto.randomUUID()
  return Array.from({ length: of }, (_, index) => ({
    session,
    seq: seq + index,
    at: Date.now(),
    type: "x-crash",
    version: 1,
    data: { batch, index, of, padding: "p".repeat(Math.floor(Math.random() * 3000)) }
  }))
}

const write = (journal: Journal["Service"], session: SessionId) =>
  Effect.scoped(Effect.gen(function*() {
    const writer = yield* journal.writer(session)
    let seq = yield* Stream.runFold(journal.read(session), () => 0, (count) => count + 1)
    for (;;) {
      const batch = makeBatch(session, seq)
      yield* writer.append(batch)
      const { batch: name, of } = batch[0]!.data as unknown as CrashData
      say(JSON.stringify({ session, seq, batch: name, index: 0, of } satisfies Acknowledged))
      seq += batch.length
    }
  }))

/**
 * Appends to `sessions` at the same time until it is killed. Where another writer is in the way, it tries again.
 * Everything else that goes wrong ends the program with a status other than 0.
 */
export const crashWriter = (
  layer: Layer.Layer<Journal, unknown>,
  sessions: ReadonlyArray<string>
): Promise<void> => {
  say(READY)
  const program = Effect.flatMap(Journal, (journal) =>
    Effect.forEach(
      sessions,
      (name) =>
        Effect.retry(write(journal, SessionId.make(name)), {
          while: (error) => error._tag === "JournalConflict",
          schedule: Schedule.spaced("5 millis")
        }),
      { concurrency: "unbounded", discard: true }
    ))
  return Effect.runPromise(Effect.provide(program, layer))
}
