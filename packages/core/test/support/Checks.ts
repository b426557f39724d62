/** What must hold of any journal and of everything that a model was sent, however it came about. */
import { assert } from "@effect/vitest"
import type { Session, SessionEvent } from "../../src/index.ts"
import { foldPlanMode, rebuildRequests } from "../../src/index.ts"
import { knownProjections, Projection } from "../../src/journal/Projection.ts"
import { turns } from "../../../testing/src/plan/invariants/JournalInvariants.ts"
import { bodyOf, type ScriptedModel } from "./ScriptedModel.ts"
import type { Storage } from "./Storage.ts"
import { isGuided } from "./Story.ts"

const plain = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if ("toArray" in value && typeof value.toArray === "function") {
    return (value.toArray() as ReadonlyArray<unknown>).map(plain)
  }
  if (value instanceof Map) return [...value].map(([key, item]) => [plain(key), plain(item)])
  if (value instanceof Set) return [...value].map(plain)
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(
    Object.entries(value).filter(([, item]) => item !== undefined).map(([key, item]) => [key, plain(item)])
  )
}

/** Every fold in memory is the fold of what is stored. */
export const foldsAgree = (session: Session, disk: Storage): void => {
  const view = session.view()
  const events = disk.events(session.id).slice(0, view.length)
  assert.strictEqual(events.length, view.length, "the journal is as long as the state says")
  for (const projection of knownProjections()) {
    assert.deepStrictEqual(
      plain(view.get(projection)),
      plain(Projection.fold(projection, events)),
      `the fold "${projection.name}" after event ${view.length - 1}`
    )
  }
}

/** `plan/mode` alternates, and each one was selected before. */
export const modesAreSelected = (events: ReadonlyArray<SessionEvent>): void => {
  let active = false
  let wish: boolean | undefined
  for (const event of events) {
    if (event.type === "plan/selected") wish = event.data.active
    if (event.type !== "plan/mode") continue
    assert.strictEqual(event.data.active, !active, `plan/mode at ${event.seq} changes something`)
    assert.strictEqual(wish, event.data.active, `plan/mode at ${event.seq} was selected`)
    active = event.data.active
    wish = undefined
  }
}

/** Plan mode is only ever left by an exact consent or by the person's own wish. */
export const exitsAreConsented = (events: ReadonlyArray<SessionEvent>): void => {
  let previous: SessionEvent | undefined
  for (const event of events) {
    if (event.type === "plan/selected" && !event.data.active) {
      const { by } = event.data
      const consented = by === "user" ||
        (by === "review" && previous?.type === "review/answered" && previous.data.outcome === "approved")
      assert.isTrue(consented, `the exit at ${event.seq} was consented to`)
    }
    previous = event
  }
}

/** Each question has at most one outcome; `closed` sessions have exactly one. */
export const asksAreSettled = (events: ReadonlyArray<SessionEvent>, closed = true): void => {
  const outcomes = new Map<string, number>()
  for (const event of events) {
    switch (event.type) {
      case "review/asked":
      case "approval/asked":
      case "question/asked":
        assert.isFalse(outcomes.has(event.data.request), `request ${event.data.request} is asked once`)
        assert.strictEqual(event.data.request.split("-").at(-1), String(event.seq), "a request is named by its place")
        outcomes.set(event.data.request, 0)
        break
      case "review/answered":
      case "approval/answered":
      case "question/answered": {
        const n = outcomes.get(event.data.request)
        assert.strictEqual(n, 0, `${event.type} at ${event.seq} is the first outcome of ${event.data.request}`)
        outcomes.set(event.data.request, 1)
      }
    }
  }
  if (closed) { for (const [request, n] of outcomes) assert.strictEqual(n, 1, `${request} has its outcome`) }
}

/** Every call has exactly one result, in call order, before anything else is said to the model. */
export const callsAreAnswered = (events: ReadonlyArray<SessionEvent>, closed = true): void => {
  let waiting: Array<string> = []
  const seen = new Set<string>()
  for (const event of events) {
    if (event.type === "message/assistant") {
      assert.deepStrictEqual(waiting, [], `the reply at ${event.seq} comes after all results`)
      for (const call of event.data.calls) {
        assert.isFalse(seen.has(call.id), `call id ${call.id} is new`)
        seen.add(call.id)
      }
      waiting = event.data.calls.map((call) => call.id)
    }
    if (event.type === "tool/result") {
      assert.strictEqual(event.data.call, waiting.shift(), `the result at ${event.seq} is that of the next call`)
    }
    if (event.type === "message/user" || event.type === "step/open" || event.type === "turn/end") {
      assert.deepStrictEqual(waiting, [], `${event.type} at ${event.seq} comes after all results`)
    }
  }
  if (closed) assert.deepStrictEqual(waiting, [], "every call has its result")
}

/** No call starts twice, and a call that was not allowed never starts. */
export const startsAreAllowed = (events: ReadonlyArray<SessionEvent>): void => {
  const approvals = new Map<string, string>()
  const used = new Set<string>()
  for (const event of events) {
    if (event.type === "approval/answered") approvals.set(event.data.request, event.data.outcome)
    if (event.type !== "tool/started") continue
    const { permission } = event.data
    if (permission.by !== "person") continue
    assert.include(["once", "session"], approvals.get(permission.request), `${event.seq} starts on consent`)
    assert.isFalse(used.has(permission.request), `the consent ${permission.request} is used once`)
    used.add(permission.request)
  }
}

/** Turns, their steps and the attempts at them follow each other. */
export const stepsAreInTurns = (events: ReadonlyArray<SessionEvent>): void =>
  assert.strictEqual(turns(events), undefined)

/**
 * Every request that was sent is one that the journal gives back byte for byte, in order; and it contains the guidance if
 * and only if plan mode was in force at its boundary. A boundary whose attempt was cut off before it was sent is passed over.
 */
export const requestsFollow = (events: ReadonlyArray<SessionEvent>, model: ScriptedModel): void => {
  const rebuilt = rebuildRequests(events)
  let next = 0
  model.bodies.forEach((body, i) => {
    while (next < rebuilt.length && bodyOf(rebuilt[next]!.request) !== body) next++
    const found = rebuilt[next++]
    if (found === undefined) return assert.fail(`request ${i} cannot be made again from the journal`)
    const opened = events[found.seq]!
    const { active } = foldPlanMode(events.slice(0, found.seq + 1))
    if (opened.type === "step/open") {
      assert.strictEqual(opened.data.planActive, active, `step/open at ${found.seq} says what is in force`)
    }
    assert.strictEqual(isGuided(model.requests[i]!), active, `request ${i} is guided as its boundary says`)
  })
}

/** Everything that holds of one log. */
export const logIsSound = (events: ReadonlyArray<SessionEvent>, closed = true): void => {
  stepsAreInTurns(events)
  events.forEach((event, i) => assert.strictEqual(event.seq, i, "no gaps"))
  modesAreSelected(events)
  exitsAreConsented(events)
  asksAreSettled(events, closed)
  callsAreAnswered(events, closed)
  startsAreAllowed(events)
}
