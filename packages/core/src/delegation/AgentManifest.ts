/**
 * Declared agents: `*.agent.md` files with YAML front matter and the agent's system text below it.
 *
 * This module knows what a manifest means; reading folders belongs to the embedder (`workspace` has a loader). A grant that a manifest
 * makes replaces the default grant and means exactly what it says.
 */
import { Context, Layer, Schema } from "effect"
import type { ToolCatalog } from "../tools/ToolCatalog.ts"
import { isMcpEntry } from "./Authority.ts"

export interface AgentManifest {
  readonly name: string
  readonly description: string
  /** Exactly these tools; absent: the default grant; empty: none. */
  readonly tools: ReadonlyArray<string> | undefined
  readonly model: string | undefined
  /** The system text. */
  readonly body: string
  /** Where it was declared, for diagnostics. */
  readonly file: string
}

/** Something is wrong with a declaration. The other declarations of the folder are not touched by it. */
export class ManifestInvalid extends Schema.TaggedError<ManifestInvalid>()("ManifestInvalid", {
  file: Schema.String,
  line: Schema.Natural,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}:${this.line}: ${this.detail}`
  }
}

/** The declared agents of a program, by name, in the order of their names. */
export class AgentManifests extends Context.Reference<ReadonlyArray<AgentManifest>>("@holdfast/core/AgentManifests", {
  defaultValue: () => []
}) {
  static readonly layer = (manifests: ReadonlyArray<AgentManifest>): Layer.Layer<never> =>
    Layer.succeed(AgentManifests, [...manifests].sort((a, b) => a.name < b.name ? -1 : 1))
}

/** Grant entries of a manifest that name no tool of the catalogue; names of tools behind MCP servers are not checked here. */
export const unknownTools = (manifest: AgentManifest, catalog: ToolCatalog["Service"]): ReadonlyArray<string> =>
  (manifest.tools ?? []).filter((name) => !isMcpEntry(name) && catalog.get(name) === undefined)
