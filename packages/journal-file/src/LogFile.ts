/** A log that is open for writing: it is repaired first, and every write is on the disk before it counts. */
import type { SessionId } from "@holdfast/core"
import { type FileHandle, open, rename } from "node:fs/promises"
import { dirname, join } from "node:path"
import { LogFormat } from "./LogFormat.ts"
import { readBytes, readTail } from "./LogTail.ts"
import { presence } from "./Presence.ts"
import type { SessionFolder } from "./SessionFolder.ts"

/** The write failed. `unsure`: it is not known what of it is on the disk. */
export class WriteFailed extends Error {
  readonly unsure: boolean
  constructor(unsure: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.unsure = unsure
  }
}

/** Makes the entries of a directory durable. Windows cannot, and need not, do this. */
export const syncDirectory = async (path: string): Promise<void> => {
  if (process.platform === "win32") return
  const directory = await open(path, "r")
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Copies what a cut write left to a file beside the log. Nothing that was once in the log is deleted. */
const keepAside = async (file: FileHandle, folder: SessionFolder, start: number, end: number): Promise<void> => {
  const name = join(folder.path, `torn-${start}-${Date.now()}.jsonl`)
  const aside = await open(`${name}.new`, "w", 0o600)
  try {
    for (let from = start; from < end;) {
      const bytes = await readBytes(file, from, Math.min(end, from + 1024 * 1024))
      if (bytes.length === 0) break
      await aside.writeFile(bytes)
      from += bytes.length
    }
    await aside.sync()
  } finally {
    await aside.close()
  }
  await rename(`${name}.new`, name)
  await syncDirectory(folder.path)
}

export interface LogFile {
  /** How many bytes are acknowledged; 0 while there is no file yet. */
  readonly size: () => number
  /** How many events are acknowledged. */
  readonly length: () => number
  /** Writes whole lines, which bring the log to `length` events. Throws `WriteFailed`. */
  readonly append: (lines: string, length: number, createdAt: number) => Promise<void>
  readonly close: () => Promise<void>
}

const openLog = async (session: SessionId, folder: SessionFolder): Promise<LogFile> => {
  let file: FileHandle | undefined
  let size = 0
  let length = 0
  /** Bytes beyond `size` that a failed write may have left. */
  let dirty = false
  let present: () => void = () => {}

  const cut = async (to: FileHandle) => {
    await to.truncate(size)
    await to.datasync()
    dirty = false
  }

  const recover = async (existing: FileHandle) => {
    const { size: found } = await existing.stat()
    const tail = await readTail(existing, found)
    if (tail.header !== undefined) {
      const { format, session: owner } = tail.header
      if (format !== LogFormat.version) {
        throw new Error(`its format is ${format}, this program knows ${LogFormat.version}`)
      }
      if (owner !== session) throw new Error(`its folder holds the session ${owner}`)
    }
    size = tail.end
    length = tail.last === undefined ? 0 : tail.last.seq + tail.last.count
    if (found > tail.end) {
      await keepAside(existing, folder, tail.end, found)
      await cut(existing)
    }
    // What was read may be in the cache of a program that was killed before its flush. Now it counts.
    await existing.datasync()
    present = presence(folder.log)
  }

  const create = async (): Promise<FileHandle> => {
    const created = await open(folder.log, "a+", 0o600)
    await created.close()
    await syncDirectory(folder.path)
    await syncDirectory(dirname(folder.path))
    present = presence(folder.log)
    return open(folder.log, "r+")
  }

  try {
    file = await open(folder.log, "r+")
  } catch (cause) {
    if ((cause as { readonly code?: string }).code !== "ENOENT") throw cause
  }
  try {
    if (file !== undefined) await recover(file)
  } catch (cause) {
    await file?.close()
    throw cause
  }

  const write = async (to: FileHandle, bytes: Buffer) => {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await to.write(bytes, done, bytes.length - done, size + done)
      done += bytesWritten
    }
  }

  return {
    size: () => size,
    length: () => length,
    append: async (lines, next, createdAt) => {
      let written = false
      try {
        present()
        file ??= await create()
        if (dirty) await cut(file)
        const bytes = Buffer.from(size === 0 ? LogFormat.header(session, createdAt) + lines : lines)
        dirty = true
        await write(file, bytes)
        written = true
        await file.datasync()
        dirty = false
        size += bytes.length
        length = next
      } catch (cause) {
        // Taken back at once, so that a full disk leaves no half line; what cannot be is cut before the next write.
        if (dirty && file !== undefined) await cut(file).catch(() => {})
        throw new WriteFailed(written || dirty, cause)
      }
    },
    close: async () => {
      await file?.close()
      file = undefined
    }
  }
}

export const LogFile = { open: openLog }
