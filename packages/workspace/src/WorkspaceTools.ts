/** All tools of this package at once. */
import type { InvalidTool, ToolCatalog, ToolNameTaken } from "@holdfast/core"
import { Layer } from "effect"
import { type CommandOptions, CommandTools } from "./CommandTools.ts"
import { EditTools } from "./EditTools.ts"
import { ReadTools } from "./ReadTools.ts"
import { type InvalidRoot, Workspace, type WorkspaceOptions } from "./Workspace.ts"

export interface WorkspaceToolsOptions extends WorkspaceOptions {
  /** How `run_command` runs, or `false` to leave it out. Default: as it is. */
  readonly commands?: CommandOptions | false
}

/** The reading, the changing and the process tools in one workspace. */
export const WorkspaceTools: {
  /**
   * Opens a workspace and adds its tools to the catalogue.
   *
   * @example
   * const Tools = WorkspaceTools.layer({ root: process.cwd() }).pipe(Layer.provideMerge(ToolCatalog.layer))
   */
  readonly layer: (
    options: WorkspaceToolsOptions
  ) => Layer.Layer<Workspace, InvalidRoot | ToolNameTaken | InvalidTool, ToolCatalog>
} = {
  layer: ({ commands, ...options }) =>
    Layer.mergeAll(
      ReadTools.layer,
      EditTools.layer,
      commands === false ? Layer.empty : CommandTools.layer(commands)
    ).pipe(Layer.provideMerge(Workspace.layer(options)))
}
