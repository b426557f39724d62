/**
 * The seam to a person: a provider shows a question and returns what the person answered.
 *
 * Providers are free in how they show it. The harness calls `ask` for at most `capacity` questions at once, in the order
 * in which they were asked, and interrupts the call when the question is withdrawn: a provider then takes it off the screen in
 * a finalizer, and nothing that the person does with it later has an effect.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { Answer, Question } from "./Question.ts"

/** The provider could not show the question or lost its answer. It counts as a refusal. */
export class InteractionFailed extends Schema.TaggedError<InteractionFailed>()("InteractionFailed", {
  provider: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `The interaction provider "${this.provider}" failed: ${this.detail}`
  }
}

/** There is nobody to ask. It counts as a refusal. */
export class InteractionUnavailable extends Schema.TaggedError<InteractionUnavailable>()("InteractionUnavailable", {
  detail: Schema.String
}) {
  override get message() {
    return `Nobody can be asked: ${this.detail}`
  }
}

/**
 * A way to reach a person.
 *
 * @example
 * const Yes = Layer.succeed(Interaction, {
 *   name: "yes", capacity: 1, ask: (question) => Effect.succeed(choose(question.options[0].id))
 * })
 */
export class Interaction extends Context.Service<Interaction, {
  readonly name: string
  /** How many questions can be shown at once: 1 for a terminal. */
  readonly capacity: number
  readonly ask: (question: Question) => Effect.Effect<Answer, InteractionFailed | InteractionUnavailable>
}>()("@holdfast/core/Interaction") {
  /** For headless programs: every question is refused at once. */
  static readonly layerNone: Layer.Layer<Interaction> = Layer.succeed(Interaction, {
    name: "none",
    capacity: 1,
    ask: () => Effect.fail(new InteractionUnavailable({ detail: "this program was composed without a provider" }))
  })
}
