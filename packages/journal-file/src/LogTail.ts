/** The end of a log: where the last whole line ends, and what it says. */
import type { FileHandle } from "node:fs/promises"
import { type Header, LogFormat, type Prefix } from "./LogFormat.ts"

const CHUNK = 64 * 1024
const NEWLINE = 10

export interface LogTail {
  /** What the first line says; `undefined` when not even that was written whole. */
  readonly header: Header | undefined
  /** How many bytes of the file are whole lines. */
  readonly end: number
  /** The beginning of the last transaction; `undefined` when there is none. */
  readonly last: Prefix | undefined
}

/** The log has a last line that was written whole and does not parse: that is damage, not a torn write. */
export class DamagedTail extends Error {
  readonly offset: number
  constructor(offset: number) {
    super(`the last line, at byte ${offset}, cannot be read`)
    this.offset = offset
  }
}

/** The bytes from `start` to `end`. */
export const readBytes = async (file: FileHandle, start: number, end: number): Promise<Buffer> => {
  const buffer = Buffer.allocUnsafe(end - start)
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, start + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

/** The place after the last line break before `end`, or 0. */
const lineStart = async (file: FileHandle, end: number): Promise<number> => {
  for (let high = end; high > 0;) {
    const low = Math.max(0, high - CHUNK)
    const found = (await readBytes(file, low, high)).lastIndexOf(NEWLINE)
    if (found >= 0) return low + found + 1
    high = low
  }
  return 0
}

/** The first line, and how many bytes it has; none when it was not written whole. */
export const readHeader = async (
  file: FileHandle,
  end: number
): Promise<{ readonly header: Header | undefined; readonly size: number }> => {
  for (let size = Math.min(CHUNK, end);; size = Math.min(size * 2, end)) {
    const bytes = await readBytes(file, 0, size)
    const line = bytes.indexOf(NEWLINE)
    if (line >= 0) return { header: LogFormat.parseHeader(bytes.subarray(0, line)), size: line + 1 }
    if (size === end) return { header: undefined, size: 0 }
  }
}

/**
 * Looks at the first and the last line only. Bytes after the last line break are a write that was cut short. So is a
 * last line that holds a NUL, which no line has: a disk that lost power may keep a file's new length without its blocks.
 */
export const readTail = async (file: FileHandle, size: number): Promise<LogTail> => {
  const { header, size: first } = await readHeader(file, size)
  let end = await lineStart(file, size)
  if (header === undefined) {
    if (end > 0) throw new DamagedTail(0)
    return { header, end: 0, last: undefined }
  }
  while (end > first) {
    const start = await lineStart(file, end - 1)
    const bytes = await readBytes(file, start, end)
    const last = LogFormat.parsePrefix(bytes)
    if (last !== undefined && !bytes.includes(0) && bytes.at(-2) === 0x7d) return { header, end, last }
    if (!bytes.includes(0)) throw new DamagedTail(start)
    end = start
  }
  return { header, end, last: undefined }
}
