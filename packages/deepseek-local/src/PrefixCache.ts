import { createHash } from "node:crypto"

/** How the cache remembers and forgets. */
export interface PrefixCacheOptions {
  /**
   * `blocks` (default): every whole block of a prompt can be reused on its own, which is what flash models were seen to
   * do in 2026. `units`: a hit is one of the stored prefixes as a whole, as DeepSeek's documentation describes it and
   * the v4-pro preview behaved; the pessimistic bound.
   */
  readonly mode?: "blocks" | "units"
  /** Tokens in a block: 128 for V4 and V4.1 (default), 64 for V3.2. */
  readonly block?: number
  /** Milliseconds until what a prompt added can be hit. Default 0; about 2000 is realistic. */
  readonly inputLag?: number
  /** Milliseconds until what a reply added can be hit. Default 0; about 6000 is realistic. */
  readonly outputLag?: number
  /** Milliseconds without use after which a block is gone. Default 6 hours; the documentation says hours to days. */
  readonly ttl?: number
  /** Share of the writes that never happen, 0 to 1: the documentation calls the cache best effort. Default 0. */
  readonly dropRate?: number
  /** Decides which writes are dropped. */
  readonly seed?: number
  /** `units` only: also store a prefix every so many tokens. Off by default; the real figure is not published. */
  readonly interval?: number
  /** Blocks kept over all namespaces; the least recently used go first. Default 500000. */
  readonly maximumBlocks?: number
}

interface Entry {
  readyAt: number
  lastUsed: number
}

interface Namespace {
  readonly entries: Map<string, Entry>
  /** `units` only: blocks of earlier requests, to find where two of them part. */
  readonly seen: Set<string>
}

interface Sequence {
  readonly ids: Int32Array
  readonly keys: Array<string>
}

const bytesOf = (ids: Int32Array, from: number, to: number): Uint8Array =>
  new Uint8Array(ids.buffer, ids.byteOffset + from * 4, (to - from) * 4)

/**
 * A provider's prefix cache over token ids. Each block has a key that is chained to the keys before it, so a key
 * stands for a whole prefix; a new prompt is compared with recent ones first, and only blocks that are new are hashed.
 *
 * @example
 * const cache = new PrefixCache({ block: 128 })
 * cache.hit("key/user/model", ids, now)         // tokens served from the cache
 * cache.persist("key/user/model", ids, now, "input")
 */
export class PrefixCache {
  readonly block: number
  private readonly options: PrefixCacheOptions
  private readonly namespaces = new Map<string, Namespace>()
  private recent: Array<Sequence> = []
  private size = 0

  constructor(options: PrefixCacheOptions = {}) {
    this.options = options
    this.block = options.block ?? 128
  }

  /**
   * How many tokens of this prompt are served from the cache at this time (a multiple of the block).
   * The namespace keeps accounts, users and models apart, which never share a prefix.
   */
  hit(namespace: string, ids: Int32Array, now: number): number {
    const entries = this.namespaces.get(namespace)?.entries
    if (entries === undefined) return 0
    const keys = this.keysOf(ids)
    let found = 0
    for (let index = 0; index < keys.length; index++) {
      const entry = this.live(entries, keys[index] ?? "", now)
      if (entry !== undefined && entry.readyAt <= now) {
        found = index + 1
        entry.lastUsed = now
      } else if (this.options.mode !== "units") break
    }
    return found * this.block
  }

  /**
   * Remembers a prompt (`input`) or a prompt and its reply (`output`), usable after the lag of its kind. For an output,
   * `promptTokens` says where it begins: the blocks before it belong to the input and to its lag.
   */
  persist(namespace: string, ids: Int32Array, now: number, kind: "input" | "output", promptTokens = 0): void {
    let space = this.namespaces.get(namespace)
    if (space === undefined) {
      space = { entries: new Map(), seen: new Set() }
      this.namespaces.set(namespace, space)
    }
    const keys = this.keysOf(ids)
    const last = keys[keys.length - 1]
    if (last === undefined) return
    const readyAt = now + (kind === "input" ? this.options.inputLag ?? 0 : this.options.outputLag ?? 0)
    const dropped = this.dropped(last, kind)
    if (this.options.mode !== "units") {
      const own = dropped ? [] : keys.slice(Math.floor(promptTokens / this.block))
      for (const key of own) this.store(space.entries, key, readyAt, now)
    } else {
      const common = this.commonBlocks(space.seen, keys)
      for (const key of keys) space.seen.add(key)
      if (!dropped) {
        const interval = this.options.interval ?? 0
        const step = Math.max(1, Math.floor(interval / this.block))
        if (interval > 0) {
          for (let at = step; at < keys.length; at += step) this.store(space.entries, keys[at - 1] ?? "", readyAt, now)
        }
        if (kind === "input" && common > 0) this.store(space.entries, keys[common - 1] ?? "", readyAt, now)
        this.store(space.entries, last, readyAt, now)
      }
    }
    this.evict()
  }

