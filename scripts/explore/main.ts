/**
 * Lives of a program, generated and compared with a second opinion: the reference model of plan mode beside the real layers.
 *
 * `pnpm explore` plays `HOLDFAST_RUNS` lives at each of two paces and tells the shortest story of a disagreement, with the seed that
 * repeats it. A disagreement is a question, not a verdict: some are still the model's own mistakes, which is why this is a command and
 * not yet part of the tests.
 */
import { planProperties } from "../../packages/testing/src/plan/PlanProperties.ts"

for (const pace of ["step", "large"] as const) {
  try {
    const { deeds, milliseconds, runs, seed } = await planProperties({ pace })
    console.log(`${pace}: ${runs} lives, ${deeds} deeds, ${Math.round(milliseconds)} ms, seed ${seed}: no disagreement`)
  } catch (error) {
    console.log(`${pace}: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}
