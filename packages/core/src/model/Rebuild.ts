/** Every request of a session, made again from its journal alone. */
import { Projection } from "../journal/Projection.ts"
import type { SessionEvent } from "../journal/SessionEvent.ts"
import { History } from "./History.ts"
import { HeaderProjection } from "./ModelRequest.ts"
import type { ModelRequest } from "./ModelTransport.ts"

/** One attempt as the journal tells it. `seq` is that of its `step/open`. */
export interface RebuiltRequest {
  readonly seq: number
  readonly step: number
  readonly attempt: number
  readonly request: ModelRequest
}

/**
 * The requests that the boundaries in `events` opened, in order. Given to the transport that wrote them, `encode` makes the
 * bytes that were sent. A boundary whose attempt was cut off before it was sent is among them too.
 *
 * @example
 * const bodies = rebuildRequests(yield* Stream.runCollect(sessions.read(id))).map(({ request }) => transport.encode(request))
 */
export const rebuildRequests = (events: Iterable<SessionEvent>): ReadonlyArray<RebuiltRequest> => {
  const rebuilt: Array<RebuiltRequest> = []
  let header = HeaderProjection.initial
  let history = History.initial
  for (const event of events) {
    if (event.type === "step/open" && header.request !== undefined) {
      const { attempt, step, tail, through } = event.data
      const messages = history.toArray()
      rebuilt.push({
        seq: event.seq,
        step,
        attempt,
        request: {
          header: header.request,
          messages: through === undefined ? messages : messages.slice(0, through),
          tail
        }
      })
    }
    header = Projection.step(HeaderProjection, header, event)
    history = Projection.step(History, history, event)
  }
  return rebuilt
}