  /** Forgets everything, as the provider does after hours to days. */
  clear(): void {
    this.namespaces.clear()
    this.recent = []
    this.size = 0
  }

  private live(entries: Map<string, Entry>, key: string, now: number): Entry | undefined {
    const entry = entries.get(key)
    if (entry === undefined || now - entry.lastUsed <= (this.options.ttl ?? 6 * 3_600_000)) return entry
    entries.delete(key)
    this.size -= 1
    return undefined
  }

  private store(entries: Map<string, Entry>, key: string, readyAt: number, now: number): void {
    const entry = this.live(entries, key, now)
    if (entry === undefined) {
      entries.set(key, { readyAt, lastUsed: now })
      this.size += 1
    } else {
      entry.readyAt = Math.min(entry.readyAt, readyAt)
      entry.lastUsed = now
    }
  }

  private commonBlocks(seen: ReadonlySet<string>, keys: ReadonlyArray<string>): number {
    let common = 0
    while (common < keys.length && seen.has(keys[common] ?? "")) common += 1
    return common
  }

  private dropped(key: string, kind: string): boolean {
    const rate = this.options.dropRate ?? 0
    if (rate <= 0) return false
    const digest = createHash("sha256").update(`${this.options.seed ?? 0}/${kind}/${key}`).digest()
    return digest.readUInt32LE(0) / 0x1_0000_0000 < rate
  }

  private evict(): void {
    const maximum = this.options.maximumBlocks ?? 500_000
    if (this.size <= maximum) return
    const all: Array<{ readonly entries: Map<string, Entry>; readonly key: string; readonly lastUsed: number }> = []
    for (const { entries } of this.namespaces.values()) {
      for (const [key, entry] of entries) all.push({ entries, key, lastUsed: entry.lastUsed })
    }
    all.sort((a, b) => a.lastUsed - b.lastUsed)
    // Below the limit by a tenth, so that the next writes do not sort again.
    for (const { entries, key } of all.slice(0, all.length - Math.floor(maximum * 0.9))) {
      entries.delete(key)
      this.size -= 1
    }
  }

  private keysOf(ids: Int32Array): ReadonlyArray<string> {
    const latest = this.recent[0]
    if (latest?.ids === ids) return latest.keys
    const blocks = Math.floor(ids.length / this.block)
    let best: Sequence | undefined
    let shared = 0
    for (const sequence of this.recent) {
      const length = this.sharedBlocks(sequence, ids, blocks)
      if (best === undefined || length > shared) {
        best = sequence
        shared = length
      }
      if (shared === blocks) break
    }
    const keys = best === undefined ? [] : best.keys.slice(0, shared)
    for (let index = shared; index < blocks; index++) {
      keys.push(
        createHash("sha256").update(keys[index - 1] ?? "").update(
          bytesOf(ids, index * this.block, (index + 1) * this.block)
        ).digest("base64")
      )
    }
    if (best !== undefined && shared === best.keys.length) this.recent = this.recent.filter((item) => item !== best)
    this.recent.unshift({ ids, keys })
    if (this.recent.length > 8) this.recent.pop()
    return keys
  }

  private sharedBlocks(sequence: Sequence, ids: Int32Array, blocks: number): number {
    const limit = Math.min(sequence.keys.length, blocks) * this.block
    const other = sequence.ids
    let at = 0
    while (at < limit && other[at] === ids[at]) at += 1
    return Math.floor(at / this.block)
  }
}
