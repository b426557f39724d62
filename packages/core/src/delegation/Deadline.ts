/** A deadline for work, during which time spent on waiting for a person does not count. */
import { Clock, Duration, Effect } from "effect"
import { OpenAsks } from "../agent/Repair.ts"
import type { Session } from "../journal/Session.ts"

const asking = (session: Session): boolean => session.view().get(OpenAsks).size > 0

/** Succeeds when the session has worked for `limit` since the effect began. */
export const workedFor = (session: Session, limit: Duration.Duration): Effect.Effect<void> =>
  Effect.gen(function*() {
    let left = Duration.toMillis(limit)
    while (left > 0) {
      if (asking(session)) {
        yield* session.until((view) => view.get(OpenAsks).size === 0)
        continue
      }
      const since = yield* Clock.currentTimeMillis
      yield* Effect.raceFirst(
        Effect.sleep(Duration.millis(left)),
        session.until((view) => view.get(OpenAsks).size > 0)
      )
      left -= (yield* Clock.currentTimeMillis) - since
    }
  })
