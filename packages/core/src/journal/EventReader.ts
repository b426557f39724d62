/** Between the stored form of events and the form that the folds read. */
import { Exit, Schema, Stream } from "effect"
import { JournalCorrupt, UnknownEvent } from "./Journal.ts"
import type { EventDefinition, NewEvent, SessionEvent, SessionId, StoredEvent } from "./SessionEvent.ts"

export interface EventReader {
  readonly encode: (session: SessionId, seq: number, at: number, event: NewEvent) => StoredEvent
  readonly decode: <E>(
    stored: Stream.Stream<StoredEvent, E>
  ) => Stream.Stream<SessionEvent, E | JournalCorrupt | UnknownEvent>
  /** How many ignorable events of unknown types were skipped so far. */
  readonly skipped: () => number
}

const make = (definitions: ReadonlyMap<string, EventDefinition>): EventReader => {
  const decoders = new Map(
    [...definitions].map(([type, definition]) => [type, {
      definition,
      decode: Schema.decodeUnknownExit(definition.schema, { onExcessProperty: "error" })
    }])
  )
  let skipped = 0

  const one = (stored: StoredEvent): SessionEvent | JournalCorrupt | UnknownEvent => {
    const known = decoders.get(stored.type)
    if (known === undefined) {
      if (stored.ignorable !== true) {
        return new UnknownEvent({ session: stored.session, seq: stored.seq, type: stored.type })
      }
      // It keeps its place and its payload, so that a fork carries it on; no fold listens to it.
      skipped++
      return placed(stored, stored.data)
    }
    const { definition } = known
    let data = stored.data
    for (let version = stored.version; version < definition.version; version++) {
      const upcast = definition.upcasters[version]
      if (upcast === undefined) return corrupt(stored, `version ${version} is too old to be read`)
      data = upcast(data)
    }
    if (stored.version > definition.version) {
      return corrupt(
        stored,
        `version ${stored.version} is newer than the ${definition.version} that this program reads`
      )
    }
    const exit = known.decode(data)
    if (Exit.isFailure(exit)) return corrupt(stored, issue(exit))
    return placed(stored, exit.value)
  }

  return {
    skipped: () => skipped,
    encode: (session, seq, at, event) => {
      const definition = definitions.get(event.type)
      // An event that no reader could read again must never reach the journal.
      if (definition === undefined) throw new Error(`The event type "${event.type}" is not registered with EventTypes`)
      return {
        session,
        seq,
        at,
        type: event.type,
        version: definition.version,
        ...(definition.unknown === "ignorable" ? { ignorable: true as const } : {}),
        data: event.data as Schema.Json
      }
    },
    decode: (stored) =>
      stored.pipe(
        Stream.mapArray((batch): readonly [Batch] => {
          const events: Array<SessionEvent> = []
          for (const item of batch) {
            const event = one(item)
            // What stands before the fault is passed on first: an intact prefix stays readable.
            if (event instanceof JournalCorrupt || event instanceof UnknownEvent) return [{ events, fault: event }]
            events.push(event)
          }
          return [{ events, fault: undefined }]
        }),
        Stream.flatMap(({ events, fault }): Stream.Stream<SessionEvent, JournalCorrupt | UnknownEvent> =>
          fault === undefined
            ? Stream.fromIterable(events)
            : Stream.concat(Stream.fromIterable(events), Stream.fail(fault))
        )
      )
  }
}

interface Batch {
  readonly events: ReadonlyArray<SessionEvent>
  readonly fault: JournalCorrupt | UnknownEvent | undefined
}

const placed = (stored: StoredEvent, data: unknown): SessionEvent =>
  ({ type: stored.type, data, session: stored.session, seq: stored.seq, at: stored.at }) as unknown as SessionEvent

const corrupt = (stored: StoredEvent, detail: string): JournalCorrupt =>
  new JournalCorrupt({ session: stored.session, seq: stored.seq, type: stored.type, detail })

const issue = (exit: Exit.Exit<unknown, Schema.SchemaError>): string => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value.message : "the payload does not fit its schema"
}

/** Makes readers for a set of event types. */
export const EventReader = { make }
