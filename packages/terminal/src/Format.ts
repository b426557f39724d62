/** Formatting for people: diffs, markdown, tables and timelines. All functions are pure and drop nothing of what they are given. */
import { safe, safeLine } from "./Sanitize.ts"
import { plainStyle, type Style } from "./Style.ts"
import { displayWidth, expandTabs, pad, truncate, wrapLine } from "./Width.ts"

/** How to fit and paint a text. `columns` is the width of the screen; without it nothing is wrapped. */
export interface FormatOptions {
  readonly style?: Style
  readonly columns?: number
}

type Painter = (text: string) => string
const asIs: Painter = (text) => text

/** For each line of a unified diff, what it is. Hunk counts decide, so a removed line `-- x` is not taken for a file header. */
const diffPainter = (style: Style) => {
  let removed = 0
  let added = 0
  return (line: string): Painter => {
    if (removed > 0 || added > 0) {
      if (line.startsWith("+")) {
        added--
        return style.green
      }
      if (line.startsWith("-")) {
        removed--
        return style.red
      }
      if (line.startsWith("\\")) return style.dim
      removed--
      added--
      return asIs
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
    if (hunk !== null) {
      removed = Number(hunk[1] ?? 1)
      added = Number(hunk[2] ?? 1)
      return style.cyan
    }
    if (/^(\+\+\+|---|diff |index |new file|deleted file|rename |similarity |old mode|new mode|Binary )/.test(line)) {
      return style.bold
    }
    // Diffs that carry no hunk header are still coloured by their first character.
    return line.startsWith("+") ? style.green : line.startsWith("-") ? style.red : asIs
  }
}

/** Headings, fences and quotes are told apart by paint alone; every character of the source stays. */
const markdownPainter = (style: Style) => {
  let fence: string | undefined
  return (line: string): Painter => {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence !== undefined) {
      if (mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length) {
        fence = undefined
        return style.dim
      }
      return style.yellow
    }
    if (mark !== undefined) {
      fence = mark
      return style.dim
    }
    if (/^\s{0,3}#{1,6}(\s|$)/.test(line)) return (text) => style.bold(style.cyan(text))
    if (/^\s{0,3}>/.test(line)) return style.dim
    return asIs
  }
}

const lines = (text: string, painter: (line: string) => Painter, columns: number | undefined): ReadonlyArray<string> =>
  safe(text).split("\n").flatMap((source) => {
    const paint = painter(source)
    const line = expandTabs(source)
    return (columns === undefined ? [line] : wrapLine(line, columns)).map(paint)
  })

/**
 * The rows of a unified diff, `+` and `-` coloured.
 *
 * @example
 * diff("@@ -1 +1 @@\n-a\n+b").join("\n") // => the same text, since no style was given
 */
export const diff = (text: string, options: FormatOptions = {}): ReadonlyArray<string> =>
  lines(text, diffPainter(options.style ?? plainStyle), options.columns)

/** The rows of a markdown text. It stays the source text, with headings, code and quotes painted. */
export const markdown = (text: string, options: FormatOptions = {}): ReadonlyArray<string> =>
  lines(text, markdownPainter(options.style ?? plainStyle), options.columns)

/** The rows of a text without any structure. */
export const plain = (text: string, options: FormatOptions = {}): ReadonlyArray<string> =>
  lines(text, () => asIs, options.columns)

/** A column of a table; the alignment defaults to `right` if every cell reads as a number, else `left`. */
export interface TableColumn {
  readonly title: string
  readonly align?: "left" | "right"
}

const numeric = /^[-+]?[\d.,_\s]*\d[\d.,_\s]*(?:%|[a-zA-Zµ]{1,3})?$/

/**
 * A table with its columns aligned by display width. With `columns`, the widest column is cut until the table fits.
 *
 * @example
 * table(["model", "tokens"], [["flash", 1200], ["pro", 90]])
 * // => ["model  tokens", "flash    1200", "pro        90"]
 */
export const table = (
  heads: ReadonlyArray<string | TableColumn>,
  rows: ReadonlyArray<ReadonlyArray<string | number>>,
  options: FormatOptions = {}
): ReadonlyArray<string> => {
  const style = options.style ?? plainStyle
  const cells = rows.map((row) => heads.map((_, index) => safeLine(String(row[index] ?? ""))))
  const columns = heads.map((head, index) => {
    const title = safeLine(typeof head === "string" ? head : head.title)
    const column = cells.map((row) => row[index] ?? "").filter((cell) => cell !== "")
    const align = typeof head === "string" ? undefined : head.align
    return {
      title,
      align: align ?? (column.length > 0 && column.every((cell) => numeric.test(cell)) ? "right" as const : "left"),
      width: Math.max(displayWidth(title), ...column.map(displayWidth))
    }
  })
  if (options.columns !== undefined) {
    const total = () => columns.reduce((sum, column) => sum + column.width + 2, -2)
    while (total() > options.columns) {
      const widest = columns.reduce((a, b) => b.width > a.width ? b : a)
      if (widest.width <= 4) break
      widest.width--
    }
  }
  const row = (values: ReadonlyArray<string>) =>
    columns.map((column, index) => pad(truncate(values[index] ?? "", column.width), column.width, column.align))
      .join("  ").trimEnd()
  return [style.bold(row(columns.map((column) => column.title))), ...cells.map(row)]
}

/** A length of time for people: `850 ms`, `12.3 s`, `2 min 05 s`. */
export const duration = (millis: number): string => {
  if (millis < 1000) return `${Math.round(millis)} ms`
  if (millis < 59_950) return `${(millis / 1000).toFixed(1)} s`
  const seconds = Math.round(millis / 1000)
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`
}

/** A number for people: `950`, `12.3k`, `1.2M`. */
export const count = (value: number): string =>
  value < 1000 ? String(value) : value < 999_950 ? `${(value / 1000).toFixed(1)}k` : `${(value / 1e6).toFixed(1)}M`

/** One thing that happened, `at` milliseconds after the first moment that matters. */
export interface TimelineEntry {
  readonly at: number
  readonly text: string
}

/** A line for each entry: when (right-aligned, in seconds) and what; texts that wrap stay in their column. */
export const timeline = (entries: ReadonlyArray<TimelineEntry>, options: FormatOptions = {}): ReadonlyArray<string> => {
  const style = options.style ?? plainStyle
  const times = entries.map((entry) => `${(entry.at / 1000).toFixed(2)} s`)
  const width = Math.max(0, ...times.map((time) => time.length))
  return entries.flatMap((entry, index) => {
    const time = pad(times[index] ?? "", width, "right")
    const text = safeLine(entry.text)
    const rows = options.columns === undefined ? [text] : wrapLine(text, options.columns - width - 2)
    return rows.map((line, at) => `${at === 0 ? style.dim(time) : " ".repeat(width)}  ${line}`.trimEnd())
  })
}
