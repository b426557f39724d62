/** The parts of a harness that a child has in a form of its own: a catalogue cut to its authority, and its sections. */
import { Effect } from "effect"
import type { Session } from "../journal/Session.ts"
import type { PromptSection, PromptSections } from "../model/PromptSection.ts"
import { closesGate, PlanProjection } from "../plan/PlanState.ts"
import { Registry } from "../Registry.ts"
import type { CatalogTool, ToolCatalog } from "../tools/ToolCatalog.ts"
import { allows, authorityOf } from "./Authority.ts"
import * as texts from "./texts.ts"

/** The parent's catalogue as the child sees it. Tools that are delegable but not shown to the parent are shown to a child that has them. */
export const childCatalog = (catalog: ToolCatalog["Service"], session: Session): ToolCatalog["Service"] => {
  const authority = authorityOf(session.view())
  const granted = (tool: CatalogTool) => allows(authority, tool.name)
  return {
    get: (name) => {
      const tool = catalog.get(name)
      return tool === undefined || !granted(tool) ? undefined : tool
    },
    all: () => catalog.all().filter(granted).map((tool) => tool.shown ? tool : { ...tool, shown: true }),
    register: catalog.register
  }
}

/** Sections that speak of signals which only a root has. */
const ROOT_SECTIONS = ["plan:signals", "plan:policy", "delegation:agents"]

/** The parent's sections without those of a root, the child's own text after them, and the state of the gate above it. */
export const childSections = (
  sections: PromptSections["Service"],
  body: string
): Effect.Effect<PromptSections["Service"]> =>
  Effect.sync(() => {
    const own: ReadonlyArray<PromptSection> = [
      { name: "delegation:child", order: 100, text: body },
      {
        name: "delegation:gate",
        order: 50,
        text: (view) => {
          for (let at = view.parent; at !== undefined; at = at.parent) {
            if (closesGate(at.get(PlanProjection))) return texts.planningAbove
          }
          return undefined
        }
      }
    ]
    const registry = Registry.make<PromptSection>((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1))
    return {
      register: registry.register,
      items: () =>
        [...sections.items().filter((section) => !ROOT_SECTIONS.includes(section.name)), ...own, ...registry.items()]
          .sort((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1))
    }
  })
