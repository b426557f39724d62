/** Where a session is kept. */
import type { SessionId } from "@holdfast/core"
import { createHash } from "node:crypto"
import { join } from "node:path"

/** File systems allow 255 bytes for a name; a longer one keeps this much of itself before its hash. */
const LONGEST = 200
const KEPT = 120

/**
 * The folder name of a session: lower-case letters, digits, `-` and `_` as they are, every other UTF-16 unit as `%` and
 * four hexadecimal digits, so that names differ on file systems that ignore case and never leave the directory.
 */
const nameOf = (session: SessionId): string => {
  let name = ""
  for (let i = 0; i < session.length; i++) {
    const unit = session[i]!
    name += /[a-z0-9_-]/.test(unit) ? unit : `%${session.charCodeAt(i).toString(16).padStart(4, "0")}`
  }
  if (name.length <= LONGEST) return name
  return `${name.slice(0, KEPT)}~${createHash("sha256").update(name).digest("hex")}`
}

export interface SessionFolder {
  readonly path: string
  /** The log. */
  readonly log: string
  /** The file that the writer's lock is on. */
  readonly lock: string
}

const at = (path: string): SessionFolder => ({ path, log: join(path, "events.jsonl"), lock: join(path, "lock") })

const of = (directory: string, session: SessionId): SessionFolder => at(join(directory, nameOf(session)))

/** Folders that are on their way out carry this prefix; no session's name begins with a dot. */
const removedPrefix = ".removed-"

export const SessionFolder = { at, of, removedPrefix }
