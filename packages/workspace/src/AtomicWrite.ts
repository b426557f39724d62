/** Writes a file so that it has either its old bytes or its new ones, at any moment and after a crash. */
import { randomBytes } from "node:crypto"
import { type BigIntStats, constants } from "node:fs"
import { type FileHandle, link, open, rename, unlink } from "node:fs/promises"
import { basename, dirname, sep } from "node:path"
import { type Bounds, type Place, statOf } from "./Containment.ts"
import { withFolder } from "./Folder.ts"
import { Swapped } from "./Identity.ts"
import { codeOf, OutsideWorkspace, StaleFile } from "./WorkspaceError.ts"

/**
 * Replaces the file at `place`, or creates it with the folders above it. `expected` is what was there when the new bytes
 * were decided on; something else there by now is a failure, and stays.
 */
export const writeAtomic = (
  bounds: Bounds,
  path: string,
  place: Place,
  bytes: Uint8Array,
  expected: BigIntStats | undefined
): Promise<void> =>
  withFolder(bounds.root, dirname(place.absolute), expected === undefined, async (base, folder) => {
    const temporary = `${base}${sep}.holdfast-${randomBytes(8).toString("hex")}.tmp`
    const target = `${base}${sep}${basename(place.absolute)}`
    const handle = await open(
      temporary,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o666
    )
    try {
      try {
        await handle.writeFile(bytes)
        if (expected !== undefined) await keepOwnerAndMode(handle, expected)
        await handle.sync()
      } finally {
        await handle.close()
      }
      if (expected === undefined) await putNew(path, temporary, target)
      else await putOver(path, temporary, target, expected)
    } catch (error) {
      await unlink(temporary).catch(() => undefined)
      throw error
    }
    // Some file systems cannot sync a folder; the file itself is durable by then.
    await folder.sync().catch(() => undefined)
  }).catch((error) => {
    throw error instanceof Swapped ? new OutsideWorkspace({ path }) : error
  })

const keepOwnerAndMode = async (handle: FileHandle, expected: BigIntStats): Promise<void> => {
  const own = await handle.stat({ bigint: true })
  if (own.uid !== expected.uid || own.gid !== expected.gid) {
    // Only a privileged process may give a file away; the mode comes after, since this clears set-id bits.
    await handle.chown(Number(expected.uid), Number(expected.gid)).catch(() => undefined)
  }
  await handle.chmod(Number(expected.mode & 0o7777n))
}

const putOver = async (path: string, temporary: string, target: string, expected: BigIntStats): Promise<void> => {
  const now = await statOf(target)
  if (
    now === undefined || now.ino !== expected.ino || now.mtimeNs !== expected.mtimeNs || now.size !== expected.size
  ) {
    throw new StaleFile({ path, reason: "changed" })
  }
  await rename(temporary, target)
}

// A hard link, unlike a rename, never replaces what somebody else has put there meanwhile.
const putNew = async (path: string, temporary: string, target: string): Promise<void> => {
  try {
    await link(temporary, target)
  } catch (error) {
    // Not every file system has hard links.
    if (codeOf(error) === "EEXIST" || await statOf(target) !== undefined) {
      throw new StaleFile({ path, reason: "unread" })
    }
    await rename(temporary, target)
    return
  }
  await unlink(temporary)
}
