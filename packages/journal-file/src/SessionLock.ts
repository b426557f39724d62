/**
 * One writer at a time.
 *
 * The lock is a lock of the operating system on a file (through SQLite, which is the only part of Node that takes
 * one): it ends with the process that holds it, however that dies, so there is no stale lock to be guessed at, and it
 * belongs to the file, not to a path, so a symbolic link leads to the same lock. A process number in a file would tell
 * neither of two containers that share a folder about the other.
 */
import { statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"

export interface SessionLock {
  readonly release: () => void
}

const SQLITE_BUSY = 5

const inode = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino

/** Takes the lock, or gives `undefined` when somebody has it. The file is made when it is missing and stays empty. */
const take = (path: string): SessionLock | undefined => {
  for (;;) {
    const before = inode(path)
    const db = new DatabaseSync(path, { timeout: 0 })
    try {
      // Nothing is ever written, so nothing needs a rollback journal, which would be a second file in the folder.
      db.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
    } catch (cause) {
      db.close()
      if (((cause as { readonly errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) return undefined
      throw cause
    }
    // A file that was deleted between its opening and the lock is a lock on nothing.
    const after = inode(path)
    if (after !== undefined && (before === undefined || before === after)) return { release: () => db.close() }
    db.close()
  }
}

export const SessionLock = { take }
