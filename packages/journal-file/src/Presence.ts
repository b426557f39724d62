/**
 * Whether an open file is still the one that its path names.
 *
 * A program can write for hours into a file that somebody deleted, and every write succeeds. So the path is looked up
 * again before a write is acknowledged.
 */
import { statSync } from "node:fs"

/**
 * How long a look-up holds, in milliseconds. A look-up costs 5 to 20 us measured; the loss that it guards against is that
 * of the whole file, to which 10 ms more or less of it add nothing.
 */
const HOLDS_MILLIS = 10

const identity = (path: string): string | undefined => {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`
}

/** Throws when `path` no longer names the file that it names now. */
export const presence = (path: string): () => void => {
  const file = identity(path)
  let checked = performance.now()
  return () => {
    const now = performance.now()
    if (now - checked < HOLDS_MILLIS) return
    if (identity(path) !== file) {
      throw new Error(`${path} was deleted or replaced while it was open; put it back, or close the session`)
    }
    checked = now
  }
}
