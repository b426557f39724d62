/** That a question which has lost its point is taken away, and that nothing but an answer is ever returned as one. */
import { Answer, choose, Interaction } from "@holdfast/core"
import { Cause, Effect, Exit, Fiber, Layer, Option, Schema, Scope } from "effect"
import { property } from "../journal/Property.ts"
import { Person } from "./Person.ts"
import {
  holds,
  type InteractionProperty,
  type InteractionUnderTest,
  plainQuestion,
  planReview,
  same,
  stage,
  withProvider
} from "./Property.ts"

const isAnswer = Schema.is(Answer)

/** The tag of the typed error that it ended with, or what it was instead. */
const ending = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return isAnswer(exit.value) ? "an answer" : "nonsense"
  if (Exit.hasInterrupts(exit)) return "an interruption"
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : "a defect"
}

const refusals = ["InteractionFailed", "InteractionUnavailable"]

export const endingProperties = (test: InteractionUnderTest): ReadonlyArray<InteractionProperty> => [
  withProvider(
    "interrupting the ask takes the question away, and the next one can be asked",
    test,
    (stage) =>
      Effect.gen(function*() {
        const question = planReview("# To be withdrawn")
        const asking = yield* stage.ask(question)
        yield* stage.withdraw(asking)
        yield* stage.isGone(question)
        yield* stage.stillWorks
      })
  ),

  withProvider("an ask that is interrupted at once shows nothing afterwards", test, (stage) =>
    Effect.gen(function*() {
      for (let i = 0; i < 5; i++) {
        const question = planReview("# Hardly asked")
        const asking = yield* Effect.forkChild(stage.interaction.ask(question), { startImmediately: i % 2 === 0 })
        yield* stage.withdraw(asking)
        yield* stage.isGone(question)
      }
      yield* stage.stillWorks
    })),

  withProvider("a late answer to a withdrawn question changes nothing", test, (stage) =>
    Effect.gen(function*() {
      const question = planReview("# Too late")
      const asking = yield* stage.ask(question)
      yield* stage.withdraw(asking)
      yield* stage.isGone(question)
      yield* Effect.ignore(stage.person.answer(question.id, choose("approve")))
      const next = planReview("# The next one")
      const other = yield* stage.ask(next)
      yield* Effect.ignore(stage.person.answer(question.id, choose("approve")))
      yield* Effect.sleep("300 millis")
      yield* holds(
        (yield* stage.isShown(next)) && other.pollUnsafe() === undefined,
        "an answer to a withdrawn question was taken for one to the next"
      )
      yield* stage.person.answer(next.id, choose("keep"))
      yield* same(yield* stage.answerTo(other), choose("keep"), "the answer to the next one")
    })),

  withProvider("withdrawing one of several leaves the others", test, (stage) =>
    Effect.gen(function*() {
      if (stage.interaction.capacity < 2) return
      const [kept, gone] = [plainQuestion(), plainQuestion()]
      const first = yield* stage.ask(kept)
      const second = yield* stage.ask(gone)
      yield* stage.withdraw(second)
      yield* stage.isGone(gone)
      yield* same(yield* stage.person.showing, [kept.id], "the other one is shown")
      yield* stage.person.answer(kept.id, choose("a"))
      yield* same(yield* stage.answerTo(first), choose("a"), "and is answered")
    })),

  withProvider(
    "when the person cannot be reached any more, every ask is a typed refusal",
    test,
    (stage) =>
      Effect.gen(function*() {
        const { leave } = stage.person
        if (leave === undefined) return
        const question = planReview("# Nobody is there")
        const asking = yield* stage.ask(question)
        yield* leave
        const open = ending(yield* stage.endOf(asking))
        yield* holds(refusals.includes(open), `the open question ended with ${open}`)
        const after = yield* Effect.forkChild(stage.interaction.ask(planReview("# Nobody at all")), {
          startImmediately: true
        })
        const later = ending(yield* stage.endOf(after))
        yield* holds(refusals.includes(later), `a question after that ended with ${later}`)
      })
  ),

  property(
    "closing the provider ends what it shows without an answer",
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(test.layer, scope)
      const { ask, endOf, interaction, withdraw } = yield* Effect.provide(
        Effect.gen(function*() {
          return stage(test, yield* Interaction, yield* Person)
        }),
        context
      )
      const asking = yield* ask(planReview("# Closed while it was shown"))
      yield* Scope.close(scope, Exit.void)
      // Closing is the program's end: an ask may also be left to its own interruption, which must then work.
      yield* Effect.raceFirst(Fiber.await(asking), Effect.sleep("1 second"))
      yield* withdraw(asking)
      const end = ending(yield* endOf(asking))
      yield* holds(end === "an interruption" || refusals.includes(end), `the open question ended with ${end}`)
      const late = yield* Effect.forkChild(interaction.ask(planReview("# After the close")), { startImmediately: true })
      yield* Effect.raceFirst(Fiber.await(late), Effect.sleep("1 second"))
      yield* withdraw(late)
      const after = ending(yield* endOf(late))
      yield* holds(
        after === "an interruption" || refusals.includes(after),
        `a question after the close ended with ${after}`
      )
    })
  )
]
