/** Reads lines of a file of any size: all of it is hashed and counted, and only what is shown is kept. */
import { isUtf8 } from "node:buffer"
import { createHash } from "node:crypto"
import type { FileHandle } from "node:fs/promises"
import { looksBinary } from "./Identity.ts"

export interface LineRange {
  /** The first line, from 1. */
  readonly offset: number
  readonly limit: number
  /** Characters in all. */
  readonly maxChars: number
  /** Characters of one line; what is longer is cut. */
  readonly maxLineChars: number
}

export interface FileLines {
  readonly lines: ReadonlyArray<string>
  /** Lines of the whole file. */
  readonly total: number
  readonly hash: string
  /** Lines that were cut, by number. */
  readonly cut: ReadonlyArray<number>
  readonly binary: boolean
  /** Whether every shown line is UTF-8. */
  readonly utf8: boolean
}

const CHUNK_BYTES = 256 * 1024

/** Reads `range` of an open file. Memory is bounded by the range, whatever the file. */
export const readLines = async (handle: FileHandle, range: LineRange, signal: AbortSignal): Promise<FileLines> => {
  const hash = createHash("sha256")
  const lines: Array<string> = []
  const cut: Array<number> = []
  let utf8 = true
  let chars = 0
  let full = false
  let number = 1
  let started = false
  let parts: Array<Buffer> = []
  let partBytes = 0
  let lineBytes = 0
  const maxLineBytes = range.maxLineChars * 4

  const wanted = () => !full && number >= range.offset && lines.length < range.limit
  const take = (part: Buffer) => {
    lineBytes += part.length
    if (!wanted() || partBytes >= maxLineBytes) return
    // A copy: the buffer is filled anew by the next read.
    const kept = Buffer.from(part.subarray(0, maxLineBytes - partBytes))
    parts.push(kept)
    partBytes += kept.length
  }
  const finish = () => {
    if (wanted()) {
      const bytes = Buffer.concat(parts)
      const whole = partBytes === lineBytes
      if (whole && !isUtf8(bytes)) utf8 = false
      const decoded = bytes.toString("utf8").replace(number === 1 ? /^\uFEFF/ : /(?!)/, "").replace(/\r$/, "")
        .replaceAll("\0", "\uFFFD")
      const line = cutLine(decoded, range.maxLineChars)
      if (lines.length > 0 && chars + line.length > range.maxChars) {
        full = true
      } else {
        lines.push(line)
        chars += line.length + 1
        if (!whole || line !== decoded) cut.push(number)
      }
    }
    parts = []
    partBytes = 0
    lineBytes = 0
    number++
  }

  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  let position = 0
  while (true) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position)
    if (bytesRead === 0) break
    const chunk = buffer.subarray(0, bytesRead)
    if (position === 0 && looksBinary(chunk)) {
      return { lines: [], total: 0, hash: "", cut: [], binary: true, utf8: false }
    }
    position += bytesRead
    hash.update(chunk)
    let from = 0
    while (from < chunk.length) {
      const end = chunk.indexOf(10, from)
      started = true
      take(chunk.subarray(from, end < 0 ? chunk.length : end))
      if (end < 0) break
      finish()
      started = false
      from = end + 1
    }
  }
  if (started) finish()
  return { lines, total: number - 1, hash: hash.digest("hex"), cut, binary: false, utf8 }
}

const cutLine = (line: string, max: number): string => {
  if (line.length <= max) return line
  // Not in the middle of a pair of surrogates: half a character is not text.
  const end = /[\uD800-\uDBFF]/.test(line[max - 1]!) ? max - 1 : max
  return line.slice(0, end)
}
