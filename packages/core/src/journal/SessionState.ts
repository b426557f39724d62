/** All folds of one session at one point of its journal. */
import { knownProjections, Projection } from "./Projection.ts"
import type { NewEvent, SessionEvent, SessionId } from "./SessionEvent.ts"

/** Which folds listen to which type; made once for all sessions that are opened with the same projections. */
interface Plan {
  readonly projections: ReadonlyArray<Projection<unknown>>
  readonly index: ReadonlyMap<Projection<unknown>, number>
  readonly listeners: ReadonlyMap<string, ReadonlyArray<number>>
}

export interface SessionState {
  readonly id: SessionId
  readonly length: number
  readonly at: number
  /** How many ignorable events of unknown types there are; no fold has seen them. */
  readonly skipped: number
  readonly parent: SessionId | undefined
  readonly plan: Plan
  readonly folds: ReadonlyArray<unknown>
}

let latest: Plan | undefined

const currentPlan = (): Plan => {
  const projections = knownProjections()
  if (latest !== undefined && latest.projections.length === projections.length) return latest
  const listeners = new Map<string, Array<number>>()
  projections.forEach((projection, i) => {
    for (const type of Object.keys(projection.on)) {
      const indices = listeners.get(type)
      if (indices === undefined) listeners.set(type, [i])
      else indices.push(i)
    }
  })
  return latest = { projections, index: new Map(projections.map((p, i) => [p, i])), listeners }
}

const empty = (id: SessionId, parent?: SessionId): SessionState => {
  const plan = currentPlan()
  return {
    id,
    length: 0,
    at: 0,
    skipped: 0,
    parent,
    plan,
    folds: plan.projections.map((projection) => projection.initial)
  }
}

const apply = (state: SessionState, event: SessionEvent): SessionState => {
  const listeners = event.skipped === true ? undefined : state.plan.listeners.get(event.type)
  let folds = state.folds
  if (listeners !== undefined) {
    const next = [...folds]
    for (const i of listeners) next[i] = Projection.step(state.plan.projections[i]!, next[i], event)
    folds = next
  }
  return {
    id: state.id,
    length: event.seq + 1,
    at: Math.max(state.at, event.at),
    skipped: event.skipped === true ? state.skipped + 1 : state.skipped,
    parent: event.type === "session/created"
      ? (event.data as { readonly parent?: { readonly session: SessionId } }).parent?.session
      : state.parent,
    plan: state.plan,
    folds
  }
}

const applyNew = (state: SessionState, events: ReadonlyArray<NewEvent>): SessionState => {
  let next = state
  for (const event of events) {
    next = apply(next, { ...event, session: state.id, seq: next.length, at: next.at })
  }
  return next
}

const get = <S>(state: SessionState, projection: Projection<S>): S => {
  const i = state.plan.index.get(projection as Projection<unknown>)
  if (i === undefined) {
    throw new Error(`The projection "${projection.name}" was made after session ${state.id} was opened`)
  }
  return state.folds[i] as S
}

const parent = (state: SessionState): SessionId | undefined => state.parent

/** Makes states and folds events into them. */
export const SessionState = { empty, apply, applyNew, get, parent }
