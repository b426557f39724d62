/** What a session is from its first event on: its place in the tree of agents, its folder, its name. */
import { Projection } from "./Projection.ts"
import type { EventData } from "./SessionEvent.ts"

export const SessionInfo: Projection<EventData<"session/created">> = Projection.make<EventData<"session/created">>({
  name: "session",
  initial: { depth: 0 },
  on: { "session/created": (_, created) => created }
})
