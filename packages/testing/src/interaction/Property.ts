/** What a conformance test of an interaction provider is made of. */
import { type Answer, Interaction, type Question, SessionId } from "@holdfast/core"
import { Clock, Duration, Effect, type Exit, Fiber, type Layer } from "effect"
import { AssertionError } from "node:assert"
import { holds, property } from "../journal/Property.ts"
import { Person, type PersonDriver } from "./Person.ts"

export { holds, same } from "../journal/Property.ts"

/** What a provider tells about itself, so that the suite knows what to ask of it. */
export interface InteractionUnderTest {
  /** The provider and the person before it. It is built anew for each property. */
  readonly layer: Layer.Layer<Interaction | Person, unknown>
  /**
   * What can be read: every byte (default), or every visible character. `text` is for media where a person cannot see blanks at
   * the end of a line or control characters as they are.
   */
  readonly reads?: "bytes" | "text"
  /** How long something may take to appear or to go before the suite gives up; 30 seconds by default. */
  readonly patience?: Duration.Input
}

/** One promise of the contract as a program that fails with an `AssertionError` where the promise is broken. */
export interface InteractionProperty {
  readonly name: string
  readonly run: Effect.Effect<void, AssertionError>
}

/** What a property works with. */
export interface Stage {
  readonly interaction: Interaction["Service"]
  readonly person: PersonDriver
  /** Asks, and returns when the person can see it. */
  readonly ask: (question: Question) => Effect.Effect<Asking, unknown>
  /** The answer that an ask came to. */
  readonly answerTo: (asking: Asking) => Effect.Effect<Answer, unknown>
  /** How an ask ended. */
  readonly endOf: (asking: Asking) => Effect.Effect<Exit.Exit<Answer, unknown>, unknown>
  /** Interrupts an ask and waits for that. */
  readonly withdraw: (asking: Asking) => Effect.Effect<void, unknown>
  /** Waits until something holds. */
  readonly until: (what: string, check: Effect.Effect<boolean, unknown>) => Effect.Effect<void, unknown>
  readonly isShown: (question: Question) => Effect.Effect<boolean, unknown>
  /** Waits until the question is not open any more. */
  readonly isGone: (question: Question) => Effect.Effect<void, unknown>
  /** Asks one more question and answers it: what went before has left nothing behind. */
  readonly stillWorks: Effect.Effect<void, unknown>
}

type Asking = Fiber.Fiber<Answer, unknown>

export const stage = (
  test: InteractionUnderTest,
  interaction: Interaction["Service"],
  person: PersonDriver
): Stage => {
  const patience = Duration.toMillis(Duration.fromInputUnsafe(test.patience ?? "30 seconds"))
  const until: Stage["until"] = (what, check) =>
    Effect.gen(function*() {
      const end = (yield* Clock.currentTimeMillis) + patience
      while (!(yield* check)) {
        yield* holds((yield* Clock.currentTimeMillis) < end, `waited in vain for: ${what}`)
        yield* Effect.sleep("10 millis")
      }
    })
  const inTime = <A, E>(what: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E | AssertionError> =>
    Effect.timeoutOrElse(effect, {
      duration: patience,
      orElse: () => Effect.fail(new AssertionError({ message: `waited in vain for: ${what}` }))
    })
  const answerTo: Stage["answerTo"] = (asking) => inTime("an ask to return", Fiber.join(asking))
  const isShown: Stage["isShown"] = (question) => Effect.map(person.showing, (ids) => ids.includes(question.id))
  const ask: Stage["ask"] = (question) =>
    Effect.gen(function*() {
      const asking = yield* Effect.forkChild(interaction.ask(question), { startImmediately: true })
      yield* until(
        `the question "${question.title}" to be shown`,
        Effect.suspend(() =>
          asking.pollUnsafe() === undefined ? isShown(question) : Effect.as(Fiber.join(asking), true)
        )
      )
      return asking
    })
  return {
    interaction,
    person,
    ask,
    answerTo,
    endOf: (asking) => inTime("an ask to end", Fiber.await(asking)),
    withdraw: (asking) => inTime("an interrupted ask to end", Fiber.interrupt(asking)),
    until,
    isShown,
    isGone: (question) =>
      until(`the question "${question.title}" to be gone`, Effect.map(isShown(question), (shown) => !shown)),
    stillWorks: Effect.gen(function*() {
      const question = plainQuestion()
      const asking = yield* ask(question)
      const answer: Answer = { _tag: "Answered", selected: ["b"] }
      yield* person.answer(question.id, answer)
      const got = yield* answerTo(asking)
      yield* holds(
        JSON.stringify(got) === JSON.stringify(answer),
        `the next question was answered ${JSON.stringify(got)}`
      )
    })
  }
}

/** A property of one build of the provider. */
export const withProvider = (
  name: string,
  test: InteractionUnderTest,
  run: (stage: Stage) => Effect.Effect<void, unknown>
): InteractionProperty =>
  property(
    name,
    Effect.gen(function*() {
      yield* run(stage(test, yield* Interaction, yield* Person))
    }).pipe(Effect.provide(test.layer))
  )

let count = 0

/** An id that no other question of this run has; ids of the harness look like it. */
export const freshId = (): string => `conformance/review-${++count}`

const asker: Question["asker"] = { session: SessionId.make("conformance"), path: ["researcher", "reader"] }

/** A question with two options that takes no text. */
export const plainQuestion = (over: Partial<Question> = {}): Question => {
  const id = freshId()
  return {
    id,
    asker,
    intent: { name: "question" },
    title: `Which one? (${id})`,
    detail: "There are two.",
    options: [{ id: "a", label: "The first" }, { id: "b", label: "The second", description: "It is blue" }],
    allowText: false,
    ...over
  }
}

/** A plan review as the harness asks it. */
export const planReview = (plan: string, over: Partial<Question> = {}): Question => {
  const id = freshId()
  return {
    id,
    asker: { ...asker, path: [] },
    intent: { name: "plan-review", approve: "approve" },
    title: `Build it (${id})`,
    detail: plan,
    preview: { kind: "markdown", text: plan },
    options: [{ id: "approve", label: "Approve" }, { id: "keep", label: "Keep planning" }],
    allowText: true,
    ...over
  }
}
