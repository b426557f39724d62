/** Walks the files below a folder, without following links, as `.gitignore` files say. */
import ignore, { type Ignore } from "ignore"
import type { Dirent } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { dirname, join, relative, sep } from "node:path"
import { isInside } from "./Identity.ts"

/** Names that are never walked into: a repository's own store, and what package managers unpack. */
export const SKIPPED: ReadonlySet<string> = new Set([".git", "node_modules"])

export interface WalkOptions {
  /** The canonical folder to walk. */
  readonly base: string
  /** The canonical root of the workspace; rules of `.gitignore` files count from here down. */
  readonly root: string
  /** `true`: ignored files too. `.git` stays out in any case. */
  readonly ignored: boolean
  readonly signal: AbortSignal
}

interface Rules {
  readonly folder: string
  readonly rules: Ignore
}

/** Yields canonical paths of regular files, folder by folder, each in the order of names. */
export async function* walk(options: WalkOptions): AsyncGenerator<string, void> {
  const rules = options.ignored ? [] : await rulesAbove(options)
  yield* walkFolder(options, options.base, rules)
}

async function* walkFolder(options: WalkOptions, folder: string, above: ReadonlyArray<Rules>): AsyncGenerator<string> {
  options.signal.throwIfAborted()
  // A folder that cannot be listed is left out: one of them must not spoil a search of all others.
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Array<Dirent> => [])
  const own = options.ignored || !entries.some((entry) => entry.name === ".gitignore" && entry.isFile())
    ? undefined
    : await rulesOf(join(folder, ".gitignore"), folder)
  const rules = own === undefined ? above : [...above, own]
  entries.sort((a, b) => a.name < b.name ? -1 : 1)
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (entry.name === ".git" || (!options.ignored && SKIPPED.has(entry.name))) continue
      if (isIgnored(rules, path, true)) continue
      yield* walkFolder(options, path, rules)
    } else if (entry.isFile() && !isIgnored(rules, path, false)) {
      yield path
    }
  }
}

const rulesOf = async (file: string, folder: string): Promise<Rules | undefined> => {
  const text = await readFile(file, "utf8").catch(() => undefined)
  return text === undefined ? undefined : { folder, rules: ignore({ ignorecase: false }).add(text) }
}

// The rules of the folders from the root down to the one above `base`. If they ignore `base` itself, it was asked for by
// name, and they do not count.
const rulesAbove = async (options: WalkOptions): Promise<ReadonlyArray<Rules>> => {
  if (!isInside(options.root, options.base)) return []
  const found: Array<Rules> = []
  const exclude = await rulesOf(join(options.root, ".git", "info", "exclude"), options.root)
  if (exclude !== undefined) found.push(exclude)
  const folders: Array<string> = []
  for (let folder = options.base; folder !== options.root;) {
    folder = dirname(folder)
    folders.unshift(folder)
  }
  for (const folder of folders) {
    const rules = await rulesOf(join(folder, ".gitignore"), folder)
    if (rules !== undefined) found.push(rules)
  }
  return options.base !== options.root && isIgnored(found, options.base, true) ? [] : found
}

// The deepest file of rules that says anything about the path decides, as in git.
const isIgnored = (rules: ReadonlyArray<Rules>, path: string, folder: boolean): boolean => {
  for (const { folder: base, rules: own } of rules.toReversed()) {
    const name = relative(base, path).split(sep).join("/") + (folder ? "/" : "")
    const verdict = own.test(name)
    if (verdict.ignored) return true
    if (verdict.unignored) return false
  }
  return false
}
