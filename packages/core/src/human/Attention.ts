/**
 * The person's attention: the one resource that everybody who asks must share.
 *
 * A person can look at as many questions at once as their provider can show. Whoever asks waits in line, first come first
 * served, whether for a plan review, an approval or a question, and whether for the root or a child. Waiting and showing can both be
 * interrupted, and the permit always comes back. Errors, defects, deadlines and nonsense become refusals here, so that nothing
 * but an answer can ever be taken for one.
 */
import { Cause, Context, type Duration, Effect, Exit, Layer, Option, Schema, Semaphore } from "effect"
import { type Disposed, Fence } from "../Fence.ts"
import { Interaction } from "./Interaction.ts"
import { Answer, type Question } from "./Question.ts"

/** What became of a question. Only `Answered` carries a decision of the person. */
export type Verdict =
  | Answer
  | { readonly _tag: "Invalid"; readonly detail: string }
  | { readonly _tag: "Unavailable"; readonly detail: string }
  | { readonly _tag: "Failed"; readonly detail: string }
  | { readonly _tag: "Expired" }
  | { readonly _tag: "Withdrawn"; readonly by: "user" | "session" }

/** A question that waits for its turn (`shown: false`) or stands before the person. */
export interface OpenQuestion {
  readonly question: Question
  readonly shown: boolean
}

export interface AskOptions<A> {
  /** How long the person has; the clock starts when the question is shown. Absent: as long as they like. */
  readonly deadline?: Duration.Input | undefined
  /** Asked once the permit is there: what makes it needless to bother anybody now. */
  readonly reconsider?: () => A | undefined
}

export class Attention extends Context.Service<Attention, {
  readonly ask: <A = never>(question: Question, options?: AskOptions<A>) => Effect.Effect<Verdict | A, Disposed>
  /** What waits and what is shown, in the order of asking; for interfaces that reconnect. */
  readonly open: () => ReadonlyArray<OpenQuestion>
}>()("@holdfast/core/Attention") {
  /** Guards the provider with as many permits as it can show questions, or with `capacity` permits. */
  static readonly layer = (capacity?: number): Layer.Layer<Attention, never, Interaction> =>
    Layer.effect(
      Attention,
      Effect.gen(function*() {
        const interaction = yield* Interaction
        const permits = yield* Semaphore.make(Math.max(1, capacity ?? interaction.capacity))
        const open = new Map<string, OpenQuestion>()
        const fence = yield* Fence.make("Attention")

        const show = (question: Question, deadline: Duration.Input | undefined): Effect.Effect<Verdict> => {
          const asked = Effect.suspend(() => interaction.ask(question))
          return Effect.exit(deadline === undefined ? Effect.asSome(asked) : Effect.timeoutOption(asked, deadline))
            .pipe(
              Effect.map((exit) => {
                if (Exit.isFailure(exit)) return failure(exit.cause)
                return Option.match(exit.value, {
                  onNone: (): Verdict => ({ _tag: "Expired" }),
                  onSome: (answer) => checkAnswer(question, answer)
                })
              })
            )
        }

        return Attention.of({
          open: () => [...open.values()],
          ask: <A>(question: Question, options?: AskOptions<A>) =>
            Effect.acquireUseRelease(
              Effect.sync(() => void open.set(question.id, { question, shown: false })),
              () =>
                permits.withPermit(Effect.suspend((): Effect.Effect<Verdict | A> => {
                  const needless = options?.reconsider?.()
                  if (needless !== undefined) return Effect.succeed<A>(needless)
                  open.set(question.id, { question, shown: true })
                  return show(question, options?.deadline)
                })),
              () => Effect.sync(() => void open.delete(question.id))
            ).pipe(fence.guard)
        })
      })
    )
}

const failure = (cause: Cause.Cause<{ readonly _tag: string; readonly message: string }>): Verdict => {
  const error = Cause.findErrorOption(cause)
  if (Option.isNone(error)) return { _tag: "Failed", detail: "the interaction provider ended with a defect" }
  return error.value._tag === "InteractionUnavailable"
    ? { _tag: "Unavailable", detail: error.value.message }
    : { _tag: "Failed", detail: error.value.message }
}

const isAnswer = Schema.is(Answer)

/** Whether an answer fits its question. An answer that does not is nobody's decision. */
export const checkAnswer = (question: Question, answer: unknown): Verdict => {
  if (!isAnswer(answer)) return { _tag: "Invalid", detail: "the answer has no known form" }
  if (answer._tag === "Dismissed") return answer
  const known = new Set(question.options.map((option) => option.id))
  const unknown = answer.selected.find((id) => !known.has(id))
  if (unknown !== undefined) return { _tag: "Invalid", detail: `there is no option "${unknown}"` }
  if (new Set(answer.selected).size !== answer.selected.length) {
    return { _tag: "Invalid", detail: "an option was chosen twice" }
  }
  if (answer.text !== undefined && !question.allowText) {
    return { _tag: "Invalid", detail: "this question takes no text" }
  }
  return answer
}
