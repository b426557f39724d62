/** What the tests of sessions share: states of a prefix, requests rebuilt from a log, a model that writes summaries. */
import { Effect, Layer } from "effect"
import * as texts from "../../src/agent/texts.ts"
import {
  type ModelRequest,
  type Projection,
  rebuildRequests,
  type SessionEvent,
  SessionId,
  type SessionView
} from "../../src/index.ts"
import { SessionState } from "../../src/journal/SessionState.ts"
import type { Reply, Script } from "../support/ScriptedModel.ts"
import type { Services } from "../support/Story.ts"
import type { World } from "../support/World.ts"

/** The state after these events, as a session would show it. */
export const viewOf = (events: Iterable<SessionEvent>): SessionView => {
  let state = SessionState.empty(SessionId.make("s"))
  for (const event of events) state = SessionState.apply(state, event)
  return over(state)
}

const over = (state: SessionState): SessionView => ({
  id: state.id,
  length: state.length,
  get: <S>(projection: Projection<S>) => SessionState.get(state, projection),
  parent: undefined,
  after: (events) => over(SessionState.applyNew(state, events))
})

/** Every request of a log, made again from nothing but the log. */
export const rebuilt = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<ModelRequest> =>
  rebuildRequests(events).map(({ request }) => request)

export const isSummaryRequest = (request: ModelRequest): boolean => request.tail === texts.compactionInstruction

/** Plays the script for replies, and `summary` for requests for a summary; each counts its own requests. */
export const summarising = (script: Script, summary: Script = () => ({ text: "x" })): Script => {
  let replies = 0
  let summaries = 0
  return (request): Reply => isSummaryRequest(request) ? summary(request, summaries++) : script(request, replies++)
}

/** Runs a story in a process of its own over what a world is made of. */
export const within = <A, E>(w: World, story: Effect.Effect<A, E, Services>): Effect.Effect<A, unknown> =>
  Effect.scoped(Effect.flatMap(Layer.build(w.layer), (context) => Effect.provideContext(story, context)))

/** What is wrong with the calls and results of a request: every call must have exactly one result, right behind it. */
export const unpaired = (request: ModelRequest): ReadonlyArray<string> => {
  const problems: Array<string> = []
  let open: Array<string> = []
  const settle = () => {
    for (const id of open) problems.push(`no result for ${id}`)
    open = []
  }
  const seen = new Set<string>()
  for (const message of request.messages) {
    if (message.role === "tool") {
      if (!open.includes(message.call)) problems.push(`a result without a call: ${message.call}`)
      open = open.filter((id) => id !== message.call)
      continue
    }
    settle()
    if (message.role !== "assistant") continue
    for (const call of message.calls) {
      if (seen.has(call.id)) problems.push(`the id ${call.id} came twice`)
      seen.add(call.id)
      open.push(call.id)
    }
  }
  settle()
  return problems
}
