/**
 * What every interaction provider must do, for people who write one.
 *
 * @example
 * import { interactionConformance } from "@holdfast/testing"
 * import { test } from "vitest"
 * import { MyPerson, MyProvider } from "./MyProvider.ts"
 *
 * interactionConformance(test, "MyProvider", { layer: Layer.provideMerge(MyPerson.layer, MyProvider.layer) })
 */
import { Effect } from "effect"
import type { RegisterTest } from "../journal/JournalConformance.ts"
import { answeringProperties } from "./AnsweringProperties.ts"
import { endingProperties } from "./EndingProperties.ts"
import type { InteractionProperty, InteractionUnderTest } from "./Property.ts"
import { showingProperties } from "./ShowingProperties.ts"

/** The properties that `test` must have, as programs for a runner of one's own. Each is independent of the others. */
export const interactionProperties = (test: InteractionUnderTest): ReadonlyArray<InteractionProperty> => [
  ...showingProperties(test),
  ...answeringProperties(test),
  ...endingProperties(test)
]

/** Registers one test for each property, named after the provider and the property. */
export const interactionConformance = (register: RegisterTest, name: string, test: InteractionUnderTest): void => {
  for (const property of interactionProperties(test)) {
    register(`${name}: ${property.name}`, () => Effect.runPromise(property.run))
  }
}
