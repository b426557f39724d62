/** What the gate promises, whatever the interleaving. */
import type { SessionEvent } from "@holdfast/core"
import { closesGate, each, type Invariant, parentIn } from "./Observation.ts"

/** `tool/started` with somebody's permission is the start of something that changes the world. */
const loggedStarts = (events: ReadonlyArray<SessionEvent>): string | undefined => {
  for (const event of events) {
    if (event.type !== "tool/started" || event.data.permission.by === "none") continue
    if (closesGate(events.slice(0, event.seq))) {
      return `the start of ${event.data.name} is logged at ${event.seq}, where the gate is closed`
    }
  }
  return undefined
}

export const gateInvariants: ReadonlyArray<Invariant> = [
  {
    id: "G11",
    says: "nothing that changes the world starts while the gate is closed on it or above it",
    check: (seen) => {
      for (const start of seen.starts ?? []) {
        if (!start.changes) continue
        let at = seen.sessions.find(({ id }) => id === start.session)
        while (at !== undefined) {
          const { events, id } = at
          if (closesGate(events.slice(0, start.known.get(id) ?? 0))) {
            return `session ${start.session}: ${start.tool} (${start.call}) started while ${id} was planning`
          }
          at = parentIn(seen, id)
        }
      }
      return undefined
    }
  },
  {
    id: "G4",
    says: "the gate is asked again in the transaction that logs the start",
    check: each(({ events }) => loggedStarts(events))
  }
]
