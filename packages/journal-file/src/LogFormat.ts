/**
 * The text of a log: a header line, then one line a transaction.
 *
 *     {"journal":"holdfast","format":1,"createdAt":1600000000000,"session":"..."}
 *     {"seq":0,"count":2,"at":1600000000001,"stamp":1600000000001000,"events":[{...},{...}]}
 *
 * What a listing or a skipping reader needs stands at the beginning of a line, so that it is found without reading the
 * rest. A payload's line breaks, NUL and lone surrogates are escapes in JSON, so a line is one line of valid UTF-8.
 */
import type { SessionId, StoredEvent } from "@holdfast/core"

/** The version of the format that this program writes. */
const version = 1

export interface Header {
  readonly format: number
  readonly createdAt: number
  readonly session: string
}

/** The beginning of a line: its first event's place, how many there are, the time of the last, and when it was written. */
export interface Prefix {
  readonly seq: number
  readonly count: number
  readonly at: number
  readonly stamp: number
}

const header = (session: SessionId, createdAt: number): string =>
  `${JSON.stringify({ journal: "holdfast", format: version, createdAt, session })}\n`

/** The events of a transaction as they stand in its line. */
const body = (events: ReadonlyArray<StoredEvent>): string =>
  events.map(({ at, data, ignorable, type, version: schema }) =>
    JSON.stringify({ at, type, version: schema, ...(ignorable === true ? { ignorable } : {}), data })
  ).join(",")

const line = (events: ReadonlyArray<StoredEvent>, stamp: number, encoded: string): string => {
  const { at } = events[events.length - 1]!
  return `{"seq":${events[0]!.seq},"count":${events.length},"at":${at},"stamp":${stamp},"events":[${encoded}]}\n`
}

const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const parseHeader = (bytes: Uint8Array): Header | undefined => {
  try {
    const value = JSON.parse(text.decode(bytes))
    return value?.journal === "holdfast" && typeof value.session === "string" ? value : undefined
  } catch {
    return undefined
  }
}

const prefixPattern = /^\{"seq":(\d+),"count":(\d+),"at":([-\d.e+]+),"stamp":(\d+),"events":\[/
/** Longer than any prefix: four numbers of at most 24 characters and their names. */
const PREFIX_BYTES = 160

const parsePrefix = (bytes: Uint8Array): Prefix | undefined => {
  const match = prefixPattern.exec(Buffer.from(bytes.subarray(0, PREFIX_BYTES)).toString("latin1"))
  if (match === null) return undefined
  return { seq: Number(match[1]), count: Number(match[2]), at: Number(match[3]), stamp: Number(match[4]) }
}

/** The events of a line, or `undefined` when it is not one. */
const parseLine = (session: SessionId, bytes: Uint8Array): ReadonlyArray<StoredEvent> | undefined => {
  const prefix = parsePrefix(bytes)
  if (prefix === undefined) return undefined
  try {
    const { events } = JSON.parse(text.decode(bytes)) as { readonly events: ReadonlyArray<StoredEvent> }
    if (events.length !== prefix.count) return undefined
    return events.map(({ at, data, ignorable, type, version: schema }, i) => ({
      session,
      seq: prefix.seq + i,
      at,
      type,
      version: schema,
      ...(ignorable === true ? { ignorable } : {}),
      data
    }))
  } catch {
    return undefined
  }
}

export const LogFormat = { version, header, body, line, parseHeader, parsePrefix, parseLine }
