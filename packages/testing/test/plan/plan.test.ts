import { test } from "vitest"
import { planProperties } from "../../src/plan/PlanProperties.ts"

test("in step", async () => {
  const result = await planProperties({ pace: "step" })
  console.log(result)
}, 600_000)
test("at large", async () => {
  const result = await planProperties({ pace: "large" })
  console.log(result)
}, 600_000)
