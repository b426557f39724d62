/** A person under the control of a test: sees questions, answers them when told to. */
import { Deferred, Effect, Layer } from "effect"
import { type Answer, Interaction, type InteractionFailed, type Question } from "../../src/index.ts"

interface Shown {
  readonly question: Question
  readonly answer: Deferred.Deferred<Answer, InteractionFailed>
}

export interface Person {
  readonly layer: Layer.Layer<Interaction>
  /** Every question that was ever shown. */
  readonly seen: Array<Question>
  /** Questions that are shown now. */
  readonly showing: () => ReadonlyArray<Question>
  /** Questions that were taken away before they were answered. */
  readonly withdrawn: Array<string>
  /** Waits until a question is shown and answers it. */
  readonly answer: (answer: Answer) => Effect.Effect<Question>
  readonly next: Effect.Effect<Question>
}

export const person = (capacity = 1): Person => {
  const seen: Array<Question> = []
  const withdrawn: Array<string> = []
  const shown = new Map<string, Shown>()
  const next: Effect.Effect<Question> = Effect.gen(function*() {
    while (shown.size === 0) yield* Effect.yieldNow
    return [...shown.values()][0]!.question
  })
  return {
    seen,
    withdrawn,
    showing: () => [...shown.values()].map((item) => item.question),
    next,
    answer: (answer) =>
      Effect.gen(function*() {
        const question = yield* next
        const item = shown.get(question.id)!
        shown.delete(question.id)
        yield* Deferred.succeed(item.answer, answer)
        return question
      }),
    layer: Layer.succeed(Interaction, {
      name: "test person",
      capacity,
      ask: (question) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            const answer = Deferred.makeUnsafe<Answer, InteractionFailed>()
            seen.push(question)
            shown.set(question.id, { question, answer })
            return answer
          }),
          Deferred.await,
          () =>
            Effect.sync(() => {
              if (shown.delete(question.id)) withdrawn.push(question.id)
            })
        )
    })
  }
}
