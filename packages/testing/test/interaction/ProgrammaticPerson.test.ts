import { test } from "vitest"
import { interactionConformance, ProgrammaticPerson } from "../../src/index.ts"

interactionConformance(test, "programmatic, one at a time", { layer: ProgrammaticPerson.layer() })
interactionConformance(test, "programmatic, three at once", { layer: ProgrammaticPerson.layer({ capacity: 3 }) })
