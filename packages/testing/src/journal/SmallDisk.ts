/** A disk that can be filled up: a small file system in memory, where mounting one is permitted (Linux, root). */
import { execFileSync } from "node:child_process"
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface SmallDisk {
  readonly path: string
  /** Leaves no free byte. */
  readonly fill: () => void
  /** Takes the filling away. */
  readonly free: () => void
  /** Nothing can be written any more. Only when no file on it is open for writing. */
  readonly makeReadOnly: () => void
  readonly dispose: () => void
}

const PIECE = Buffer.alloc(4096)

/** Mounts a disk of `bytes` bytes, or gives `undefined` where that is not permitted. */
export const smallDisk = (bytes: number): SmallDisk | undefined => {
  const path = mkdtempSync(join(tmpdir(), "holdfast-disk-"))
  const mount = (options: string) =>
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { stdio: "ignore" })
  try {
    mount(`size=${bytes}`)
  } catch {
    rmSync(path, { recursive: true, force: true })
    return undefined
  }
  const filling = join(path, ".filling")
  return {
    path,
    fill: () => {
      const file = openSync(filling, "w")
      try {
        while (writeSync(file, PIECE) === PIECE.length);
      } catch {
        // It is full.
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(filling, { force: true }),
    makeReadOnly: () => mount(`remount,ro,size=${bytes}`),
    dispose: () => {
      execFileSync("umount", ["-l", path])
      rmSync(path, { recursive: true, force: true })
    }
  }
}
