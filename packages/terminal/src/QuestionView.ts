/** How a question stands on the screen: who asks, what for, and every byte of the detail. Pure. */
import type { Question } from "@holdfast/core"
import { diff, markdown, plain } from "./Format.ts"
import { safe, safeLine, sanitize } from "./Sanitize.ts"
import type { Style } from "./Style.ts"
import { Texts } from "./Texts.ts"
import { displayWidth, wrap, wrapLine } from "./Width.ts"

/** Who asks, for people: the root agent or a child by its path. */
const askerName = (question: Question): string =>
  question.asker.path.length === 0 ? Texts.root : Texts.child(question.asker.path.map(safeLine))

/** Whether a line of `text`, told apart from what the program itself writes, can be shown behind this mark. */
const gutter = "│ "

const quoted = (rows: ReadonlyArray<string>, style: Style): ReadonlyArray<string> =>
  rows.map((row) => style.dim(gutter.trimEnd()) + (row === "" ? "" : ` ${row}`))

/** The parts of a shown question. `body` is what came from the model: the rows that a pager shows. */
export interface QuestionBlock {
  readonly head: ReadonlyArray<string>
  readonly body: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
}

export interface QuestionBlockOptions {
  /** When the raw arguments of an approval are shown: `always` (default), or only if there is no preview that stands for them. */
  readonly arguments?: "always" | "without-preview"
}

/**
 * The rows of a question for a screen of `columns`. Everything that a model may have written stands behind a bar, so that it cannot
 * pass for a line of the program, with control characters made visible.
 *
 * A detail is not repeated when the preview shows the same text.
 */
export const questionBlock = (
  question: Question,
  style: Style,
  columns: number,
  { arguments: raw = "always" }: QuestionBlockOptions = {}
): QuestionBlock => {
  const width = columns - displayWidth(gutter)
  const options = { style, columns: width }
  const body: Array<string> = []
  const { detail, preview } = question
  const same = preview !== undefined && detail === previewText(question)
  if (detail !== "" && !same) {
    if (question.intent.name !== "approval") {
      body.push(...quoted(markdown(detail, options), style))
    } else if (preview === undefined) {
      body.push(...quoted(looksLikeDiff(detail) ? diff(detail, options) : plain(detail, options), style))
    } else if (raw === "always") {
      // The preview, which says the same for people, stands nearer to the answers; what really runs is shown all the same.
      body.push(style.dim(Texts.arguments), ...quoted(plain(detail, options).map(style.dim), style))
    }
  }
  if (preview !== undefined) {
    switch (preview.kind) {
      case "diff": {
        body.push(...wrapLine(Texts.file(safeLine(preview.path)), columns).map(style.bold))
        body.push(...quoted(diff(preview.diff, options), style))
        break
      }
      case "command": {
        body.push(style.bold(Texts.command))
        body.push(...quoted(plain(preview.command, options).map(style.yellow), style))
        body.push(...wrap(Texts.folder(safe(preview.cwd)), columns))
        break
      }
      case "markdown": {
        body.push(...quoted(markdown(preview.text, options), style))
        break
      }
      case "text": {
        body.push(...quoted(plain(preview.text, options), style))
        break
      }
    }
  }
  const hidden = raw !== "always" && question.intent.name === "approval" && preview !== undefined && !same
  const escaped = (hidden ? 0 : sanitize(detail).escaped) +
    (preview === undefined || same ? 0 : sanitize(previewText(question)).escaped)
  return {
    head: [
      ...wrapLine(`? ${Texts.asks[question.intent.name](askerName(question))}`, columns).map((row) =>
        style.bold(style.cyan(row))
      ),
      ...wrapLine(safeLine(question.title), width).map((row) => `  ${style.bold(row)}`)
    ],
    body,
    notes: escaped === 0 ? [] : wrapLine(Texts.escaped(escaped), columns).map(style.red)
  }
}

const previewText = ({ preview }: Question): string =>
  preview === undefined
    ? ""
    : preview.kind === "diff"
    ? preview.diff
    : preview.kind === "command"
    ? preview.command
    : preview.text

const looksLikeDiff = (text: string): boolean => /^(--- |diff --git |@@ -\d)/m.test(text)
