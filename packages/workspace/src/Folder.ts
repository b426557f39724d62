/**
 * A folder that stays the same folder while something is done in it.
 *
 * Between the check of a path and an operation on it, another process can swap a folder on the way for a link. On Linux,
 * `/proc/self/fd/<n>` leads to an open folder whatever its path has become, so that it is opened step by step from the
 * root, following no link, and used by descriptor. Elsewhere the path is checked once more before it is used.
 */
import { constants, existsSync } from "node:fs"
import { type FileHandle, mkdir, open, readdir, realpath, rmdir, unlink } from "node:fs/promises"
import { join, relative, sep } from "node:path"
import { Swapped } from "./Identity.ts"
import { codeOf } from "./WorkspaceError.ts"

const BY_DESCRIPTOR = process.platform === "linux" && existsSync("/proc/self/fd")

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

const baseOf = (handle: FileHandle, path: string): string => BY_DESCRIPTOR ? `/proc/self/fd/${handle.fd}` : path

/** Opens a folder without following a link at its end. */
const openFolder = async (path: string): Promise<FileHandle> => {
  try {
    return await open(path, FOLDER)
  } catch (error) {
    throw codeOf(error) === "ELOOP" ? new Swapped(path) : error
  }
}

// With O_DIRECTORY, Linux says ENOTDIR of a link too.
const openChild = async (base: string, name: string): Promise<FileHandle> => {
  const path = `${base}${sep}${name}`
  try {
    return await openFolder(path)
  } catch (error) {
    if (codeOf(error) !== "ENOTDIR") throw error
    throw Object.assign(new Error("in the way"), { code: "EEXIST" })
  }
}

/**
 * Opens the canonical folder `folder`, which is `root` or below it, and runs `use` with a path to it; the handle is that
 * of the folder. With `create`, folders that are missing are made.
 */
export const withFolder = async <A>(
  root: string,
  folder: string,
  create: boolean,
  use: (base: string, handle: FileHandle) => Promise<A>
): Promise<A> => {
  let handle = await openFolder(root)
  try {
    let path = root
    for (const name of relative(root, folder).split(sep).filter((part) => part !== "")) {
      const base = baseOf(handle, path)
      if (create) {
        await mkdir(join(base, name)).catch((error) => {
          if (codeOf(error) !== "EEXIST") throw error
        })
      }
      const child = await openChild(base, name)
      await handle.close()
      handle = child
      path = join(path, name)
    }
    if (!BY_DESCRIPTOR && await realpath(folder) !== folder) throw new Swapped(folder)
    return await use(baseOf(handle, folder), handle)
  } finally {
    await handle.close()
  }
}

/** Removes the folder `name` in the folder at `base` with everything in it. Links are removed, never followed. */
export const removeTree = async (base: string, name: string): Promise<void> => {
  const path = `${base}${sep}${name}`
  const handle = await openChild(base, name)
  try {
    const inside = baseOf(handle, path)
    for (const entry of await readdir(inside, { withFileTypes: true })) {
      if (entry.isDirectory()) await removeTree(inside, entry.name)
      else await unlink(`${inside}${sep}${entry.name}`)
    }
  } finally {
    await handle.close()
  }
  await rmdir(path)
}
