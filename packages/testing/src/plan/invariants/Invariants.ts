/** Everything that must hold of any journal, and of whatever else was seen while it was written. */
import { gateInvariants } from "./GateInvariants.ts"
import { journalInvariants } from "./JournalInvariants.ts"
import type { Invariant, Observation } from "./Observation.ts"
import { peopleInvariants } from "./PeopleInvariants.ts"
import { planInvariants } from "./PlanInvariants.ts"

/**
 * The invariants of plan mode, gate, reviews, approvals and journal: the rows of the acceptance table that hold for every
 * interleaving, and sections 3 to 7 of the design.
 */
export const planModeInvariants: ReadonlyArray<Invariant> = [
  ...planInvariants,
  ...gateInvariants,
  ...peopleInvariants,
  ...journalInvariants
]

/**
 * What is broken, one line for each invariant that does not hold.
 *
 * @example
 * const events = await Effect.runPromise(Stream.runCollect(sessions.read(id)))
 * assert.deepStrictEqual(brokenInvariants({ sessions: [{ id, events }] }), [])
 */
export const brokenInvariants = (seen: Observation): ReadonlyArray<string> =>
  planModeInvariants.flatMap(({ check, id, says }) => {
    const wrong = check(seen)
    return wrong === undefined ? [] : [`${id} (${says}): ${wrong}`]
  })
