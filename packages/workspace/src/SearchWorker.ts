/**
 * The part of `grep` that runs beside the main thread: a regular expression can take for ever on one line, and only a
 * thread of its own can be stopped then. Knows nothing of Effect, so that it starts fast.
 */
import type { FileHandle } from "node:fs/promises"
import { parentPort, workerData } from "node:worker_threads"
import { looksBinary, openVerified } from "./Identity.ts"

/** What a search looks for. */
export interface SearchQuery {
  readonly pattern: string
  readonly flags: string
  readonly context: number
  readonly output: "lines" | "files" | "count"
  /** Characters of a shown line. */
  readonly maxLineChars: number
  /** Bytes of the largest file that is searched. */
  readonly maxFileBytes: number
}

/** Files to search, as canonical paths. `limit`: results still wanted. */
export interface SearchRequest {
  readonly files: ReadonlyArray<string>
  readonly limit: number
}

export interface FileMatches {
  /** The index of the file in the request. */
  readonly file: number
  /** How many lines match, or `limit` of them. */
  readonly count: number
  /** Groups of neighbouring lines; `match` tells a match from its context. */
  readonly groups: ReadonlyArray<
    ReadonlyArray<{ readonly line: number; readonly text: string; readonly match: boolean }>
  >
}

export interface SearchReply {
  readonly matches: ReadonlyArray<FileMatches>
  readonly large: number
}

const shown = (line: string, at: number, max: number): string => {
  if (line.length <= max) return line
  const from = Math.max(0, Math.min(at - Math.floor(max / 4), line.length - max))
  return `${from > 0 ? "..." : ""}${line.slice(from, from + max)}${from + max < line.length ? "..." : ""}`
}

/** Searches the lines of one file. */
export const searchText = (
  text: string,
  regex: RegExp,
  query: Pick<SearchQuery, "context" | "output" | "maxLineChars">,
  limit: number
): Omit<FileMatches, "file"> => {
  const lines = text.split("\n")
  if (lines.at(-1) === "") lines.pop()
  const groups: Array<Array<{ line: number; text: string; match: boolean }>> = []
  let count = 0
  let last = -1
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!.endsWith("\r") ? lines[i]!.slice(0, -1) : lines[i]!
    const found = regex.exec(line)
    if (found === null) continue
    count++
    if (query.output === "files") return { count, groups }
    if (query.output === "count") continue
    const from = Math.max(0, i - query.context)
    const group = last >= 0 && from <= last + 1 ? groups.at(-1)! : []
    if (group.length === 0) groups.push(group)
    for (let k = Math.max(from, last + 1); k < i; k++) {
      group.push({ line: k + 1, text: shown(lines[k]!, 0, query.maxLineChars), match: false })
    }
    const already = last >= i ? group.find((entry) => entry.line === i + 1) : undefined
    const own = { line: i + 1, text: shown(line, found.index, query.maxLineChars), match: true }
    if (already === undefined) group.push(own)
    else Object.assign(already, own)
    const until = Math.min(lines.length - 1, i + query.context)
    for (let k = Math.max(i, last) + 1; k <= until; k++) {
      group.push({ line: k + 1, text: shown(lines[k]!, 0, query.maxLineChars), match: false })
    }
    last = Math.max(last, until)
    if (count >= limit) break
  }
  return { count, groups }
}

const readWhole = async (handle: FileHandle, query: SearchQuery): Promise<Buffer | "large" | undefined> => {
  const stat = await handle.stat()
  if (!stat.isFile()) return undefined
  return stat.size > query.maxFileBytes ? "large" : await handle.readFile()
}

const search = async (query: SearchQuery, regex: RegExp, request: SearchRequest): Promise<SearchReply> => {
  const matches: Array<FileMatches> = []
  let large = 0
  let left = request.limit
  for (const [file, path] of request.files.entries()) {
    if (left <= 0) break
    // A file that went away or cannot be opened has no matches; the search goes on.
    const handle = await openVerified(path).catch(() => undefined)
    if (handle === undefined) continue
    const bytes = await readWhole(handle, query).catch(() => undefined).finally(() => handle.close())
    if (bytes === "large") large++
    if (bytes === undefined || bytes === "large" || looksBinary(bytes)) continue
    const text = bytes.toString("utf8").replace(/^\uFEFF/, "").replaceAll("\0", "\uFFFD")
    const found = searchText(text, regex, query, query.output === "lines" ? left : Infinity)
    if (found.count === 0) continue
    matches.push({ file, ...found })
    left -= query.output === "lines" ? found.count : 1
  }
  return { matches, large }
}

const port = parentPort
if (port !== null) {
  const query = workerData as SearchQuery
  const regex = new RegExp(query.pattern, query.flags)
  port.on("message", (request: SearchRequest) => {
    void search(query, regex, request).then((reply) => port.postMessage(reply))
  })
}
