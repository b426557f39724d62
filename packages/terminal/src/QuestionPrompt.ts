/** Answering a question: a pure state machine over keys, and the frame that shows it. */
import { type Answer, dismiss, type Question } from "@holdfast/core"
import type { Terminal } from "effect"
import { isCtrl } from "./Keyboard.ts"
import { editLine, emptyLine, lineFrame, type LineState, lineText } from "./LineEditor.ts"
import { page, type PagerState } from "./Pager.ts"
import { safeLine } from "./Sanitize.ts"
import type { Frame } from "./Screen.ts"
import type { Style } from "./Style.ts"
import { Texts } from "./Texts.ts"
import { displayWidth, truncate, wrapLine } from "./Width.ts"

/** One row that can be chosen: an option of the question, or writing a text. */
interface Choice {
  readonly id: string | undefined
  readonly label: string
  readonly description: string
}

/** The name of the signal that ends the time in which keys are ignored. */
export const ready = "holdfast:ready"

/** The name of the signal that closes the question without an answer. */
export const close = "holdfast:close"

export interface PromptState {
  /** Keys count only now: those typed before the question could be read were meant for something else. */
  readonly ready: boolean
  readonly mode: "choose" | "write" | "read"
  readonly at: number
  readonly marked: ReadonlyArray<string>
  readonly line: LineState
  readonly pager: PagerState
  readonly pasting: boolean
}

export type PromptStep =
  | { readonly _tag: "Next"; readonly state: PromptState }
  | { readonly _tag: "Done"; readonly answer: Answer; readonly label: string }

/** What the prompt needs to know of its question; `body` are the rows that the pager shows. */
export interface PromptModel {
  readonly choices: ReadonlyArray<Choice>
  readonly multiple: boolean
  readonly body: ReadonlyArray<string>
  /** Whether the body does not fit the screen beside the answers. */
  readonly long: boolean
}

export const promptModel = (question: Question, body: ReadonlyArray<string>, long: boolean): PromptModel => ({
  choices: [
    ...question.options.map((option) => ({
      id: option.id,
      label: safeLine(option.label) || safeLine(option.id),
      description: safeLine(option.description ?? "")
    })),
    ...(question.allowText
      ? [{ id: undefined, label: `${Texts.write[question.intent.name]} …`, description: "" }]
      : [])
  ],
  multiple: question.multiple === true,
  body,
  long
})

export const initialPrompt = (model: PromptModel): PromptState => ({
  ready: false,
  mode: model.choices.length === 1 && model.choices[0]?.id === undefined ? "write" : "choose",
  at: 0,
  marked: [],
  line: emptyLine,
  pager: { top: 0 },
  pasting: false
})

const pagerHeight = (size: Terminal.Size): number => Math.max(1, size.rows - 3)

/** What a key does. Ctrl-C and Ctrl-D close the question in every mode, also before keys count. */
export const stepPrompt = (
  model: PromptModel,
  state: PromptState,
  input: Terminal.UserInput,
  size: Terminal.Size
): PromptStep => {
  const next = (change: Partial<PromptState>): PromptStep => ({ _tag: "Next", state: { ...state, ...change } })
  const closed: PromptStep = { _tag: "Done", answer: dismiss, label: Texts.dismissed }
  const { key } = input
  if (key.name === ready) return next({ ready: true })
  if (key.name === close || isCtrl(input, "c") || isCtrl(input, "d")) return closed
  if (key.name === "paste-start" && state.mode !== "write") return next({ pasting: true })
  if (key.name === "paste-end" && state.mode !== "write") return next({ pasting: false })
  // A paste was not meant as an answer, and its line feeds must not choose one.
  if (!state.ready || (state.pasting && state.mode !== "write")) return next({})

  if (state.mode === "read") {
    const result = page(state.pager, key, model.body.length, pagerHeight(size))
    return result === "close" ? next({ mode: "choose" }) : next({ pager: result })
  }
  if (state.mode === "write") {
    if (key.name === "escape") {
      return model.choices.length === 1 ? closed : next({ mode: "choose" })
    }
    const line = editLine(state.line, input)
    if (line === undefined) return next({})
    if (line !== "submit") return next({ line })
    const text = lineText(state.line)
    if (text.trim() === "") return model.choices.length === 1 ? next({}) : next({ mode: "choose" })
    return {
      _tag: "Done",
      answer: { _tag: "Answered", selected: state.marked, text },
      label: Texts.wrote(text)
    }
  }
  return choose(model, state, key, next, closed)
}

