/**
 * One question from its first fact to its last: `asked` is durable before anybody sees it, and exactly one `answered`
 * follows, whatever happens in between.
 */
import { type Duration, Effect, Exit } from "effect"
import type { Disposed } from "../Fence.ts"
import type { Decision, Session, SessionView, TransactError } from "../journal/Session.ts"
import type { NewEvent } from "../journal/SessionEvent.ts"
import type { Attention, Verdict } from "./Attention.ts"
import type { Question } from "./Question.ts"

export interface AskPlan<A> {
  readonly session: Session
  readonly attention: Attention["Service"]
  /** Names the request within its session: `review-41`. The number is the `seq` of the event, so it is never used twice. */
  readonly prefix: string
  /** Decided under the same lock as the asking: what makes it needless to ask at all, and is the result then. */
  readonly unless?: (view: SessionView) => A | undefined
  /** The facts of asking, the last of which is the `asked` event. */
  readonly asked: (request: string, view: SessionView) => ReadonlyArray<NewEvent>
  readonly question: (request: string) => Question
  readonly deadline?: Duration.Input | undefined
  /** Asked when the person's attention is free: settles the question without them. */
  readonly reconsider?: (view: SessionView) => Verdict | undefined
  /** True as soon as the question has lost its point; it is then taken away from the person. */
  readonly pointless?: (view: SessionView) => boolean
  /** The facts of the outcome, the `answered` event among them. */
  readonly settle: (request: string, verdict: Verdict, view: SessionView) => Decision<A>
}

/** Asks, waits and settles. Interrupting it withdraws the question and logs that. */
export const ask = <A>(plan: AskPlan<A>): Effect.Effect<A, TransactError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const { session } = plan
      const opened = yield* session.transact(
        (view): Decision<{ readonly request: string } | { readonly needless: A }> => {
          const needless = plan.unless?.(view)
          if (needless !== undefined) return { events: [], value: { needless } }
          // Results that were still to be logged come first and count.
          const before = plan.asked("", view).length - 1
          const id = `${plan.prefix}-${view.length + before}`
          return { events: plan.asked(id, view), value: { request: id } }
        }
      )
      if ("needless" in opened) return opened.needless
      const { request } = opened
      const waiting: Effect.Effect<Verdict, Disposed> = plan.attention.ask<Verdict>(plan.question(request), {
        deadline: plan.deadline,
        reconsider: () => plan.reconsider?.(session.view())
      })
      const { pointless } = plan
      const answered = pointless === undefined ? waiting : Effect.raceFirst(
        waiting,
        Effect.as(session.until(pointless), { _tag: "Withdrawn", by: "user" } satisfies Verdict)
      )
      const exit = yield* Effect.exit(restore(answered))
      const verdict: Verdict = Exit.isSuccess(exit) ? exit.value : { _tag: "Withdrawn", by: "session" }
      const value = yield* session.transact((view) => plan.settle(request, verdict, view))
      // The outcome is logged; an interruption of the asker goes on to its own handler.
      return Exit.hasInterrupts(exit) ? yield* Effect.interrupt : value
    })
  )

/** The identity of a request for everybody outside its session. */
export const questionId = (session: Session, request: string): string => `${session.id}/${request}`
