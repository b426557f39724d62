/** Keeps the head and the tail of a flood, in bounded memory. */

/** Bytes of a stream, as far as they were kept. */
export interface KeptOutput {
  readonly head: Buffer
  readonly tail: Buffer
  /** Bytes between the two that were not kept. */
  readonly lost: number
}

/** A buffer for at most about `limit` bytes: the first half of them, and the last. */
export class OutputBuffer {
  readonly #half: number
  readonly #head: Array<Buffer> = []
  #tail: Array<Buffer> = []
  #headBytes = 0
  #tailBytes = 0
  #lost = 0

  constructor(limit: number) {
    this.#half = Math.max(1, Math.floor(limit / 2))
  }

  push(chunk: Buffer): void {
    const room = this.#half - this.#headBytes
    const first = chunk.subarray(0, room)
    if (first.length > 0) {
      // A copy where only part is kept, so that a small part does not hold a large chunk.
      this.#head.push(first.length === chunk.length ? first : Buffer.from(first))
      this.#headBytes += first.length
    }
    const rest = chunk.subarray(first.length)
    if (rest.length === 0) return
    this.#tail.push(rest)
    this.#tailBytes += rest.length
    // Many small chunks cost more than their bytes; they are joined now and then.
    if (this.#tail.length > 1024 && this.#tailBytes <= this.#half) this.#tail = [Buffer.concat(this.#tail)]
    while (this.#tailBytes > this.#half) {
      const oldest = this.#tail[0]!
      const excess = this.#tailBytes - this.#half
      const gone = Math.min(excess, oldest.length)
      if (gone === oldest.length) this.#tail.shift()
      else this.#tail[0] = oldest.subarray(gone)
      this.#tailBytes -= gone
      this.#lost += gone
    }
  }

  read(): KeptOutput {
    return { head: Buffer.concat(this.#head), tail: Buffer.concat(this.#tail), lost: this.#lost }
  }
}

/** The outer bytes of kept output, `limit` at most: work on a text costs its length. */
export const ends = (kept: KeptOutput, limit: number): KeptOutput => {
  const size = kept.head.length + kept.tail.length
  if (size <= limit) return kept
  const half = Math.floor(limit / 2)
  const all = kept.lost === 0 ? Buffer.concat([kept.head, kept.tail]) : undefined
  return {
    head: (all ?? kept.head).subarray(0, half),
    tail: (all ?? kept.tail).subarray(-half),
    lost: kept.lost + size - Math.min(half, (all ?? kept.head).length) - Math.min(half, (all ?? kept.tail).length)
  }
}

// A cut can fall into a character of several bytes; its remains are left out.
const decodeTail = (bytes: Buffer): string => {
  let from = 0
  while (from < 3 && from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from++
  return bytes.subarray(from).toString("utf8")
}

const decodeHead = (bytes: Buffer): string => {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return bytes.subarray(0, length > back ? bytes.length - back : bytes.length).toString("utf8")
  }
  return bytes.toString("utf8")
}

/** The text of kept output; `marker` stands for what was lost. NUL, which some journals cannot hold, is replaced. */
export const outputText = (kept: KeptOutput, marker: (bytes: number) => string): string => {
  const text = kept.lost === 0
    ? Buffer.concat([kept.head, kept.tail]).toString("utf8")
    : `${decodeHead(kept.head)}${marker(kept.lost)}${decodeTail(kept.tail)}`
  return text.replaceAll("\0", "\uFFFD")
}

/** Cuts the middle out of a text, to at most `limit` characters and the marker, never inside a pair of surrogates. */
export const cutMiddle = (text: string, limit: number, marker: (characters: number) => string): string => {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  const isHigh = (at: number) => /[\uD800-\uDBFF]/.test(text[at] ?? "")
  const headEnd = isHigh(half - 1) ? half - 1 : half
  const tailStart = isHigh(text.length - half - 1) ? text.length - half + 1 : text.length - half
  return text.slice(0, headEnd) + marker(tailStart - headEnd) + text.slice(tailStart)
}
