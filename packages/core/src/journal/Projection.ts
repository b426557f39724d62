/**
 * State as a fold: a pure reducer over events, run incrementally by `Session`.
 *
 * A projection is the only form in which the harness keeps state that must survive a restart. A read costs nothing, an
 * event costs one call per projection that listens to its type.
 */
import type { EventData, EventType, SessionEvent } from "./SessionEvent.ts"

type Handler<S, K extends string> = (
  state: S,
  data: K extends EventType ? EventData<K> : unknown,
  event: SessionEvent
) => S

export interface Projection<S> {
  readonly name: string
  readonly initial: S
  /** Reducers by event type; an event of any other type leaves the state as it is. */
  readonly on: { readonly [type: string]: (state: S, data: never, event: SessionEvent) => S }
}

const known: Array<Projection<unknown>> = []

/**
 * Describes a projection. Every session that is opened after this call folds it from its first event on, so make it at
 * the top of a module.
 *
 * @example
 * const Rounds = Projection.make({ name: "rounds", initial: 0, on: { "step/open": (n) => n + 1 } })
 */
const make = <S>(options: {
  readonly name: string
  readonly initial: S
  readonly on: { readonly [K in EventType]?: Handler<S, K> } & { readonly [K in `x-${string}`]?: Handler<S, K> }
}): Projection<S> => {
  const projection = options as unknown as Projection<S>
  known.push(projection as Projection<unknown>)
  return projection
}

/** The projections that a session opened now would fold. */
export const knownProjections = (): ReadonlyArray<Projection<unknown>> => [...known]

/** Applies one event to a state of `projection`. */
const step = <S>(projection: Projection<S>, state: S, event: SessionEvent): S => {
  const handler = projection.on[event.type]
  return handler === undefined ? state : handler(state, event.data as never, event)
}

/** The state after all of `events`: the definition that the incremental fold must agree with. */
const fold = <S>(projection: Projection<S>, events: Iterable<SessionEvent>): S => {
  let state = projection.initial
  for (const event of events) state = step(projection, state, event)
  return state
}

/** Makes projections and applies them. */
export const Projection = { make, step, fold }
