/** Leads a path that a model wrote to one place inside the workspace, or refuses it. */
import type { BigIntStats } from "node:fs"
import { type FileHandle, lstat, readdir } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { BrokenLink, canonical, isInside, openVerified, Swapped } from "./Identity.ts"
import { codeOf, OutsideWorkspace, PathNotFound, ProtectedPath, WrongKind } from "./WorkspaceError.ts"

/** The folders of one call, all in canonical form. */
export interface Bounds {
  readonly root: string
  /** Folders outside the root that may be read. */
  readonly readable: ReadonlyArray<string>
  /** Names of files and folders that the tools do not change, at any depth. */
  readonly protect: ReadonlyArray<string>
}

/** One place inside the workspace. */
export interface Place {
  /** The canonical path. */
  readonly absolute: string
  /** How the place is named to the model and in the journal: from the root, with `/`; `.` for the root itself. */
  readonly name: string
  /** What is there; `undefined` if nothing is. */
  readonly stat: BigIntStats | undefined
}

/**
 * - `read`: links are followed; the readable folders count as inside.
 * - `write`: links are followed; only the root counts.
 * - `remove`: a link at the end of the path is the thing itself and is not followed.
 */
export type Access = "read" | "write" | "remove"

/** A path below the root as the model sees it. */
export const nameOf = (root: string, absolute: string): string =>
  isInside(root, absolute) ? relative(root, absolute).split(sep).join("/") || "." : absolute

/** Finds the place that `path` leads to. */
export const locate = async (bounds: Bounds, path: string, access: Access): Promise<Place> => {
  if (path.includes("\0")) throw new PathNotFound({ path: path.replaceAll("\0", "\\0"), similar: [] })
  const lexical = resolve(bounds.root, path)
  const outside = async () => {
    const suggestion = await seenFrom(bounds.root, lexical)
    return new OutsideWorkspace(suggestion === undefined ? { path } : { path, suggestion })
  }
  let absolute: string
  try {
    absolute = access === "remove" && lexical !== bounds.root
      ? join(await canonical(dirname(lexical)), basename(lexical))
      : await canonical(lexical)
  } catch (error) {
    // What cannot be resolved is not told apart outside: whether a file exists there is not the model's business.
    if (!isInside(bounds.root, lexical)) throw await outside()
    if (error instanceof BrokenLink) throw new WrongKind({ path, kind: "broken-link", expected: "file" })
    throw error
  }
  const roots = access === "read" ? [bounds.root, ...bounds.readable] : [bounds.root]
  if (!roots.some((root) => isInside(root, absolute))) throw await outside()
  const name = nameOf(bounds.root, absolute)
  if (access !== "read") refuseProtected(bounds, path, name)
  return { absolute, name, stat: await statOf(absolute) }
}

const refuseProtected = (bounds: Bounds, path: string, name: string): void => {
  const segments = name.split("/").map((segment) => segment.toLowerCase())
  const hit = bounds.protect.find((protectedName) => segments.includes(protectedName.toLowerCase()))
  if (hit !== undefined) throw new ProtectedPath({ path, name: hit })
}

/** What is at a canonical path, without following a link; `undefined` if nothing is. */
export const statOf = async (absolute: string): Promise<BigIntStats | undefined> => {
  try {
    return await lstat(absolute, { bigint: true })
  } catch (error) {
    const code = codeOf(error)
    if (code === "ENOENT" || code === "ENOTDIR") return undefined
    throw error
  }
}

// Models often carry absolute paths over from another checkout of the same project.
const seenFrom = async (root: string, lexical: string): Promise<string | undefined> => {
  const segments = lexical.split(sep).filter((segment) => segment !== "")
  const exists = async (parts: ReadonlyArray<string>) => await statOf(join(root, ...parts)) !== undefined
  for (let from = 1; from < segments.length; from++) {
    const rest = segments.slice(from)
    if (await exists(rest) || (rest.length > 1 && await exists(rest.slice(0, -1)))) return rest.join("/")
  }
  return undefined
}

/** Names beside a missing one that the model may have meant: the same in another case, or with another ending. */
const similarTo = async (bounds: Bounds, place: Place): Promise<ReadonlyArray<string>> => {
  const plain = (name: string) => name.toLowerCase().replace(/\.[^.]*$/, "").replaceAll(/[^\p{L}\p{N}]/gu, "")
  const wanted = plain(basename(place.absolute))
  const folder = dirname(place.absolute)
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => plain(name) === wanted).sort().slice(0, 5)
    .map((name) => nameOf(bounds.root, join(folder, name)))
}

/** Fails for a place where nothing is. */
export const mustExist = async (bounds: Bounds, path: string, place: Place): Promise<BigIntStats> => {
  if (place.stat === undefined) throw new PathNotFound({ path, similar: await similarTo(bounds, place) })
  return place.stat
}

/** Opens the regular file at a place for reading. The caller closes it. */
export const openFile = async (
  bounds: Bounds,
  path: string,
  place: Place
): Promise<{ readonly handle: FileHandle; readonly stat: BigIntStats }> => {
  const found = await mustExist(bounds, path, place)
  if (found.isDirectory()) throw new WrongKind({ path, kind: "folder", expected: "file" })
  if (!found.isFile()) throw new WrongKind({ path, kind: "special", expected: "file" })
  const handle = await openVerified(place.absolute).catch((error) => {
    throw error instanceof Swapped ? new OutsideWorkspace({ path }) : error
  })
  try {
    const stat = await handle.stat({ bigint: true })
    if (!stat.isFile()) throw new WrongKind({ path, kind: "special", expected: "file" })
    return { handle, stat }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The lexical folder of a path below the root, with `/`; `undefined` if the spelling leaves the root. */
export const lexicalFolder = (root: string, path: string): string | undefined => {
  const lexical = isAbsolute(path) ? resolve(path) : resolve(root, path)
  if (lexical === root || !isInside(root, lexical)) return undefined
  return nameOf(root, dirname(lexical))
}
