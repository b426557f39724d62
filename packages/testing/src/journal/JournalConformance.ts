/**
 * What every journal must do, for people who write one.
 *
 * @example
 * import { journalConformance } from "@holdfast/testing"
 * import { test } from "vitest"
 *
 * journalConformance(test, "MyJournal", { layer: MyJournal.layer })
 */
import { Effect } from "effect"
import { catalogueProperties } from "./CatalogueProperties.ts"
import { contentProperties } from "./ContentProperties.ts"
import { durabilityProperties } from "./DurabilityProperties.ts"
import { orderProperties } from "./OrderProperties.ts"
import type { JournalProperty, JournalUnderTest } from "./Property.ts"

/** The properties that `test` must have, as programs for a runner of one's own. Each is independent of the others. */
export const journalProperties = (test: JournalUnderTest): ReadonlyArray<JournalProperty> => [
  ...orderProperties(test),
  ...contentProperties(test),
  ...catalogueProperties(test),
  ...durabilityProperties(test)
]

/** How a test is registered: the `test` function of vitest, node:test, jest and others. */
export type RegisterTest = (name: string, run: () => Promise<void>) => unknown

/** Registers one test for each property, named after the journal and the property. */
export const journalConformance = (register: RegisterTest, name: string, test: JournalUnderTest): void => {
  for (const property of journalProperties(test)) {
    register(`${name}: ${property.name}`, () => Effect.runPromise(property.run))
  }
}
