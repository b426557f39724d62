/**
 * Whether an open file is still the one that its path names.
 *
 * A program can write for hours into a file that somebody deleted, and every write succeeds. So the paths are looked up
 * again before a write is acknowledged.
 */
import { statSync } from "node:fs"

/**
 * How long a look-up holds, in milliseconds. A look-up is two system calls, 10 to 40 us measured, a tenth of a durable
 * commit; the loss that it guards against is that of the whole file, to which 10 ms more or less of it add nothing.
 */
const HOLDS_MILLIS = 10

const identity = (path: string): string | undefined => {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`
}

/** Throws, naming the path, when one of `paths` is no longer the file that it was at the beginning. */
export const filePresence = (paths: ReadonlyArray<string>): () => void => {
  const known = paths.map((path) => ({ path, file: identity(path) }))
  let checked = performance.now()
  return () => {
    const now = performance.now()
    if (now - checked < HOLDS_MILLIS) return
    for (const { path, file } of known) {
      if (identity(path) !== file) {
        throw new Error(`${path} was deleted or replaced while it was open; put it back, or close the journal`)
      }
    }
    checked = now
  }
}
