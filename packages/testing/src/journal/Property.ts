/** What a conformance test of a journal is made of. */
import { Journal, type JournalWriter, SessionId, type StoredEvent } from "@holdfast/core"
import { Cause, Effect, type Layer, Stream } from "effect"
import { AssertionError, deepStrictEqual, ok } from "node:assert"

/** What an adapter tells about itself, so that the suite knows what to ask of it. */
export interface JournalUnderTest {
  /** The journal. It is built anew for each property; two builds have the same storage if the journal is persistent. */
  readonly layer: Layer.Layer<Journal, unknown>
  /** Whether what was appended is there again after the layer was closed and built anew. Default true. */
  readonly persistent?: boolean
  /**
   * Makes the storage fail for the open journal, and mends it. While it fails an append must end with
   * `JournalUnavailable`; afterwards the journal must go on without being built anew.
   */
  readonly fault?: {
    readonly begin: Effect.Effect<void, unknown>
    readonly end: Effect.Effect<void, unknown>
  }
}

/** One promise of the contract as a program that fails with an `AssertionError` where the promise is broken. */
export interface JournalProperty {
  readonly name: string
  readonly run: Effect.Effect<void, AssertionError>
}

const broken = (message: string, cause?: unknown): AssertionError =>
  Object.assign(new AssertionError({ message }), cause === undefined ? {} : { cause })

/** Makes a property of a program: every failure and every defect is a broken promise. */
export const property = (name: string, run: Effect.Effect<void, unknown>): JournalProperty => ({
  name,
  run: Effect.catchCause(run, (cause) => {
    const error = Cause.squash(cause)
    return Effect.fail(error instanceof AssertionError ? error : broken(`${name}: ${Cause.pretty(cause)}`, error))
  })
})

/** A property of one build of the journal. */
export const withJournal = (
  name: string,
  test: JournalUnderTest,
  run: (journal: Journal["Service"]) => Effect.Effect<void, unknown>
): JournalProperty => property(name, Effect.provide(Effect.flatMap(Journal, run), test.layer))

/** A session name that no other property and no earlier run has used. */
export const freshSession = (hint = ""): SessionId => SessionId.make(`conformance-${crypto.randomUUID()}${hint}`)

/** Times of the events that the suite makes begin here (2020-09-13T12:26:40Z) and go up by a millisecond an event. */
const EPOCH = 1_600_000_000_000

/** `count` events from `seq` on. */
export const batch = (
  session: SessionId,
  seq: number,
  count = 1,
  data: (seq: number) => StoredEvent["data"] = (n) => ({ n })
): ReadonlyArray<StoredEvent> =>
  Array.from({ length: count }, (_, i) => ({
    session,
    seq: seq + i,
    at: EPOCH + seq + i,
    type: "x-conformance",
    version: 1,
    data: data(seq + i)
  }))

export const readAll = (journal: Journal["Service"], session: SessionId, from?: number) =>
  Stream.runCollect(journal.read(session, from))

/** Opens a writer for as long as `use` runs. */
export const writing = <A, E>(
  journal: Journal["Service"],
  session: SessionId,
  use: (writer: JournalWriter) => Effect.Effect<A, E>
) => Effect.scoped(Effect.flatMap(journal.writer(session), use))

/** The tag of the error that an effect fails with, or `undefined` when it succeeds. */
export const tagOf = <A, E extends { readonly _tag: string }>(
  self: Effect.Effect<A, E>
): Effect.Effect<E["_tag"] | undefined> =>
  Effect.match(self, { onFailure: (error) => error._tag, onSuccess: () => undefined })

export const same = (actual: unknown, expected: unknown, message: string): Effect.Effect<void> =>
  Effect.sync(() => deepStrictEqual(actual, expected, message))

export const holds = (condition: boolean, message: string): Effect.Effect<void> =>
  Effect.sync(() => ok(condition, message))
