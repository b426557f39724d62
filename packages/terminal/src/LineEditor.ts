/** Editing text at a prompt: a pure state machine over keys. Positions count graphemes, so a cursor never stands inside an emoji. */
import { Option, type Terminal } from "effect"
import { safe } from "./Sanitize.ts"
import { displayWidth, expandTabs, graphemes, wrapLine } from "./Width.ts"
import type { Frame } from "./Screen.ts"

export interface LineState {
  readonly before: ReadonlyArray<string>
  readonly after: ReadonlyArray<string>
  readonly pasting: boolean
}

export const emptyLine: LineState = { before: [], after: [], pasting: false }

/** A state that holds `text`, cursor at its end. */
export const lineOf = (text: string): LineState => ({ before: graphemes(text), after: [], pasting: false })

export const lineText = (state: LineState): string => state.before.join("") + state.after.join("")

/** Returns the next state, `"submit"` for Enter, or `undefined` when the key means nothing here. */
export const editLine = (state: LineState, { input, key }: Terminal.UserInput): LineState | "submit" | undefined => {
  const { after, before } = state
  switch (key.name) {
    case "paste-start":
      return { ...state, pasting: true }
    case "paste-end":
      return { ...state, pasting: false }
    case "return":
    case "enter":
      if (!state.pasting && !key.meta && !key.shift) return "submit"
      return insert(state, "\n")
  }
  if (key.ctrl && !state.pasting) {
    switch (key.name) {
      case "a":
        return { ...state, before: [], after: [...before, ...after] }
      case "e":
        return { ...state, before: [...before, ...after], after: [] }
      case "u":
        return { ...state, before: [] }
      case "k":
        return { ...state, after: [] }
      case "w":
        return { ...state, before: before.slice(0, wordStart(before)) }
      case "left":
        return move(state, wordStart(before))
      case "right":
        return move(state, before.length + wordEnd(after))
      default:
        return undefined
    }
  }
  switch (key.name) {
    case "backspace":
      return { ...state, before: key.meta ? before.slice(0, wordStart(before)) : before.slice(0, -1) }
    case "delete":
      return { ...state, after: after.slice(1) }
    case "left":
      return move(state, before.length - 1)
    case "right":
      return move(state, before.length + 1)
    case "home":
      return move(state, 0)
    case "end":
      return move(state, before.length + after.length)
    case "tab":
      return state.pasting ? insert(state, "\t") : undefined
  }
  if (key.meta && !state.pasting) return undefined
  const text = Option.getOrElse(input, () => "")
  // Keys without a text of their own (function keys, unknown sequences) arrive as escape sequences.
  return text === "" || /^\p{Cc}/u.test(text) ? undefined : insert(state, text)
}

const insert = (state: LineState, text: string): LineState => ({
  ...state,
  // A character may join the one before it (combining marks, emoji sequences).
  before: [...state.before.slice(0, -1), ...graphemes((state.before.at(-1) ?? "") + text)]
})

const move = (state: LineState, to: number): LineState => {
  const all = [...state.before, ...state.after]
  const at = Math.max(0, Math.min(all.length, to))
  return { ...state, before: all.slice(0, at), after: all.slice(at) }
}

const wordStart = (parts: ReadonlyArray<string>): number => {
  let at = parts.length
  while (at > 0 && /^\s$/.test(parts[at - 1] ?? "")) at--
  while (at > 0 && !/^\s$/.test(parts[at - 1] ?? "")) at--
  return at
}

const wordEnd = (parts: ReadonlyArray<string>): number => {
  let at = 0
  while (at < parts.length && /^\s$/.test(parts[at] ?? "")) at++
  while (at < parts.length && !/^\s$/.test(parts[at] ?? "")) at++
  return at
}

/** The rows of the text after `label`, wrapped to `columns`; continuation rows are indented by the width of the label. */
export const lineFrame = (
  state: LineState,
  label: string,
  columns: number
): Required<Frame> => {
  const indent = displayWidth(label)
  const width = Math.max(4, columns - indent - 1)
  const rows: Array<string> = []
  let cursor = { row: 0, column: indent }
  const before = state.before.join("")
  const text = before + state.after.join("")
  let offset = 0
  for (const source of text.split("\n")) {
    const wrapped = wrapLine(expandTabs(safe(source)), width)
    const end = offset + source.length
    if (before.length >= offset && before.length <= end) {
      let left = displayWidth(expandTabs(safe(source.slice(0, before.length - offset))))
      let row = 0
      while (row < wrapped.length - 1 && left >= displayWidth(wrapped[row] ?? "")) {
        left -= displayWidth(wrapped[row++] ?? "")
      }
      cursor = { row: rows.length + row, column: indent + left }
    }
    rows.push(...wrapped)
    offset = end + 1
  }
  return { rows: rows.map((row, at) => (at === 0 ? label : " ".repeat(indent)) + row), cursor }
}
