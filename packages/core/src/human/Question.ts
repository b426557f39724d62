/** What a person is asked, and what they can answer. */
import { Schema } from "effect"
import { SessionId } from "../journal/SessionEvent.ts"

/** One thing that the person can choose. `id` decides; `label` is only shown and may be translated. */
export const QuestionOption = Schema.Struct({
  id: Schema.NonEmptyString,
  label: Schema.String,
  description: Schema.optionalKey(Schema.String)
})
export type QuestionOption = typeof QuestionOption.Type

/**
 * Who asks: the session, and its path in the tree of agents from the root (`[]` for the root itself, otherwise the labels of the
 * children on the way down).
 */
export const Asker = Schema.Struct({ session: SessionId, path: Schema.Array(Schema.String) })
export type Asker = typeof Asker.Type

/** Something for the person to look at before they answer. */
export const Preview = Schema.Union([
  /** A unified diff of one file. */
  Schema.Struct({ kind: Schema.Literal("diff"), path: Schema.String, diff: Schema.String }),
  /** A command line, exactly as it would be run, and the folder that it would run in. */
  Schema.Struct({ kind: Schema.Literal("command"), command: Schema.String, cwd: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("markdown"), text: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("text"), text: Schema.String })
])
export type Preview = typeof Preview.Type

/** What the question is for; an interface may show each kind in its own way, but none of them needs that. */
export const Intent = Schema.Union([
  Schema.Struct({ name: Schema.Literal("plan-review"), approve: Schema.String }),
  Schema.Struct({ name: Schema.Literal("approval"), tool: Schema.String, allow: Schema.Array(Schema.String) }),
  Schema.Struct({ name: Schema.Literal("question") })
])
export type Intent = typeof Intent.Type

/**
 * A question for a person. `id` is unique for ever: a request that is asked again after a restart has a new one.
 * `detail` is shown as it is, byte for byte (for a plan review: the plan). With `allowText`, the person may write
 * something instead of choosing, or beside it. `multiple` says that several options may be chosen.
 */
export const Question = Schema.Struct({
  id: Schema.NonEmptyString,
  asker: Asker,
  intent: Intent,
  title: Schema.String,
  detail: Schema.String,
  preview: Schema.optionalKey(Preview),
  options: Schema.Array(QuestionOption),
  allowText: Schema.Boolean,
  multiple: Schema.optionalKey(Schema.Boolean)
})
export type Question = typeof Question.Type

/** What a person did with a question: chose and perhaps wrote something, or closed it without an answer. */
export const Answer = Schema.Union([
  Schema.TaggedStruct("Answered", {
    selected: Schema.Array(Schema.String),
    text: Schema.optionalKey(Schema.String)
  }),
  Schema.TaggedStruct("Dismissed", {})
])
export type Answer = typeof Answer.Type

/** The answer that chooses exactly `option` and says nothing else. */
export const choose = (option: string): Answer => ({ _tag: "Answered", selected: [option] })

/** The answer that only says `text`. */
export const say = (text: string): Answer => ({ _tag: "Answered", selected: [], text })

/** The answer of a person who closed the question. */
export const dismiss: Answer = { _tag: "Dismissed" }

/** The one form of consent: exactly this option, once, and no text beside it. */
export const isExactly = (answer: Answer, option: string): boolean =>
  answer._tag === "Answered" && answer.selected.length === 1 && answer.selected[0] === option &&
  answer.text === undefined
