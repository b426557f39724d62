/** Messages for the model that have been received and wait for the next boundary. They survive a restart. */
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import { type EventData, type MessageSource, type NewEvent, SessionEvent } from "../journal/SessionEvent.ts"

export const Inbox: Projection<ReadonlyArray<EventData<"input/received">>> = Projection.make<
  ReadonlyArray<EventData<"input/received">>
>({
  name: "inbox",
  initial: [],
  on: {
    "input/received": (waiting, input) => [...waiting, input],
    "message/user": (waiting, { input }) =>
      input === undefined ? waiting : waiting.filter((received) => received.input !== input)
  }
})

/** Takes a message in. */
export const receive = (view: SessionView, text: string, source: MessageSource): NewEvent =>
  SessionEvent.event("input/received", { input: `input-${view.length}`, text, source })

/** Delivers what waits, as messages of the step that is being opened. */
export const deliver = (view: SessionView): ReadonlyArray<NewEvent> =>
  view.get(Inbox).map(({ input, text, source }) => SessionEvent.event("message/user", { input, text, source }))
