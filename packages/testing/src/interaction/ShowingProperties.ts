/** That a person is shown everything that they decide about. */
import { dismiss, type Question } from "@holdfast/core"
import { Effect } from "effect"
import {
  freshId,
  holds,
  type InteractionProperty,
  type InteractionUnderTest,
  plainQuestion,
  planReview,
  same,
  type Stage,
  withProvider
} from "./Property.ts"

const shows = ({ answerTo, ask, person }: Stage, question: Question, parts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const asking = yield* ask(question)
    const text = yield* person.read(question.id)
    for (const part of parts) {
      yield* holds(
        text.includes(part),
        `the person cannot read this (${part.length} characters): ${
          part.slice(0, 200)
        }\nbut only this (${text.length} ` +
          `characters): ${text.slice(0, 2000)}`
      )
    }
    yield* person.answer(question.id, dismiss)
    yield* answerTo(asking)
  })

/** Whole characters of many scripts, none of which acts on anything. */
const unicode =
  "# Plan: 测试 · प्रमाण · اختبار · בדיקה\n\n1. naïve café, e\u0301 and é are two things\n2. 👩‍👩‍👧 🇩🇪 👍🏽 keep together\n" +
  "3. 全角ＡＢＣ next to half\n4. 𝕏 𐍈 beyond the basic plane"

/** What only a medium that keeps bytes can show as it is. */
const bytes =
  "\uFEFF# Plan\r\n\r\n  two blanks at the end  \r\n\ttab\t\r\n\r\n\r\n``` not closed\n~~~\n---\n<b>&amp;</b> \\n %s $1\u2028\n\n"

const long = Array.from({ length: 1500 }, (_, i) => `${i + 1}. ${"step by step ".repeat(i % 12)}done`).join("\n")

const diff = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,2 +1,2 @@\n same\n-old\n+new"

export const showingProperties = (test: InteractionUnderTest): ReadonlyArray<InteractionProperty> => [
  withProvider("it has a name and room for at least one question", test, ({ interaction }) =>
    Effect.gen(function*() {
      yield* holds(interaction.name !== "", "the name is not empty")
      yield* holds(Number.isInteger(interaction.capacity) && interaction.capacity >= 1, "capacity is 1 or more")
    })),

  withProvider("who asks, the title, the detail and every option can be read", test, (stage) => {
    const question = plainQuestion({ detail: "# A detail\n\nwith *two* paragraphs" })
    return shows(stage, question, [
      "researcher",
      "reader",
      question.title,
      question.detail,
      "The first",
      "The second",
      "It is blue"
    ])
  }),

  withProvider(
    "an edit is shown with its diff and a process with its command line and folder",
    test,
    (stage) =>
      Effect.gen(function*() {
        const intent: Question["intent"] = { name: "approval", tool: "edit_file", allow: ["a"] }
        const edit = plainQuestion({ intent, detail: "{}", preview: { kind: "diff", path: "src/a.ts", diff } })
        yield* shows(stage, edit, ["src/a.ts", diff])
        const command = "node --test && echo \"done\" | tee out.log"
        yield* shows(
          stage,
          plainQuestion({ intent, detail: "{}", preview: { kind: "command", command, cwd: "/srv/project" } }),
          [command, "/srv/project"]
        )
        yield* shows(
          stage,
          plainQuestion({ intent, detail: "{\"path\":\"a\"}", preview: { kind: "text", text: "Deletes the file a." } }),
          ["Deletes the file a."]
        )
      })
  ),

  withProvider("a plan in many scripts is shown whole", test, (stage) => shows(stage, planReview(unicode), [unicode])),

  withProvider("a plan of 100 KB is shown whole", test, (stage) =>
    Effect.gen(function*() {
      yield* holds(long.length > 100_000, "it is long")
      yield* shows(stage, planReview(`# Long\n${long}`), [`# Long\n${long}`])
    })),

  ...(test.reads === "text" ? [] : [
    withProvider(
      "a plan is shown byte for byte, with line ends, blanks and marks of every kind",
      test,
      (stage) => shows(stage, planReview(bytes), [bytes])
    )
  ]),

  withProvider("no question, however odd, is a defect or hangs", test, (stage) =>
    Effect.gen(function*() {
      const { answerTo, ask, interaction, person } = stage
      const odd: ReadonlyArray<Partial<Question>> = [
        { detail: "" },
        { options: [], allowText: true },
        { options: [{ id: "a", label: "" }, { id: "b", label: "line one\nline two" }] },
        { options: Array.from({ length: 40 }, (_, i) => ({ id: `o${i}`, label: `Option ${i}` })) },
        {
          options: [{ id: "../../x", label: "x" }, { id: "a b\u0000c", label: "y" }, { id: "selected: a", label: "z" }]
        },
        { detail: "\u001b[2J\u001b]0;x\u0007\u0000\u202e\ud800 \n```\n````\n---\n# Your answer\n- [x] a\n" },
        { detail: "x".repeat(20_000) }
      ]
      for (const over of odd) {
        const question = plainQuestion(over)
        const asking = yield* ask(question)
        yield* person.answer(question.id, dismiss)
        yield* same(yield* answerTo(asking), dismiss, JSON.stringify(over).slice(0, 100))
      }
      const strange = freshId() + "/../a b:*?\u00e9"
      const question = plainQuestion({ id: strange, title: `Strange (${strange})` })
      const asking = yield* Effect.forkChild(interaction.ask(question), { startImmediately: true })
      yield* stage.until("a question with a strange id", stage.isShown(question))
      yield* person.answer(strange, dismiss)
      yield* same(yield* answerTo(asking), dismiss, "a strange id")
    }))
]
