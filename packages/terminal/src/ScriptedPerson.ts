/**
 * A person who is a script, for runs without a terminal: demonstrations, transcripts, tests. It shows each question as a person
 * would have seen it, and always says that a script answered.
 */
import { type Answer, choose, Interaction, InteractionUnavailable, type Question } from "@holdfast/core"
import { Effect, Layer } from "effect"
import { questionBlock } from "./QuestionView.ts"
import { safeLine } from "./Sanitize.ts"
import { Screen } from "./Screen.ts"
import { plainStyle, type Style } from "./Style.ts"
import { Texts } from "./Texts.ts"

/** An answer, or how to find it; `undefined` means that there is none. */
export type ScriptedAnswer = Answer | ((question: Question) => Answer | undefined)

/** One line of a script. */
export interface ScriptedRule {
  /** Which questions it answers: those of an intent, or those of which this is true. All, if it is not given. */
  readonly when?: Question["intent"]["name"] | ((question: Question) => boolean)
  readonly answer: ScriptedAnswer
  /** How many questions it answers; one, if it is not given. */
  readonly times?: number
}

/** Rules, of which the first that fits and is not used up answers; or a function. */
export type Script = ReadonlyArray<ScriptedRule> | ((question: Question) => Answer | undefined)

/** Consents to what the question is about: Approve for a plan, the first option that allows for an approval. */
export const consent = (question: Question): Answer | undefined => {
  const option = question.intent.name === "plan-review"
    ? question.intent.approve
    : question.intent.name === "approval"
    ? question.intent.allow[0]
    : question.options[0]?.id
  return option === undefined ? undefined : choose(option)
}

const fits = (rule: ScriptedRule, question: Question): boolean =>
  rule.when === undefined ||
  (typeof rule.when === "string" ? rule.when === question.intent.name : rule.when(question))

/** What an answer says, for people. */
export const describeAnswer = (question: Question, answer: Answer): string => {
  if (answer._tag === "Dismissed") return Texts.dismissed
  const labels = answer.selected.map((id) => question.options.find((option) => option.id === id)?.label ?? id)
  return [...labels, ...(answer.text === undefined ? [] : [JSON.stringify(answer.text)])].map(safeLine).join(", ")
}

/** How a scripted person's output looks; without `columns` no line is wrapped. */
export interface ScriptedPersonOptions {
  readonly style?: Style
  readonly columns?: number
}

/** The provider on any way to print lines; `ScriptedPerson.layer` prints on the `Screen`. */
export const makeScriptedPerson = (
  script: Script,
  print: (lines: string) => Effect.Effect<void>,
  options: ScriptedPersonOptions = {}
): Interaction["Service"] => {
  const style = options.style ?? plainStyle
  const used = new Map<ScriptedRule, number>()
  const find = (question: Question): Answer | undefined => {
    if (typeof script === "function") return script(question)
    for (const rule of script) {
      const count = used.get(rule) ?? 0
      if (count >= (rule.times ?? 1) || !fits(rule, question)) continue
      used.set(rule, count + 1)
      return typeof rule.answer === "function" ? rule.answer(question) : rule.answer
    }
    return undefined
  }
  return Interaction.of({
    name: "scripted",
    capacity: 1,
    ask: Effect.fnUntraced(function*(question: Question) {
      // Nobody decides by it here, so the preview is enough and the raw arguments that it stands for are left out.
      const { body, head, notes } = questionBlock(question, style, options.columns ?? Number.POSITIVE_INFINITY, {
        arguments: "without-preview"
      })
      const labels = question.options.map((option) => safeLine(option.label))
      const choices = Texts.scripted.options([...labels, ...(question.allowText ? [Texts.scripted.text] : [])])
      yield* print([...head, ...body, ...notes, style.dim(choices)].join("\n"))
      const answer = find(question)
      if (answer === undefined) {
        yield* print(style.yellow(Texts.scripted.nothing))
        return yield* new InteractionUnavailable({ detail: Texts.scripted.noAnswer })
      }
      yield* print(style.green(Texts.scripted.answers(describeAnswer(question, answer))))
      return answer
    })
  })
}

export const ScriptedPerson: {
  /**
   * An `Interaction` that answers by a script, and prints the whole of what it was asked and what it answered. A question without
   * an answer fails with `InteractionUnavailable`, which the harness takes for a refusal.
   *
   * @example
   * ScriptedPerson.layer([
   *   { when: "plan-review", answer: say("also cover the empty file") },
   *   { when: "plan-review", answer: consent },
   *   { when: "approval", answer: consent, times: 10 }
   * ])
   */
  readonly layer: (script: Script) => Layer.Layer<Interaction, never, Screen>
} = {
  layer: (script) =>
    Layer.effect(
      Interaction,
      Effect.gen(function*() {
        const { interactive, print, size, style } = yield* Screen
        const { columns } = yield* size
        // A log is not wrapped: its lines are to be compared and searched.
        return makeScriptedPerson(script, print, { style, ...(interactive ? { columns: columns - 1 } : {}) })
      })
    )
}
