/** Between the stored form of events and the form that the folds read. */
import { Exit, Schema, Stream } from "effect"
import { EventRejected, JournalCorrupt, UnknownEvent } from "./Journal.ts"
import type { EventDefinition, NewEvent, SessionEvent, SessionId, StoredEvent } from "./SessionEvent.ts"

export interface EventReader {
  /** The stored form of an event that is about to be written, or why no reader could read it again. */
  readonly encode: (session: SessionId, seq: number, at: number, event: NewEvent) => StoredEvent | EventRejected
  /** The events of one session as they are read from `from` (default 0) on; a gap in their numbers is a corruption. */
  readonly decode: <E>(
    stored: Stream.Stream<StoredEvent, E>,
    from?: number
  ) => Stream.Stream<SessionEvent, E | JournalCorrupt | UnknownEvent>
}

const make = (definitions: ReadonlyMap<string, EventDefinition>): EventReader => {
  const codecs = new Map(
    [...definitions].map(([type, definition]) => [type, {
      definition,
      decode: Schema.decodeUnknownExit(definition.schema, { onExcessProperty: "error" }),
      // The payloads of the core are their own encoding, and their types are checked where they are made.
      encode: type.startsWith("x-") ? Schema.encodeUnknownExit(definition.schema) : undefined
    }])
  )

  const one = (stored: StoredEvent, expected: number): SessionEvent | JournalCorrupt | UnknownEvent => {
    if (stored.seq !== expected) {
      return new JournalCorrupt({
        session: stored.session,
        seq: expected,
        type: stored.type,
        detail: `event ${expected} was expected and event ${stored.seq} was found`
      })
    }
    const known = codecs.get(stored.type)
    if (known === undefined) {
      if (stored.ignorable !== true) {
        return new UnknownEvent({ session: stored.session, seq: stored.seq, type: stored.type })
      }
      // It keeps its place and its payload, so that a fork carries it on; no fold listens to it.
      return { ...placed(stored, stored.data), skipped: true }
    }
    const current = upcast(stored, known.definition)
    if (current instanceof JournalCorrupt) return current
    const exit = known.decode(current.data)
    return Exit.isFailure(exit) ? corrupt(stored, issue(exit)) : placed(stored, exit.value)
  }

  return {
    encode: (session, seq, at, event) => {
      const known = codecs.get(event.type)
      if (known === undefined) {
        return new EventRejected({ session, type: event.type, detail: "the type is not registered with EventTypes" })
      }
      const { definition, encode } = known
      const encoded = encode?.(event.data)
      if (encoded !== undefined && Exit.isFailure(encoded)) {
        return new EventRejected({ session, type: event.type, detail: issue(encoded) })
      }
      return {
        session,
        seq,
        at,
        type: event.type,
        version: definition.version,
        ...(definition.unknown === "ignorable" ? { ignorable: true as const } : {}),
        data: encoded === undefined ? event.data as Schema.Json : encoded.value
      }
    },
    decode: (stored, from = 0) =>
      Stream.suspend(() => {
        let next = from
        return stored.pipe(
          Stream.mapArray((batch): readonly [Batch] => {
            const events: Array<SessionEvent> = []
            for (const item of batch) {
              const event = one(item, next)
              // What stands before the fault is passed on first: an intact prefix stays readable.
              if (event instanceof JournalCorrupt || event instanceof UnknownEvent) return [{ events, fault: event }]
              events.push(event)
              next++
            }
            return [{ events, fault: undefined }]
          }),
          Stream.flatMap(({ events, fault }): Stream.Stream<SessionEvent, JournalCorrupt | UnknownEvent> =>
            fault === undefined
              ? Stream.fromIterable(events)
              : Stream.concat(Stream.fromIterable(events), Stream.fail(fault))
          )
        )
      })
  }
}

/** The payload in the form of the version that this program reads. */
const upcast = (stored: StoredEvent, definition: EventDefinition): { readonly data: Schema.Json } | JournalCorrupt => {
  if (!Number.isSafeInteger(stored.version) || stored.version < 1) {
    return corrupt(stored, "its version is not a number")
  }
  if (stored.version > definition.version) {
    return corrupt(stored, `version ${stored.version} is newer than the ${definition.version} that this program reads`)
  }
  let data = stored.data
  for (let version = stored.version; version < definition.version; version++) {
    const step = definition.upcasters[version]
    if (step === undefined) return corrupt(stored, `version ${version} is too old to be read`)
    try {
      data = step(data)
    } catch {
      return corrupt(stored, `bringing it from version ${version} to ${version + 1} failed`)
    }
  }
  return { data }
}

interface Batch {
  readonly events: ReadonlyArray<SessionEvent>
  readonly fault: JournalCorrupt | UnknownEvent | undefined
}

const placed = (stored: StoredEvent, data: unknown): SessionEvent =>
  ({ type: stored.type, data, session: stored.session, seq: stored.seq, at: stored.at }) as unknown as SessionEvent

const corrupt = (stored: StoredEvent, detail: string): JournalCorrupt =>
  new JournalCorrupt({ session: stored.session, seq: stored.seq, type: stored.type, detail })

const issue = (exit: Exit.Failure<unknown, Schema.SchemaError>): string => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value.message : "the payload does not fit its schema"
}

/** Makes readers for a set of event types. */
export const EventReader = { make }
