/** Sessions that are open while their storage fails: what each is told, and that nothing acknowledged is lost to it. */
import {
  type Journal,
  type Session,
  SessionEvent,
  type SessionEvent as AnyEvent,
  SessionId,
  Sessions,
  type TransactError
} from "@holdfast/core"
import { Effect, Exit, Layer, Option, Stream } from "effect"
import { deepStrictEqual, ok } from "node:assert"

export interface FaultDrillOptions {
  /** The journal; it is built anew to look at what is left. */
  readonly layer: Layer.Layer<Journal, unknown>
  /** Makes the storage fail under the open sessions. */
  readonly begin: () => void
  /** Mends it, before the journal is opened again. */
  readonly end: () => void
  /** How many sessions are open. Default 3. */
  readonly sessions?: number
}

export interface FaultReport {
  /** What each session was told by the first transaction that the storage did not take. */
  readonly errors: ReadonlyArray<TransactError>
  /** Events that were acknowledged; all of them were found. */
  readonly acknowledged: number
}

/** More than any journal keeps in reserve, so that a full disk is soon noticed. */
const PADDING = "x".repeat(100_000)

/** How many transactions may still succeed after the fault began: a full file may have room inside. */
const TRIES = 2000

interface Kept {
  readonly session: Session
  readonly texts: Array<string>
  /** What a transaction said of whose fate nothing is known. */
  unsure: string | undefined
}

const write = (kept: Kept, text: string) =>
  kept.session.transact(() => ({
    events: ["a", "b"].map((half) =>
      SessionEvent.event("message/user", { text: `${text}${half}${PADDING}`, source: { kind: "user" } })
    ),
    value: undefined
  })).pipe(
    Effect.tap(() => Effect.sync(() => kept.texts.push(text))),
    Effect.tapError((error) =>
      Effect.sync(() => {
        if (error._tag === "JournalUnavailable" && error.unsure) kept.unsure = text
      })
    )
  )

const firstError = (kept: Kept, number: number) =>
  Effect.gen(function*() {
    for (let i = 0; i < TRIES; i++) {
      const exit = yield* Effect.exit(write(kept, `fault ${number}.${i} `))
      const error = Exit.findErrorOption(exit)
      if (Option.isSome(error)) return error.value
      ok(Exit.isSuccess(exit), "a failing storage is an error, not a defect")
      // The event loop turns, as it does in a program; a look at the file's place in its folder needs the clock to go on.
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    }
    throw new Error(`the storage took ${TRIES} transactions although it was made to fail`)
  })

/** The texts of whole batches; a half one is a broken promise. */
const textsOf = (events: ReadonlyArray<AnyEvent>): ReadonlyArray<string> => {
  const halves = events.flatMap((event) => event.type === "message/user" ? [event.data.text] : [])
  ok(halves.every((text, i) => text.endsWith(`${i % 2 === 0 ? "a" : "b"}${PADDING}`)), "no half batch is there")
  ok(halves.length % 2 === 0, "no half batch is at the end")
  return halves.filter((_, i) => i % 2 === 0).map((text) => text.slice(0, -1 - PADDING.length))
}

const check = (id: SessionId, found: ReadonlyArray<string>, kept: Kept) => {
  const unsure = kept.unsure !== undefined && found.includes(kept.unsure) && !kept.texts.includes(kept.unsure)
  deepStrictEqual(
    found.filter((text) => !unsure || text !== kept.unsure),
    kept.texts,
    `${id}: what was acknowledged is there, once and in order, and nothing else`
  )
}

/** Runs the drill. The promise is rejected with an `AssertionError` when something was lost, torn or unnoticed. */
export const faultDrill = (options: FaultDrillOptions): Promise<FaultReport> => {
  const { begin, end, layer, sessions: count = 3 } = options
  const ids = Array.from({ length: count }, () => SessionId.make(`drill-${crypto.randomUUID()}`))
  const journal = Sessions.layer.pipe(Layer.provide(layer))
  const stored = (id: SessionId) => Effect.flatMap(Sessions, (sessions) => Stream.runCollect(sessions.read(id)))

  const live = Effect.gen(function*() {
    const all = yield* Effect.forEach(ids, (id) =>
      Effect.map(
        Effect.flatMap(Sessions, (known) => known.create({ id })),
        (session): Kept => ({ session, texts: [], unsure: undefined })
      ))
    yield* Effect.forEach(all, (kept) => write(kept, "before "), { concurrency: "unbounded" })
    begin()
    const errors = yield* Effect.forEach(all, firstError, { concurrency: "unbounded" }).pipe(
      Effect.ensuring(Effect.sync(end))
    )
    for (const [i, kept] of all.entries()) {
      yield* write(kept, "after ")
      check(ids[i]!, textsOf(yield* stored(ids[i]!)), kept)
      deepStrictEqual(kept.session.view().length, (yield* stored(ids[i]!)).length, "the state is that of the log")
    }
    return { all, errors }
  })

  return Effect.runPromise(Effect.gen(function*() {
    const { all, errors } = yield* Effect.scoped(Effect.provide(live, journal))
    let acknowledged = 0
    yield* Effect.provide(
      Effect.forEach(ids, (id, i) =>
        Effect.gen(function*() {
          const kept = all[i]!
          const events = yield* stored(id)
          check(id, textsOf(events), kept)
          acknowledged += 1 + kept.texts.length * 2
          const session = yield* Effect.flatMap(Sessions, (sessions) => sessions.open(id))
          deepStrictEqual(session.view().length, events.length, `${id}: it opens again with all of them`)
        })).pipe(Effect.scoped),
      journal
    )
    return { errors, acknowledged }
  }))
}
