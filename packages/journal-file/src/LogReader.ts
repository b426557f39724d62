/** Reading a log from its beginning, a piece at a time, whatever its size. */
import { JournalCorrupt, JournalUnavailable, type SessionId, type StoredEvent } from "@holdfast/core"
import { Effect, Option, Stream } from "effect"
import { type FileHandle, open } from "node:fs/promises"
import { LogFormat } from "./LogFormat.ts"
import { readBytes } from "./LogTail.ts"
import type { SessionFolder } from "./SessionFolder.ts"

/** How much is read at once, in bytes; a longer line is held whole. */
const CHUNK = 256 * 1024
const NEWLINE = 10

export const unavailable = (operation: string) => (cause: unknown): JournalUnavailable =>
  new JournalUnavailable({
    operation,
    detail: cause instanceof Error ? cause.message : String(cause),
    unsure: false
  })

/** `undefined` for a file or folder that does not exist; throws what it is given otherwise. */
export const missing = (cause: { readonly code?: string }): undefined => {
  if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return undefined
  throw cause
}

interface State {
  /** Where the next line begins, in bytes. */
  readonly offset: number
  readonly seq: number
  readonly fault: JournalCorrupt | JournalUnavailable | undefined
}

/** At least one whole line from `offset` on, or nothing when there is none before `end`. */
const readLines = async (file: FileHandle, offset: number, end: number): Promise<Buffer> => {
  for (let size = CHUNK;; size *= 2) {
    const bytes = await readBytes(file, offset, Math.min(offset + size, end))
    const whole = bytes.lastIndexOf(NEWLINE) + 1
    if (whole > 0 || offset + size >= end) return bytes.subarray(0, whole)
  }
}

const decode = (session: SessionId, bytes: Buffer, from: number, last: boolean, state: State) => {
  const events: Array<StoredEvent> = []
  let { offset, seq } = state
  const fail = (fault: JournalCorrupt | JournalUnavailable) => ({ events, next: { offset, seq, fault } })
  const stop = (detail: string) => fail(new JournalCorrupt({ session, seq, type: "", detail, offset }))
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, start) + 1
    const line = bytes.subarray(start, end - 1)
    if (offset === 0) {
      const header = LogFormat.parseHeader(line)
      if (header === undefined) return stop("the first line is not the header of a journal")
      if (header.format !== LogFormat.version) {
        const detail = `the log has format ${header.format}, this program knows ${LogFormat.version}`
        return fail(unavailable("read")(detail))
      }
    } else {
      const prefix = LogFormat.parsePrefix(line)
      const parsed = prefix === undefined || seq + prefix.count <= from ? undefined : LogFormat.parseLine(session, line)
      const skipped = prefix !== undefined && prefix.seq === seq && seq + prefix.count <= from
      if (parsed === undefined && !skipped) {
        // A last line that holds a NUL is a write that lost power, and was never acknowledged.
        if (last && end === bytes.length && line.includes(0)) return { events, next: undefined }
        return stop("the line cannot be read")
      }
      if (prefix !== undefined && prefix.seq !== seq) return stop(`event ${seq} is missing: ${prefix.seq} follows`)
      for (const event of parsed ?? []) if (event.seq >= from) events.push(event)
      seq += prefix?.count ?? 0
    }
    offset += end - start
    start = end
  }
  return { events, next: { offset, seq, fault: undefined } }
}

/**
 * The events from `from` on. `extent` is how many bytes a writer in this program has had acknowledged; without one, what
 * the file holds in whole lines counts.
 */
export const readLog = (
  session: SessionId,
  folder: SessionFolder,
  from: number,
  extent: number | undefined
): Stream.Stream<StoredEvent, JournalUnavailable | JournalCorrupt> =>
  Stream.unwrap(Effect.gen(function*() {
    if (extent === 0) return Stream.empty
    const file = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () =>
          open(folder.log, "r").catch((cause: { readonly code?: string }) => {
            // Without a writer of ours, no file means no session; with one, somebody deleted what was acknowledged.
            if (extent === undefined) return missing(cause)
            throw cause
          }),
        catch: unavailable("read")
      }),
      (opened) => Effect.promise(async () => opened?.close())
    )
    if (file === undefined) return Stream.empty
    const { size } = yield* Effect.tryPromise({ try: () => file.stat(), catch: unavailable("read") })
    const end = extent ?? size
    const begin: State = { offset: 0, seq: 0, fault: undefined }
    type Page = Effect.Effect<
      readonly [ReadonlyArray<StoredEvent>, Option.Option<State>],
      JournalUnavailable | JournalCorrupt
    >
    return Stream.paginate(begin, (state): Page => {
      if (state.fault !== undefined) return Effect.fail(state.fault)
      return Effect.map(
        Effect.tryPromise({ try: () => readLines(file, state.offset, end), catch: unavailable("read") }),
        (bytes): readonly [ReadonlyArray<StoredEvent>, Option.Option<State>] => {
          const last = state.offset + bytes.length === end
          const { events, next } = decode(session, bytes, from, last, state)
          const done = next === undefined || (next.fault === undefined && (bytes.length === 0 || next.offset >= end))
          return [events, done ? Option.none() : Option.some(next)]
        }
      )
    })
  }))
