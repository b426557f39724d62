/** The folder that the tools of this package work in, and what they share. */
import { type CallContext, CurrentCall, type Disposed, Fence } from "@holdfast/core"
import { Context, Effect, HashMap, Layer, Option, Schema, Semaphore } from "effect"
import { realpath, stat } from "node:fs/promises"
import { type Access, type Bounds, locate, type Place } from "./Containment.ts"
import { FILE_VERSION_FACT, FileVersions } from "./FileVersions.ts"
import { canonical } from "./Identity.ts"
import { toWorkspaceError, type WorkspaceError } from "./WorkspaceError.ts"

/** The root of a workspace is not an existing folder. */
export class InvalidRoot extends Schema.TaggedError<InvalidRoot>()("InvalidRoot", {
  root: Schema.String,
  code: Schema.String
}) {
  override get message() {
    return `The workspace root "${this.root}" is not an existing folder (${this.code})`
  }
}

export interface WorkspaceOptions {
  /** The folder that the tools are confined to. A session with a `cwd` of its own is confined to that one instead. */
  readonly root: string
  /** Folders outside the root that the reading tools may look into, for instance that of the artifacts. Default: none. */
  readonly readable?: ReadonlyArray<string>
  /** Names that the tools do not change, at any depth. Default `[".git"]`: its hooks and settings are programs to run. */
  readonly protect?: ReadonlyArray<string>
}

/** The workspace as the tools of this package see it. */
export class Workspace extends Context.Service<Workspace, {
  /** The root in canonical form. */
  readonly root: string
  /** The folders of the current call: its session's own working folder, or the root. */
  readonly bounds: Effect.Effect<Bounds, WorkspaceError>
  /** The place that a path leads to in the current call. */
  readonly locate: (path: string, access: Access) => Effect.Effect<Place, WorkspaceError>
  /** The version of a file that the session of the current call knows. */
  readonly known: (place: Place) => Effect.Effect<string | undefined>
  /** Notes that the session of the current call has seen or made this version; `null`: has deleted the file. */
  readonly note: (place: Place, hash: string | null) => Effect.Effect<void>
  /** Remembers what a person was shown before they were asked about the current call. */
  readonly remember: (shown: string) => Effect.Effect<void>
  /** What a person was shown for the current call; `undefined` if nobody was asked. Forgets it. */
  readonly recall: Effect.Effect<string | undefined>
  /** Runs a change alone and to its end. */
  readonly change: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Disposed, R>
  /** Runs something that waits; interrupted when the workspace closes. */
  readonly guard: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Disposed, R>
}>()("@holdfast/workspace/Workspace") {
  /**
   * Opens a workspace.
   *
   * @example
   * const Files = ReadTools.layer.pipe(Layer.provide(Workspace.layer({ root: "." })))
   */
  static readonly layer = (options: WorkspaceOptions): Layer.Layer<Workspace, InvalidRoot> =>
    Layer.effect(Workspace, make(options))
}

const make = Effect.fnUntraced(function*(options: WorkspaceOptions) {
  const root = yield* Effect.tryPromise({
    try: async () => {
      const path = await realpath(options.root)
      if (!(await stat(path)).isDirectory()) throw Object.assign(new Error("no folder"), { code: "ENOTDIR" })
      return path
    },
    catch: (error) =>
      new InvalidRoot({ root: options.root, code: String((error as { readonly code?: unknown }).code ?? "unknown") })
  })
  const protect = options.protect ?? [".git"]
  const readable = options.readable ?? []

  const bounds = Effect.flatMap(CurrentCall, (call) => {
    const cwd = call?.cwd
    return Effect.tryPromise({
      try: async () => ({
        root: cwd === undefined ? root : await realpath(cwd),
        // They may be made later than the workspace (a folder of artifacts), so they are resolved when they are needed.
        readable: await Promise.all(readable.map((folder) => canonical(folder))),
        protect
      }),
      catch: toWorkspaceError("open the working folder", cwd ?? ".")
    })
  })

  // The journal has what a call recorded only after its batch. Until then it is here, so that two edits in one batch
  // work; an entry that the journal has caught up with is dropped.
  const recent = new Map<string, Map<string, string | null>>()

  const known = (place: Place) =>
    Effect.map(CurrentCall, (call) => {
      const journalled = call === undefined
        ? undefined
        : Option.getOrUndefined(HashMap.get(call.state(FileVersions), place.name))
      const session = call?.session ?? ""
      const own = recent.get(session)
      const latest = own?.get(place.name)
      if (own === undefined || latest === undefined) return journalled
      if (call !== undefined && latest === (journalled ?? null)) {
        own.delete(place.name)
        if (own.size === 0) recent.delete(session)
      }
      return latest ?? undefined
    })

  // A question that was answered with no leaves its entry behind; the oldest go when there are many.
  const shown = new Map<string, string>()
  const keyOf = (call: CallContext | undefined) => `${call?.session ?? ""}/${call?.call ?? ""}`

  const note = (place: Place, hash: string | null) =>
    Effect.map(CurrentCall, (call) => {
      call?.record(FILE_VERSION_FACT, { path: place.name, hash })
      const session = call?.session ?? ""
      const own = recent.get(session) ?? new Map<string, string | null>()
      if (call !== undefined) {
        const journalled = call.state(FileVersions)
        for (const [name, latest] of own) {
          if ((Option.getOrUndefined(HashMap.get(journalled, name)) ?? null) === latest) own.delete(name)
        }
      }
      recent.set(session, own.set(place.name, hash))
    })

  // One writer at a time in this process: the check of a version and the write that relies on it are one step.
  const writer = yield* Semaphore.make(1)
  const fence = yield* Fence.make("Workspace")

  return Workspace.of({
    root,
    bounds,
    locate: (path, access) =>
      Effect.flatMap(bounds, (known) =>
        Effect.tryPromise({
          try: () => locate(known, path, access),
          catch: toWorkspaceError("find", path)
        })),
    known,
    note,
    remember: (text) =>
      Effect.map(CurrentCall, (call) => {
        shown.set(keyOf(call), text)
        if (shown.size > 256) shown.delete(shown.keys().next().value!)
      }),
    recall: Effect.map(CurrentCall, (call) => {
      const text = shown.get(keyOf(call))
      shown.delete(keyOf(call))
      return text
    }),
    change: (self) => fence.commit(writer.withPermit(self)),
    guard: fence.guard
  })
})
