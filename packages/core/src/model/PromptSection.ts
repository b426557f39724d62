/**
 * Named parts of what a model is told besides the history.
 *
 * A static section is part of the header and is fixed with it. A state section is rendered at every boundary from the
 * session's state; where it is put is decided by `ModelRequest` alone.
 */
import { Context, Layer } from "effect"
import type { SessionView } from "../journal/Session.ts"
import { Registry } from "../Registry.ts"

export interface PromptSection {
  readonly name: string
  /** Sections are sorted by order, then by name. */
  readonly order: number
  /** A text that never changes, or a pure function of the state (`undefined`: nothing to say now). */
  readonly text: string | ((view: SessionView) => string | undefined)
}

const byOrder = (a: PromptSection, b: PromptSection) => a.order - b.order || (a.name < b.name ? -1 : 1)

export class PromptSections extends Context.Service<PromptSections, Registry<PromptSection>>()(
  "@holdfast/core/PromptSections"
) {
  static readonly layer: Layer.Layer<PromptSections> = Layer.sync(PromptSections, () => Registry.make(byOrder))

  /** Adds a section for the life of the layer: instructions of a project, a persona, a catalogue. */
  static readonly add = (section: PromptSection): Layer.Layer<never, never, PromptSections> =>
    Layer.effectDiscard(PromptSections.use((sections) => sections.register(section)))
}
