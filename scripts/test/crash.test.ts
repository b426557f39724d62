import { assert, beforeAll, it } from "@effect/vitest"
import { crashAt, undisturbed } from "../crash/Loop.ts"

// A sample of what `pnpm crash` does at every append. Real processes, a real SQLite file, SIGKILL.
const points = [
  { append: 2, when: "after", last: "step/open", what: "while the first request is under way" },
  { append: 4, when: "after", last: "plan/selected", what: "between a signal and its result" },
  { append: 14, when: "after", last: "review/asked", what: "while the plan is under review" },
  {
    append: 20,
    when: "after",
    last: "plan/selected",
    what: "between the approval of the plan and its result (PM E12)"
  },
  { append: 24, when: "after", last: "approval/asked", what: "while an edit waits for approval" },
  { append: 26, when: "before", last: "approval/answered", what: "between the approval of an edit and its start" },
  { append: 27, when: "before", last: "tool/started", what: "between an edit and its result" }
] as const

let expected = ""

beforeAll(async () => {
  expected = (await undisturbed()).patch
}, 120_000)

for (const { append, last, what, when } of points) {
  it(`killed ${what}, the example resumes and finishes`, async () => {
    const outcome = await crashAt({ append, when }, expected)
    assert.deepStrictEqual(outcome, { point: { append, when }, beyond: false, last, faults: [] })
  }, 120_000)
}