const choose = (
  model: PromptModel,
  state: PromptState,
  key: Terminal.Key,
  next: (change: Partial<PromptState>) => PromptStep,
  closed: PromptStep
): PromptStep => {
  const total = model.choices.length
  const to = (at: number) => next({ at: total === 0 ? 0 : (at + total) % total })
  const current = model.choices[state.at]
  switch (key.name) {
    case "escape":
      return closed
    case "up":
    case "k":
      return to(state.at - 1)
    case "down":
    case "j":
      return to(state.at + 1)
    case "tab":
      return to(state.at + (key.shift ? -1 : 1))
    case "v":
      return model.long ? next({ mode: "read" }) : next({})
    case "space": {
      const id = current?.id
      if (!model.multiple || id === undefined) return next({})
      return next({
        marked: state.marked.includes(id) ? state.marked.filter((one) => one !== id) : [...state.marked, id]
      })
    }
    case "return":
    case "enter": {
      if (current === undefined) return next({})
      if (current.id === undefined) return next({ mode: "write" })
      // The order of the question, not of the marking.
      const ids = model.choices.map((choice) => choice.id).filter((id) => id !== undefined)
      const selected = model.multiple && state.marked.length > 0
        ? ids.filter((id) => state.marked.includes(id))
        : [current.id]
      const labels = model.choices.filter((choice) => choice.id !== undefined && selected.includes(choice.id))
      return {
        _tag: "Done",
        answer: { _tag: "Answered", selected },
        label: Texts.answered(labels.map((choice) => choice.label).join(", "))
      }
    }
  }
  // A number moves and never chooses: one slip of the finger is not consent.
  const number = /^[1-9]$/.test(key.name) ? Number(key.name) : 0
  return number > 0 && number <= total ? to(number - 1) : next({})
}

/** What stands on the screen for a state. */
export const promptFrame = (model: PromptModel, state: PromptState, style: Style, size: Terminal.Size): Frame => {
  const columns = size.columns - 1
  const dim = (text: string) => wrapLine(text, columns).map(style.dim)
  if (state.mode === "read") {
    const height = pagerHeight(size)
    const top = Math.min(state.pager.top, Math.max(0, model.body.length - height))
    const rows = model.body.slice(top, top + height)
    const hint = Texts.hintPage(top + 1, top + rows.length, model.body.length)
    return { rows: [...rows, style.inverse(truncate(hint, columns))] }
  }
  if (state.mode === "write") {
    const { cursor, rows } = lineFrame(state.line, "› ", columns)
    const room = Math.max(1, size.rows - 4)
    const from = Math.max(0, Math.min(cursor.row - room + 1, rows.length - room))
    return {
      rows: [...rows.slice(from, from + room), ...dim(state.ready ? Texts.hintWrite : Texts.starting)],
      cursor: { row: cursor.row - from, column: cursor.column }
    }
  }
  const blocks = model.choices.map((choice, index) => choiceRows(choice, index, model, state, style, columns))
  const hint = state.ready
    ? Texts.hint(model.choices.length > 1, model.multiple) + (model.long ? Texts.hintView : "")
    : Texts.starting
  const hints = dim(hint)
  return { rows: [...visible(blocks, state.at, Math.max(1, size.rows - hints.length - 2)), ...hints] }
}

const choiceRows = (
  choice: Choice,
  index: number,
  model: PromptModel,
  state: PromptState,
  style: Style,
  columns: number
): ReadonlyArray<string> => {
  const here = index === state.at
  const mark = model.multiple && choice.id !== undefined ? (state.marked.includes(choice.id) ? "☒ " : "☐ ") : ""
  const lead = `${here ? "❯" : " "} ${index + 1}. ${mark}`
  const indent = " ".repeat(displayWidth(lead))
  const paint = here ? (text: string) => style.bold(style.cyan(text)) : (text: string) => text
  const label = wrapLine(choice.label, columns - indent.length)
  const description = choice.description === "" ? [] : wrapLine(choice.description, columns - indent.length)
  return [
    ...label.map((row, at) => paint((at === 0 ? lead : indent) + row)),
    ...description.map((row) => indent + style.dim(row))
  ]
}

/** As many whole choices around the current one as there is room for, so that the current one is always shown. */
const visible = (blocks: ReadonlyArray<ReadonlyArray<string>>, at: number, room: number): ReadonlyArray<string> => {
  let from = at
  let to = Math.min(blocks.length, at + 1)
  let used = blocks[at]?.length ?? 0
  for (let grew = true; grew;) {
    grew = false
    const below = blocks[to]
    if (below !== undefined && used + below.length <= room) {
      used += below.length
      to++
      grew = true
    }
    const above = blocks[from - 1]
    if (above !== undefined && used + above.length <= room) {
      used += above.length
      from--
      grew = true
    }
  }
  return blocks.slice(from, to).flat()
}
