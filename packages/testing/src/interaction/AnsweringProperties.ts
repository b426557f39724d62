/** That an answer is the person's, whole, and reaches the question that it was given to. */
import { type Answer, choose, dismiss, type Question, say } from "@holdfast/core"
import { Effect } from "effect"
import {
  holds,
  type InteractionProperty,
  type InteractionUnderTest,
  plainQuestion,
  planReview,
  same,
  withProvider
} from "./Property.ts"

const answers: ReadonlyArray<readonly [name: string, question: () => Question, answer: Answer]> = [
  ["the first option", () => plainQuestion(), choose("a")],
  ["the last option", () => plainQuestion(), choose("b")],
  ["no answer", () => plainQuestion(), dismiss],
  ["consent to a plan", () => planReview("# P"), choose("approve")],
  ["the other answer to a plan", () => planReview("# P"), choose("keep")],
  ["a text", () => planReview("# P"), say("smaller steps, please")],
  ["a text in many scripts", () => planReview("# P"), say("测试 👩‍👩‍👧 ünïcode \"quoted\" `code`")],
  ["a text of several lines", () => planReview("# P"), say("# first\n\n- [x] approve\n---\nlast")],
  ["a text without options", () => plainQuestion({ options: [], allowText: true }), say("something")],
  [
    "several options",
    () => plainQuestion({ multiple: true }),
    { _tag: "Answered", selected: ["a", "b"] }
  ],
  [
    "an option and a text",
    () => plainQuestion({ allowText: true, multiple: true }),
    { _tag: "Answered", selected: ["b"], text: "but later" }
  ]
]

export const answeringProperties = (test: InteractionUnderTest): ReadonlyArray<InteractionProperty> => [
  ...answers.map(([name, question, answer]) =>
    withProvider(
      `it returns what the person did: ${name}`,
      test,
      ({ answerTo, ask, isGone, person }) =>
        Effect.gen(function*() {
          const asked = question()
          const asking = yield* ask(asked)
          yield* person.answer(asked.id, answer)
          yield* same(yield* answerTo(asking), answer, "the answer")
          yield* isGone(asked)
        })
    )
  ),

  withProvider(
    "a slow person is waited for, and silence is no answer",
    test,
    ({ answerTo, ask, isShown, person }) =>
      Effect.gen(function*() {
        const question = planReview("# Think about it")
        const asking = yield* ask(question)
        for (let i = 0; i < 10; i++) {
          yield* Effect.sleep("100 millis")
          yield* holds(asking.pollUnsafe() === undefined, "it goes on although nobody has answered")
        }
        yield* holds(yield* isShown(question), "it is still shown")
        yield* person.answer(question.id, choose("keep"))
        yield* same(yield* answerTo(asking), choose("keep"), "the answer")
      })
  ),

  withProvider(
    "a second answer to the same question changes nothing, not even for the next one",
    test,
    (stage) =>
      Effect.gen(function*() {
        const { answerTo, ask, person, stillWorks } = stage
        const question = planReview("# Once")
        const asking = yield* ask(question)
        yield* person.answer(question.id, choose("keep"))
        yield* Effect.ignore(person.answer(question.id, choose("approve")))
        yield* same(yield* answerTo(asking), choose("keep"), "the first answer counts")
        yield* Effect.ignore(person.answer(question.id, choose("approve")))
        const next = planReview("# Twice")
        const other = yield* ask(next)
        yield* Effect.sleep("300 millis")
        yield* holds(other.pollUnsafe() === undefined, "the next question was answered with an answer to another one")
        yield* person.answer(next.id, say("no"))
        yield* same(yield* answerTo(other), say("no"), "the answer to the next one")
        yield* stillWorks
      })
  ),

  withProvider(
    "many questions one after the other leave nothing behind",
    test,
    ({ answerTo, ask, person, until }) =>
      Effect.gen(function*() {
        for (let i = 0; i < 10; i++) {
          const question = plainQuestion()
          const asking = yield* ask(question)
          yield* same(yield* person.showing, [question.id], "only the new one is shown")
          yield* person.answer(question.id, choose(i % 2 === 0 ? "a" : "b"))
          yield* same(yield* answerTo(asking), choose(i % 2 === 0 ? "a" : "b"), `the answer ${i}`)
        }
        yield* until("nothing to be shown", Effect.map(person.showing, (ids) => ids.length === 0))
      })
  ),

  withProvider(
    "as many questions as there is room for are shown at once, and each gets its own answer",
    test,
    (stage) =>
      Effect.gen(function*() {
        const { answerTo, ask, interaction, person } = stage
        const count = Math.min(interaction.capacity, 5)
        const asked = yield* Effect.forEach(
          Array.from({ length: count }, () => planReview("# One of several")),
          (question) => Effect.map(ask(question), (asking) => ({ question, asking }))
        )
        const ids = asked.map(({ question }) => question.id)
        yield* same([...(yield* person.showing)].sort(), [...ids].sort(), "all of them are shown")
        for (const [i, { asking, question }] of [...asked.entries()].toReversed()) {
          yield* person.answer(question.id, say(`to ${i}`))
          yield* same(yield* answerTo(asking), say(`to ${i}`), `the answer to question ${i}`)
          yield* holds(
            asked.slice(0, i).every((other) => other.asking.pollUnsafe() === undefined),
            "an answer reached a question that it was not given to"
          )
        }
      })
  )
]
