/** The instructions that a project keeps for agents, as a fixed section of the header. */
import { PromptSections } from "@holdfast/core"
import { Effect, Layer } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

/** The most characters of a file that are taken over (32,000, about 8K tokens: a header is paid for in every cold request). */
const MAX_CHARACTERS = 32_000

export const ProjectInstructions = {
  /**
   * Reads `AGENTS.md` from the root when the layer is built. A project without one adds nothing. A session that exists already keeps
   * the header that it has; `AgentHandle.adoptHeader` takes a changed file over.
   *
   * @example
   * const Instructions = ProjectInstructions.layer({ root: "." })
   */
  layer: (options: { readonly root: string; readonly file?: string }): Layer.Layer<never, never, PromptSections> =>
    Layer.unwrap(Effect.gen(function*() {
      const file = options.file ?? "AGENTS.md"
      const text = yield* Effect.promise(() => readFile(join(options.root, file), "utf8").catch(() => ""))
      if (text.trim() === "") return Layer.empty
      const shown = text.length <= MAX_CHARACTERS
        ? text
        : `${text.slice(0, MAX_CHARACTERS)}\n\n(${file} goes on; read the rest with read_file.)`
      return PromptSections.add({
        name: "project:instructions",
        order: 20,
        text: `# Instructions of this project (${file})\n\n${shown.trim()}`
      })
    }))
}
