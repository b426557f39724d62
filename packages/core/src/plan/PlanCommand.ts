/** `/plan`, `/plan <message>` and `/plan off`. */
import { Effect } from "effect"
import type { Disposed } from "../Fence.ts"
import type { Command, CommandContext } from "../human/Command.ts"
import type { Session, TransactError } from "../journal/Session.ts"
import { effective, type PlanState, type Selection } from "./PlanState.ts"
import { people } from "./texts.ts"

interface Selects {
  readonly get: (session: Session) => PlanState
  readonly set: (session: Session, active: boolean) => Effect.Effect<Selection, TransactError | Disposed>
}

/** The command over a plan-mode service. Only the exact text `off` is the way out; everything else is a message. */
export const planCommand = (plan: Selects): Command => ({
  name: "plan",
  summary: "/plan enters plan mode, /plan <message> enters and says something, /plan off leaves",
  run: (args, context) => {
    const text = args.trim()
    return (text === "off" ? leave(plan, context) : enter(plan, context, text)).pipe(
      Effect.catchTag("JournalUnavailable", () => Effect.succeed(people.notRecorded))
    )
  }
})

const enter = (plan: Selects, { session, steer }: CommandContext, text: string) =>
  Effect.gen(function*() {
    const outcome = yield* plan.set(session, true)
    if (text !== "") yield* steer(text)
    return outcome === "noop" ? people.alreadyActive : outcome === "cancelled" ? people.exitCancelled : people.entering
  })

const leave = (plan: Selects, { session }: CommandContext) =>
  Effect.gen(function*() {
    const before = plan.get(session)
    const outcome = yield* plan.set(session, false)
    if (outcome === "cancelled") return people.cancelled
    if (outcome === "queued") return people.leaving
    // Nothing was logged: either it is off, or leaving is already selected and saying so again changes nothing.
    return before.active && !effective(before) ? people.leaving : people.alreadyInactive
  })
