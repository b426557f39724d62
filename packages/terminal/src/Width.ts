/** Measuring and cutting text by the columns that it takes on a screen, not by its UTF-16 units. */
import { stripVTControlCharacters } from "node:util"
import stringWidth from "string-width"

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })
// Most lines are plain ASCII; they are measured without the segmenter, which costs about a hundred times as much.
const ascii = /^[\x20-\x7e]*$/

/** What a person sees as single characters. */
export const graphemes = (text: string): ReadonlyArray<string> =>
  ascii.test(text) ? text.split("") : Array.from(segmenter.segment(text), (part) => part.segment)

// A width is looked up again and again for the same few characters; the bound keeps a hostile text from filling the memory.
const widths = new Map<string, number>()

const cells = (grapheme: string): number => {
  const known = widths.get(grapheme)
  if (known !== undefined) return known
  const width = stringWidth(grapheme)
  if (widths.size > 4096) widths.clear()
  widths.set(grapheme, width)
  return width
}

/** Columns that `text` takes: the sum over its graphemes. Escape sequences for colour take none. `text` is one line. */
export const displayWidth = (text: string): number => {
  if (ascii.test(text)) return text.length
  const bare = text.includes("\u001b") ? stripVTControlCharacters(text) : text
  if (ascii.test(bare)) return bare.length
  let width = 0
  for (const grapheme of graphemes(bare)) width += cells(grapheme)
  return width
}

/** Tabs as spaces, up to the next multiple of `size` columns counted from the start of the line. */
export const expandTabs = (line: string, size = 8): string => {
  if (!line.includes("\t")) return line
  let out = ""
  let column = 0
  line.split("\t").forEach((part, index, parts) => {
    out += part
    column += displayWidth(part)
    if (index < parts.length - 1) {
      const step = size - column % size
      out += " ".repeat(step)
      column += step
    }
  })
  return out
}

/**
 * One line as rows of at most `width` columns, broken after a space where there is one. Nothing is dropped: the rows joined
 * are the line. `line` must not contain control characters or escape sequences.
 *
 * @example
 * wrapLine("one two three", 8) // => ["one two ", "three"]
 */
export const wrapLine = (line: string, width: number): ReadonlyArray<string> => {
  const limit = Math.max(2, width)
  if (displayWidth(line) <= limit) return [line]
  const parts = graphemes(line)
  const rows: Array<string> = []
  let start = 0
  let used = 0
  let space = -1
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? ""
    const width = cells(part)
    // Twice at most: what is left after the last space may still be too long.
    while (used + width > limit && index > start) {
      const end = space > start ? space : index
      rows.push(parts.slice(start, end).join(""))
      start = end
      space = -1
      used = 0
      for (let back = end; back < index; back++) used += cells(parts[back] ?? "")
    }
    used += width
    if (part === " ") space = index + 1
  }
  rows.push(parts.slice(start).join(""))
  return rows
}

/** All lines of `text`, wrapped. */
export const wrap = (text: string, width: number): ReadonlyArray<string> =>
  text.split("\n").flatMap((line) => wrapLine(expandTabs(line), width))

/** `text` cut to `width` columns, with `…` in place of what was cut. */
export const truncate = (text: string, width: number): string => {
  if (displayWidth(text) <= width) return text
  let out = ""
  let used = 0
  for (const part of graphemes(text)) {
    if (used + cells(part) > width - 1) break
    out += part
    used += cells(part)
  }
  return width < 1 ? "" : `${out}…`
}

/** `text` filled with spaces to `width` columns, at its end (`left` aligned) or its start (`right` aligned). */
export const pad = (text: string, width: number, align: "left" | "right" = "left"): string => {
  const fill = " ".repeat(Math.max(0, width - displayWidth(text)))
  return align === "left" ? text + fill : fill + text
}
