/** The tools that change files: `write_file`, `edit_file`, `delete_path`. */
import {
  type CallContext,
  CurrentCall,
  type InvalidTool,
  type Preview,
  ToolCatalog,
  type ToolNameTaken
} from "@holdfast/core"
import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { realpathSync } from "node:fs"
import { join } from "node:path"
import { apply, type Change, changed, planEdit, planWrite } from "./Changes.ts"
import { lexicalFolder } from "./Containment.ts"
import { carryOut, type Deletion, fingerprint, planDeletion } from "./Deletion.ts"
import { unifiedDiff } from "./Diff.ts"
import { countLines } from "./TextFile.ts"
import { descriptions, parameters, previewTexts, results } from "./texts.ts"
import { StaleFile, toWorkspaceError } from "./WorkspaceError.ts"
import { Workspace } from "./Workspace.ts"
import { WorkspaceFailure } from "./WorkspaceFailure.ts"

/** Names of a deletion that the preview lists before it says how many more there are. */
const MAX_LISTED = 200

const text = (description: string) => Schema.String.annotate({ description })
const flag = (description: string) => Schema.optionalKey(Schema.Boolean.annotate({ description }))

const WriteFile = Tool.make("write_file", {
  description: descriptions.writeFile,
  parameters: Schema.Struct({ path: text(parameters.path), content: text(parameters.content) }),
  success: Schema.String,
  failure: WorkspaceFailure
}).annotate(Tool.Readonly, false).annotate(Tool.Destructive, false).annotate(Tool.Idempotent, true)
  .annotate(Tool.OpenWorld, false)

const EditFile = Tool.make("edit_file", {
  description: descriptions.editFile,
  parameters: Schema.Struct({
    path: text(parameters.path),
    old_string: text(parameters.oldString),
    new_string: text(parameters.newString),
    replace_all: flag(parameters.replaceAll)
  }),
  success: Schema.String,
  failure: WorkspaceFailure
}).annotate(Tool.Readonly, false).annotate(Tool.Destructive, false).annotate(Tool.Idempotent, false)
  .annotate(Tool.OpenWorld, false)

const DeletePath = Tool.make("delete_path", {
  description: descriptions.deletePath,
  parameters: Schema.Struct({ path: text(parameters.path), recursive: flag(parameters.recursive) }),
  success: Schema.String,
  failure: WorkspaceFailure
}).annotate(Tool.Readonly, false).annotate(Tool.Destructive, true).annotate(Tool.Idempotent, false)
  .annotate(Tool.OpenWorld, false)

/** The declarations of the changing tools. */
export const EditToolkit = Toolkit.make(WriteFile, EditFile, DeletePath)

type EditParams = Tool.Parameters<typeof EditFile>

const editOf = (params: EditParams) => ({
  path: params.path,
  oldString: params.old_string,
  newString: params.new_string,
  replaceAll: params.replace_all ?? false
})

const deletionOf = Effect.fnUntraced(function*(path: string, recursive: boolean) {
  const workspace = yield* Workspace
  const bounds = yield* workspace.bounds
  const place = yield* workspace.locate(path, "remove")
  return yield* Effect.tryPromise({
    try: () => planDeletion(bounds, path, place, recursive),
    catch: toWorkspaceError("delete", path)
  })
})

const handlers = EditToolkit.toLayer(Effect.gen(function*() {
  const workspace = yield* Workspace
  const change = <A, E>(self: Effect.Effect<A, E, Workspace>) =>
    workspace.change(Effect.provideService(self, Workspace, workspace))

  return EditToolkit.of({
    write_file: Effect.fn("write_file")(function*(params) {
      return yield* change(Effect.gen(function*() {
        const planned = yield* planWrite(params.path, params.content)
        yield* apply(planned)
        if (planned.current === undefined) return results.created(planned.place.name, countLines(planned.after))
        return planned.current.bytes.equals(planned.bytes)
          ? results.unchanged(planned.place.name)
          : results.replaced(planned.place.name, countLines(planned.after))
      }))
    }),

    edit_file: Effect.fn("edit_file")(function*(params) {
      return yield* change(Effect.gen(function*() {
        const planned = yield* planEdit(editOf(params))
        yield* apply(planned)
        return results.edited(planned.place.name, planned.lines)
      }))
    }),

    delete_path: Effect.fn("delete_path")(function*(params) {
      return yield* change(Effect.gen(function*() {
        const deletion = yield* deletionOf(params.path, params.recursive ?? false)
        const shown = yield* workspace.recall
        if (shown !== undefined && shown !== fingerprint(deletion)) {
          return yield* new StaleFile({ path: params.path, reason: "shown" })
        }
        const bounds = yield* workspace.bounds
        yield* Effect.tryPromise({
          try: () => carryOut(bounds, deletion),
          catch: toWorkspaceError("delete", params.path)
        })
        if (deletion.kind === "file") yield* workspace.note(deletion.place, null)
        yield* changed(deletion.place)
        return deletion.kind === "folder"
          ? results.deletedFolder(deletion.place.name, deletion.contents.files)
          : deletion.kind === "link"
          ? results.deletedLink(deletion.place.name)
          : results.deletedFile(deletion.place.name)
      }))
    })
  })
}))

