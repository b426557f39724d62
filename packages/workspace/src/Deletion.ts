/** Deletes a file, a link or a folder, and says beforehand what would go. */
import type { BigIntStats } from "node:fs"
import { readdir, rmdir, unlink } from "node:fs/promises"
import { basename, dirname, join, sep } from "node:path"
import { type Bounds, mustExist, type Place } from "./Containment.ts"
import { removeTree, withFolder } from "./Folder.ts"
import { Swapped } from "./Identity.ts"
import { FolderNotEmpty, OutsideWorkspace, WrongKind } from "./WorkspaceError.ts"

/** Entries that are counted before a deletion, at most; more are named as "more than". */
const MAX_COUNTED = 100_000

/** What is in a folder that would be deleted. */
export interface Contents {
  /** Paths below the folder, with `/`; folders end in one, links in `@`. */
  readonly names: ReadonlyArray<string>
  readonly files: number
  readonly folders: number
  /** `false`: there is more than was counted. */
  readonly complete: boolean
}

const contentsOf = async (folder: string): Promise<Contents> => {
  const names: Array<string> = []
  let files = 0
  let folders = 0
  const visit = async (path: string, prefix: string): Promise<boolean> => {
    const entries = await readdir(path, { withFileTypes: true })
    entries.sort((a, b) => a.name < b.name ? -1 : 1)
    for (const entry of entries) {
      if (names.length === MAX_COUNTED) return false
      const name = `${prefix}${entry.name}`
      if (entry.isDirectory()) {
        folders++
        names.push(`${name}/`)
        if (!await visit(join(path, entry.name), `${name}/`)) return false
      } else {
        files++
        names.push(entry.isSymbolicLink() ? `${name}@` : name)
      }
    }
    return true
  }
  const complete = await visit(folder, "")
  return { names, files, folders, complete }
}

/** A decided deletion. */
export interface Deletion {
  readonly path: string
  readonly place: Place
  readonly stat: BigIntStats
  readonly kind: "file" | "link" | "folder"
  readonly contents: Contents
}

const nothing: Contents = { names: [], files: 0, folders: 0, complete: true }

/** Decides whether and what `path` would delete. */
export const planDeletion = async (
  bounds: Bounds,
  path: string,
  place: Place,
  recursive: boolean
): Promise<Deletion> => {
  const stat = await mustExist(bounds, path, place)
  if (place.absolute === bounds.root) throw new WrongKind({ path, kind: "root", expected: "entry" })
  if (!stat.isDirectory()) {
    return { path, place, stat, kind: stat.isSymbolicLink() ? "link" : "file", contents: nothing }
  }
  const contents = await contentsOf(place.absolute)
  if (contents.names.length > 0 && !recursive) {
    throw new FolderNotEmpty({ path, entries: (await readdir(place.absolute)).length })
  }
  return { path, place, stat, kind: "folder", contents }
}

/** What a person decides about when they are shown a deletion: something else is another deletion. */
export const fingerprint = ({ contents, kind, place, stat }: Deletion): string =>
  JSON.stringify([
    kind,
    place.name,
    ...(kind === "folder" ? contents.names : [`${stat.ino} ${stat.size} ${stat.mtimeNs}`])
  ])

/** Carries a deletion out. Links are removed, never followed. */
export const carryOut = (bounds: Bounds, deletion: Deletion): Promise<void> => {
  const name = basename(deletion.place.absolute)
  return withFolder(bounds.root, dirname(deletion.place.absolute), false, async (base) => {
    if (deletion.kind !== "folder") await unlink(`${base}${sep}${name}`)
    else if (deletion.contents.names.length === 0) await rmdir(`${base}${sep}${name}`)
    else await removeTree(base, name)
  }).catch((error) => {
    throw error instanceof Swapped ? new OutsideWorkspace({ path: deletion.path }) : error
  })
}
