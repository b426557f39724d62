/** Searches files by name and by content. */
import { once } from "node:events"
import { stat } from "node:fs/promises"
import { basename, relative, sep } from "node:path"
import { Worker } from "node:worker_threads"
import picomatch from "picomatch"
import { nameOf } from "./Containment.ts"
import type { FileMatches, SearchQuery, SearchReply, SearchRequest } from "./SearchWorker.ts"
import { walk } from "./Walk.ts"
import { InvalidPattern, SearchTimeout } from "./WorkspaceError.ts"

/** Files that one search looks at, at most: enough for a large monorepo, and more than 30 seconds' work. */
export const MAX_FILES = 200_000
const BATCH = 64

/** Where a search looks. All paths are canonical. */
export interface SearchScope {
  readonly root: string
  readonly base: string
  readonly ignored: boolean
  readonly glob: string | undefined
  readonly signal: AbortSignal
}

/** A test for paths below the base of a search. */
const matcher = (glob: string): (path: string) => boolean => {
  try {
    // No extended globs: nested ones make expressions that take exponential time.
    const options = { dot: true, noextglob: true, basename: !glob.includes("/") }
    const test = picomatch(glob.replace(/^\.?\//, ""), options)
    return (path) => test(options.basename ? basename(path) : path)
  } catch (error) {
    throw new InvalidPattern({ pattern: glob, detail: error instanceof Error ? error.message : "not a glob" })
  }
}

async function* files(scope: SearchScope): AsyncGenerator<string, void> {
  const test = scope.glob === undefined ? () => true : matcher(scope.glob)
  if ((await stat(scope.base)).isFile()) {
    yield scope.base
    return
  }
  for await (const path of walk(scope)) {
    if (test(relative(scope.base, path).split(sep).join("/"))) yield path
  }
}

/** Files whose names match the glob of the scope, as names from the root, and whether that is all of them. */
export const findFiles = async (
  scope: SearchScope,
  limit: number
): Promise<{ readonly names: ReadonlyArray<string>; readonly more: boolean }> => {
  const names: Array<string> = []
  for await (const path of files(scope)) {
    if (names.length === limit) return { names, more: true }
    names.push(nameOf(scope.root, path))
  }
  return { names, more: false }
}

export interface Found {
  readonly files: ReadonlyArray<Omit<FileMatches, "file"> & { readonly name: string }>
  /** Whether the limit was reached before the end. */
  readonly more: boolean
  /** Files that were too large. */
  readonly large: number
  /** Whether there were more files than one search looks at. */
  readonly stopped: boolean
}

// Next to the source under its own name, and next to the compiled file under that one's.
const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./SearchWorker.ts" : "./SearchWorker.js",
  import.meta.url
)

const problemOf = ({ flags, pattern }: SearchQuery): string | undefined => {
  try {
    RegExp(pattern, flags)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : "not valid"
  }
}

/** Searches the content of files. `millis` bounds the whole search. */
export const searchFiles = async (
  scope: SearchScope,
  query: SearchQuery,
  limit: number,
  millis: number
): Promise<Found> => {
  const problem = problemOf(query)
  if (problem !== undefined) throw new InvalidPattern({ pattern: query.pattern, detail: problem })
  const worker = new Worker(workerFile, { workerData: query })
  const late = AbortSignal.timeout(millis)
  const signal = AbortSignal.any([scope.signal, late])
  const found: Array<Found["files"][number]> = []
  let large = 0
  let results = 0
  let seen = 0
  let more = false
  const ask = async (batch: ReadonlyArray<string>) => {
    // One result more than is shown tells whether there are more.
    const request: SearchRequest = { files: batch, limit: limit + 1 - results }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(request)
    const [reply] = await once(worker, "message", { signal }) as [SearchReply]
    large += reply.large
    for (const { file, ...match } of reply.matches) {
      found.push({ ...match, name: nameOf(scope.root, batch[file]!) })
      results += query.output === "lines" ? match.count : 1
    }
    more = results > limit
  }
  try {
    let batch: Array<string> = []
    for await (const path of files({ ...scope, signal })) {
      if (seen === MAX_FILES) break
      seen++
      batch.push(path)
      if (batch.length === BATCH) {
        await ask(batch)
        batch = []
        if (more) break
      }
    }
    if (batch.length > 0 && !more) await ask(batch)
    return { files: found, more, large, stopped: seen === MAX_FILES }
  } catch (error) {
    if (late.aborted) throw new SearchTimeout({ millis })
    throw error
  } finally {
    await worker.terminate()
  }
}