const diffOf = (change: Change): Preview => ({
  kind: "diff",
  path: change.place.name,
  diff: unifiedDiff(change.place.name, change.before, change.after)
})

const listOf = (deletion: Deletion): Preview => {
  const { contents, kind, place, stat } = deletion
  if (kind === "file") return { kind: "text", text: previewTexts.deletesFile(place.name, Number(stat.size)) }
  if (kind === "link") return { kind: "text", text: previewTexts.deletesLink(place.name) }
  const lines = [
    previewTexts.deletesFolder(place.name, contents.files, contents.folders, contents.complete),
    ...contents.names.slice(0, MAX_LISTED).map((name) => `  ${name}`)
  ]
  const hidden = contents.names.length - MAX_LISTED
  if (hidden > 0) lines.push(previewTexts.moreNotShown(hidden))
  return { kind: "text", text: lines.join("\n") }
}

// The root of the call that is being asked about, where the caller runs in its fiber.
const rootOfCall = (fallback: string): string => {
  const fiber = Fiber.getCurrent()
  return (fiber === undefined ? undefined : Context.get(fiber.context, CurrentCall)?.cwd) ?? fallback
}

/**
 * The folder that a grant for edits covers; `undefined` if the path leads through a link, because the link could lead
 * elsewhere by the time the grant is used.
 */
const grantedFolder = (workspaceRoot: string, path: string): string | undefined => {
  try {
    const root = realpathSync.native(rootOfCall(workspaceRoot))
    const folder = lexicalFolder(root, path)
    if (folder === undefined) return undefined
    for (const parts = folder === "." ? [] : folder.split("/"); parts.length > 0; parts.pop()) {
      const expected = join(root, ...parts)
      try {
        return realpathSync.native(expected) === expected ? folder : undefined
      } catch {
        // Not there yet: the nearest folder above it that is there decides.
        continue
      }
    }
    return folder
  } catch {
    return undefined
  }
}

const traits = Effect.gen(function*() {
  const workspace = yield* Workspace
  const provided = <A, E>(self: Effect.Effect<A, E, Workspace>) => Effect.provideService(self, Workspace, workspace)
  const grant = {
    grantKey: (params: { readonly path: string }) => {
      const folder = grantedFolder(workspace.root, params.path)
      return folder === undefined ? undefined : `edit:${folder}`
    },
    grantLabel: (params: { readonly path: string }) =>
      previewTexts.editsIn(grantedFolder(workspace.root, params.path) ?? ".")
  }
  return {
    write_file: {
      ...grant,
      title: (params: Tool.Parameters<typeof WriteFile>) => `write_file ${params.path}`,
      preview: (params: Tool.Parameters<typeof WriteFile>, call: CallContext) =>
        provided(Effect.map(planWrite(params.path, params.content), diffOf)).pipe(
          Effect.provideService(CurrentCall, call)
        )
    },
    edit_file: {
      ...grant,
      title: (params: EditParams) => `edit_file ${params.path}`,
      preview: (params: EditParams, call: CallContext) =>
        provided(Effect.map(planEdit(editOf(params)), diffOf)).pipe(Effect.provideService(CurrentCall, call))
    },
    delete_path: {
      title: (params: Tool.Parameters<typeof DeletePath>) => `delete_path ${params.path}`,
      // The core gives the call as an argument; the workspace looks for it where the tool's body will.
      preview: (params: Tool.Parameters<typeof DeletePath>, call: CallContext) =>
        deletionOf(params.path, params.recursive ?? false).pipe(
          Effect.tap((deletion) => workspace.remember(fingerprint(deletion))),
          Effect.map(listOf),
          provided,
          Effect.provideService(CurrentCall, call)
        )
    }
  }
})

/** The tools that change files: `write_file` and `edit_file` of class `mutate`, `delete_path` of class `danger`. */
export const EditTools: {
  readonly layer: Layer.Layer<never, ToolNameTaken | InvalidTool, ToolCatalog | Workspace>
} = { layer: ToolCatalog.add(EditToolkit, { traits }).pipe(Layer.provide(handlers)) }
