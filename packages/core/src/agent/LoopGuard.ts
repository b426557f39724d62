/**
 * Loops that cannot run away: a cap on the rounds of a turn, and a breaker for the same round again and again.
 *
 * Defaults: 500 rounds (what the second seed's loop allows); a reminder after 3 identical rounds, the end of the turn
 * after 5. Identical means the same calls with the same arguments and the same results.
 */
import { Context, Layer } from "effect"
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import type { TurnEndReason } from "../journal/SessionEvent.ts"
import type { TailPart } from "../model/ModelRequest.ts"
import * as texts from "./texts.ts"
import { TurnProjection } from "./Turn.ts"

export interface LoopLimits {
  /** Steps of one turn. */
  readonly rounds: number
  /** Identical rounds in a row after which the model is reminded. */
  readonly remindAfter: number
  /** Identical rounds in a row after which the turn ends. */
  readonly stopAfter: number
}

export const loopDefaults: LoopLimits = { rounds: 500, remindAfter: 3, stopAfter: 5 }

export class LoopGuard extends Context.Reference<LoopLimits>("@holdfast/core/LoopGuard", {
  defaultValue: () => loopDefaults
}) {
  static readonly layer = (limits: Partial<LoopLimits>): Layer.Layer<never> =>
    Layer.succeed(LoopGuard, { ...loopDefaults, ...limits })
}

interface Repeats {
  /** The round before, and the round whose results come in now: calls and results as they stand in the journal. */
  readonly previous: ReadonlyArray<string>
  readonly current: ReadonlyArray<string>
  /** How often the round before has come in a row. */
  readonly count: number
}

const none: Repeats = { previous: [], current: [], count: 0 }

const equal = (a: ReadonlyArray<string>, b: ReadonlyArray<string>) =>
  a.length === b.length && a.every((x, i) => x === b[i])

/** The fold of identical rounds. A round is finished by the next reply, so `count` lags by the round that is open. */
export const RepeatProjection: Projection<Repeats> = Projection.make<Repeats>({
  name: "repeats",
  initial: none,
  on: {
    "turn/start": () => none,
    "message/assistant": (state, { calls }) => ({
      previous: state.current,
      current: calls.flatMap((call) => [call.name, call.arguments]),
      count: state.current.length > 0 && equal(state.previous, state.current) ? state.count : 1
    }),
    "tool/result": (state, { outcome, content }) => {
      const current = [...state.current, outcome, content]
      return { ...state, current, count: equal(state.previous, current) ? state.count + 1 : state.count }
    }
  }
})

/** How often the newest round has come in a row, once all its results are there. */
export const repeatCount = (view: SessionView): number => {
  const { count, current, previous } = view.get(RepeatProjection)
  return current.length > 0 && equal(previous, current) ? count : 1
}

/** Why no further step may be opened in this turn, if that is so. */
export const loopEnd = (
  limits: LoopLimits,
  view: SessionView
): { readonly reason: TurnEndReason; readonly detail: string } | undefined => {
  const { rounds } = view.get(TurnProjection)
  if (rounds >= limits.rounds) return { reason: "round-limit", detail: `${rounds} rounds` }
  const repeats = repeatCount(view)
  if (repeats >= limits.stopAfter) {
    return { reason: "repeat-limit", detail: `the same round came ${repeats} times in a row` }
  }
  return undefined
}

/** The reminder for the tail, when one is due. */
export const loopReminder = (limits: LoopLimits, view: SessionView): ReadonlyArray<TailPart> => {
  const repeats = repeatCount(view)
  return repeats >= limits.remindAfter ? [{ name: "loop:repeat", order: 90, text: texts.repeatReminder(repeats) }] : []
}
