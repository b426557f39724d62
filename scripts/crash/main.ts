/**
 * Kills the example at every append of its session, before and after it, and checks that it resumes and finishes.
 *
 * `pnpm crash` runs all of them; `pnpm crash 12 before` runs one.
 */
import { crashAt, type Outcome, undisturbed } from "./Loop.ts"

const [only, when] = process.argv.slice(2)
const { patch } = await undisturbed()
const failed: Array<Outcome> = []
let runs = 0

const once = async (append: number, at: "before" | "after"): Promise<boolean> => {
  const outcome = await crashAt({ append, when: at }, patch)
  if (outcome.beyond) return false
  runs++
  console.log(`append ${append} ${at}: last event ${outcome.last}, ${outcome.faults.length === 0 ? "ok" : "FAULTS"}`)
  for (const fault of outcome.faults) console.log(`  ${fault}`)
  if (outcome.faults.length > 0) failed.push(outcome)
  return true
}

if (only !== undefined) {
  await once(Number(only), when === "after" ? "after" : "before")
} else {
  for (let append = 0; await once(append, "before"); append++) await once(append, "after")
}
console.log(`${runs - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length === 0 && runs > 0 ? 0 : 1
