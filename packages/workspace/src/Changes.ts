/** What a change would do to a file, decided before anything is written; the preview and the change both come from here. */
import type { BigIntStats } from "node:fs"
import { CHANGED_FACT, CurrentCall } from "@holdfast/core"
import { Effect } from "effect"
import { writeAtomic } from "./AtomicWrite.ts"
import { type Bounds, openFile, type Place } from "./Containment.ts"
import { hashOf } from "./FileVersions.ts"
import { applyEdit, decodeText, type Edit } from "./TextFile.ts"
import { FileTooLarge, NotText, StaleFile, toWorkspaceError, WrongKind } from "./WorkspaceError.ts"
import { Workspace } from "./Workspace.ts"

/** The largest file that is changed as a whole, in bytes: it is held in memory a few times over. */
const MAX_CHANGE_BYTES = 50_000_000

/** A file as it is on disk. */
interface Current {
  readonly bytes: Buffer
  readonly hash: string
  readonly stat: BigIntStats
}

/** A decided change of one file. `before` is `undefined` for a new file and for one that is not text. */
export interface Change {
  readonly path: string
  readonly place: Place
  readonly current: Current | undefined
  readonly before: string | undefined
  readonly after: string
  readonly bytes: Buffer
  /** The lines that an edit touched. */
  readonly lines: ReadonlyArray<number>
}

const readCurrent = async (bounds: Bounds, path: string, place: Place): Promise<Current> => {
  const { handle, stat } = await openFile(bounds, path, place)
  try {
    if (stat.size > BigInt(MAX_CHANGE_BYTES)) {
      throw new FileTooLarge({ path, bytes: Number(stat.size), limit: MAX_CHANGE_BYTES })
    }
    const bytes = await handle.readFile()
    return { bytes, hash: hashOf(bytes), stat }
  } finally {
    await handle.close()
  }
}

const locateCurrent = Effect.fnUntraced(function*(path: string, mustBeThere: boolean) {
  const workspace = yield* Workspace
  const bounds = yield* workspace.bounds
  const place = yield* workspace.locate(path, "write")
  if (place.absolute === bounds.root) return yield* new WrongKind({ path, kind: "folder", expected: "file" })
  const current = place.stat === undefined && !mustBeThere ? undefined : yield* Effect.tryPromise({
    try: () => readCurrent(bounds, path, place),
    catch: toWorkspaceError("read", path)
  })
  return { place, current, known: yield* workspace.known(place) }
})

const refuseStale = (path: string, current: Current, known: string | undefined) =>
  current.hash === known
    ? Effect.void
    : Effect.fail(new StaleFile({ path, reason: known === undefined ? "unread" : "changed" }))

/** Decides what writing `content` to `path` would do. */
export const planWrite = Effect.fnUntraced(function*(path: string, content: string) {
  const { place, current, known } = yield* locateCurrent(path, false)
  const bytes = Buffer.from(content, "utf8")
  // What is there already needs no permission to be written, so a write that is repeated after a crash succeeds.
  if (current !== undefined && !current.bytes.equals(bytes)) yield* refuseStale(path, current, known)
  const change: Change = {
    path,
    place,
    current,
    before: current === undefined ? undefined : decodeText(current.bytes) ?? "",
    after: content,
    bytes,
    lines: []
  }
  return change
})

/** Decides what an edit would do. */
export const planEdit = Effect.fnUntraced(function*(edit: Edit) {
  const { path } = edit
  const { place, current, known } = yield* locateCurrent(path, true)
  if (current === undefined) return yield* new WrongKind({ path, kind: "special", expected: "file" })
  yield* refuseStale(path, current, known)
  const before = decodeText(current.bytes)
  if (before === undefined) {
    return yield* new NotText({ path, bytes: current.bytes.length, reason: "encoding" })
  }
  const edited = yield* Effect.try({ try: () => applyEdit(before, edit), catch: toWorkspaceError("edit", path) })
  const change: Change = {
    path,
    place,
    current,
    before,
    after: edited.text,
    bytes: Buffer.from(edited.text, "utf8"),
    lines: edited.lines
  }
  return change
})

/** Carries a change out and notes the new version. */
export const apply = Effect.fnUntraced(function*(change: Change) {
  const workspace = yield* Workspace
  const bounds = yield* workspace.bounds
  if (change.current === undefined || !change.current.bytes.equals(change.bytes)) {
    yield* Effect.tryPromise({
      try: () => writeAtomic(bounds, change.path, change.place, change.bytes, change.current?.stat),
      catch: toWorkspaceError("write", change.path)
    })
  }
  yield* workspace.note(change.place, hashOf(change.bytes))
  yield* changed(change.place)
})

/** Leaves the path with the call's result, so that a parent of this agent learns what it changed. */
export const changed = (place: Place): Effect.Effect<void> =>
  Effect.map(CurrentCall, (call) => call?.record(CHANGED_FACT, [place.name]))
