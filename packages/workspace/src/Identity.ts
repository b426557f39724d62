/**
 * Which file a path leads to, in terms of the file system and not of the path's spelling.
 *
 * This module knows nothing of Effect: the search worker loads it too.
 */
import { constants } from "node:fs"
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path"

/** Whether the canonical path `path` is `folder` or lies below it. */
export const isInside = (folder: string, path: string): boolean => {
  if (path === folder) return true
  const rest = relative(folder, path)
  return rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest)
}

const missing = (error: unknown): boolean => {
  const code = (error as { readonly code?: unknown }).code
  return code === "ENOENT" || code === "ENOTDIR"
}

/** A link whose target does not exist: what is created through it would land wherever the link says. */
export class BrokenLink extends Error {}

/**
 * The canonical form of an absolute path: links resolved, names in the case that the disk has them in. For a file that
 * does not exist, its nearest existing ancestor is resolved and the rest is appended.
 */
export const canonical = async (absolute: string): Promise<string> => {
  try {
    return await realpath(absolute)
  } catch (error) {
    const parent = dirname(absolute)
    if (!missing(error) || parent === absolute) throw error
    const entry = await lstat(absolute).catch(() => undefined)
    if (entry?.isSymbolicLink() === true) throw new BrokenLink(absolute)
    return join(await canonical(parent), basename(absolute))
  }
}

/**
 * Whether an open file is where its path said when the path was checked. Between the check and the opening, a folder on
 * the way can have been swapped for a link; Linux tells where the descriptor leads, elsewhere path and descriptor are
 * compared by device and inode.
 */
export const isWhereExpected = async (handle: FileHandle, absolute: string): Promise<boolean> => {
  if (process.platform === "linux") {
    const led = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined)
    if (led !== undefined) return led === absolute
  }
  if (await realpath(absolute) !== absolute) return false
  const [opened, named] = await Promise.all([handle.stat({ bigint: true }), lstat(absolute, { bigint: true })])
  return opened.ino === named.ino && opened.dev === named.dev
}

/** The file was swapped between the check of its path and its opening. */
export class Swapped extends Error {}

/**
 * Opens the file at a canonical path for reading, or throws. Never follows a link and never waits for the other end of a
 * pipe.
 */
export const openVerified = async (absolute: string): Promise<FileHandle> => {
  const handle = await open(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    .catch((error) => {
      throw (error as { readonly code?: unknown }).code === "ELOOP" ? new Swapped(absolute) : error
    })
  try {
    if (!await isWhereExpected(handle, absolute)) throw new Swapped(absolute)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Whether bytes from the start of a file look like something other than text: a NUL among the first 8,000 (as git does). */
export const looksBinary = (start: Uint8Array): boolean => start.subarray(0, 8000).includes(0)
