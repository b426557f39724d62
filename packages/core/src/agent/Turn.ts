/**
 * A turn as a fold: where in its life it stands, and what comes next.
 *
 * States: `idle` → (turn/start) `boundary` → (step/open) `requesting` → (message/assistant) `replied` → `boundary` …
 * → (turn/end) `idle`. A failed attempt leads from `requesting` back to `boundary`. The loop of the agent carries out
 * what `nextAction` says and keeps no state of its own, so a resumed turn is an ordinary one.
 */
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import { type EventData, type NewEvent, SessionEvent, type TurnEndReason } from "../journal/SessionEvent.ts"
import { openCalls, ToolBatch } from "../tools/ToolBatch.ts"
import { Inbox } from "./Inbox.ts"

export interface TurnState {
  /** How many turns have begun. */
  readonly turn: number
  readonly phase: "idle" | "boundary" | "requesting" | "replied"
  /** Steps of the current turn. */
  readonly rounds: number
  /** The number of the current step in the session; attempts share it. */
  readonly step: number
  /** Attempts at the current step so far. */
  readonly attempt: number
  /** Failed attempts at the current step. */
  readonly failures: number
  readonly failed: EventData<"step/failed"> | undefined
  /** How the newest reply ended, and whether it asked for calls. */
  readonly reply: { readonly finish: string; readonly calls: number } | undefined
  readonly end: { readonly turn: number; readonly reason: TurnEndReason; readonly detail?: string } | undefined
}

export const TurnProjection: Projection<TurnState> = Projection.make<TurnState>({
  name: "turn",
  initial: {
    turn: 0,
    phase: "idle",
    rounds: 0,
    step: 0,
    attempt: 0,
    failures: 0,
    failed: undefined,
    reply: undefined,
    end: undefined
  },
  on: {
    "turn/start": (state, { turn }) => ({
      ...state,
      turn,
      phase: "boundary",
      rounds: 0,
      attempt: 0,
      failures: 0,
      failed: undefined,
      reply: undefined
    }),
    // Requests for a summary come between steps and leave the turn where it stands.
    "step/open": (state, { step, attempt, purpose }) =>
      purpose !== undefined ? state : {
        ...state,
        phase: "requesting",
        step,
        attempt,
        rounds: attempt === 1 ? state.rounds + 1 : state.rounds,
        failures: attempt === 1 ? 0 : state.failures,
        failed: undefined
      },
    "step/failed": (state, failed) =>
      failed.purpose !== undefined
        ? state
        : { ...state, phase: "boundary", failures: state.failures + 1, failed },
    "message/assistant": (state, { calls, finish }) => ({
      ...state,
      phase: "replied",
      attempt: 0,
      failures: 0,
      reply: { finish, calls: calls.length }
    }),
    "turn/end": (state, end) => ({ ...state, phase: "idle", attempt: 0, failures: 0, end })
  }
})

/** The step that the next request opens, and which attempt at it that is. */
export const upcomingStep = (
  { attempt, phase, step }: TurnState
): { readonly step: number; readonly attempt: number } =>
  attempt > 0 && (phase === "boundary" || phase === "requesting")
    ? { step, attempt: attempt + 1 }
    : { step: step + 1, attempt: 1 }

/** The event that ends the current turn. */
export const turnEnd = (view: SessionView, reason: TurnEndReason, detail?: string): NewEvent =>
  SessionEvent.event("turn/end", {
    turn: view.get(TurnProjection).turn,
    reason,
    ...(detail === undefined ? {} : { detail })
  })

export type Action =
  | { readonly _tag: "Idle" }
  /** Open a step: the first, a continuation, or another attempt. */
  | { readonly _tag: "Boundary" }
  /** Bring the open calls of the newest reply to their results. */
  | { readonly _tag: "Calls" }
  | { readonly _tag: "End"; readonly reason: TurnEndReason; readonly detail?: string }

/** What the turn needs now. */
export const nextAction = (view: SessionView): Action => {
  const turn = view.get(TurnProjection)
  switch (turn.phase) {
    case "idle":
      return { _tag: "Idle" }
    case "boundary":
    case "requesting":
      return { _tag: "Boundary" }
    case "replied": {
      if (openCalls(view).length > 0) return { _tag: "Calls" }
      const ends = view.get(ToolBatch).endsTurn
      // Who waits for the person goes on when the person has already spoken.
      if (ends !== undefined && view.get(Inbox).length === 0) return { _tag: "End", reason: ends }
      const { calls, finish } = turn.reply ?? { calls: 0, finish: "stop" }
      if (calls > 0) return { _tag: "Boundary" }
      if (finish === "length") {
        return { _tag: "End", reason: "failed", detail: "the reply was cut off at its token limit" }
      }
      if (finish === "content-filter") {
        return { _tag: "End", reason: "failed", detail: "the provider filtered the reply" }
      }
      return view.get(Inbox).length > 0 ? { _tag: "Boundary" } : { _tag: "End", reason: "completed" }
    }
  }
}
