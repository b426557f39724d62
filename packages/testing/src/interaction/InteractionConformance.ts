/**
 * What every interaction provider must do, for people who write one.
 *
 * Beside the provider it needs a `Person`: a driver that does with the provider's own medium what a person would do.
 *
 * @example
 * import { interactionConformance } from "@holdfast/testing"
 * import { Layer } from "effect"
 * import { test } from "vitest"
 *
 * const layer = Layer.provideMerge(myPersonDriver, MyProvider.layer) // : Layer<Interaction | Person>
 * interactionConformance(test, "MyProvider", { layer })
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
