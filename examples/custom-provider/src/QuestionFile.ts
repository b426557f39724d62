/**
 * A question as a markdown file that a person answers by editing it. Pure: what is written, and what was meant.
 *
 * Whatever a model wrote stands in fenced blocks above a line with a mark that only this program knows, so no text of a plan can pass
 * for an answer. An answer counts when the person ticks the last box; until then the file may be saved in any state.
 */
import { type Answer, dismiss, type Question } from "@holdfast/core"

/** What a person has done with the answer part so far. */
export interface Draft {
  /** Ticked boxes by position: one for each option, and a last one for closing without an answer. */
  readonly ticked: ReadonlyArray<boolean>
  readonly text: string
}

export type Reading =
  /** The person is not done. */
  | { readonly _tag: "Open" }
  | { readonly _tag: "Sent"; readonly answer: Answer }
  /** The person is done, but it is not clear what they mean. `draft` is what could be read. */
  | { readonly _tag: "Unclear"; readonly reason: string; readonly draft: Draft }
  /** The lines by which the answer is found are gone. */
  | { readonly _tag: "Broken" }

const marks = (secret: string) => ({
  answer: `<!-- answer ${secret}: write below, not above -->`,
  text: `<!-- text ${secret} -->`,
  end: `<!-- end ${secret} -->`
})

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** A block that shows every character of a text: its fence is longer than any that the text has. */
const fenced = (text: string, language: string): string => {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}\n`
}

const previewOf = ({ detail, preview }: Question): string => {
  if (preview === undefined) return ""
  switch (preview.kind) {
    case "diff":
      return `\nThe change to \`${oneLine(preview.path)}\`:\n\n${fenced(preview.diff, "diff")}`
    case "command":
      return `\nThe command line:\n\n${fenced(preview.command, "sh")}\nin the folder\n\n${fenced(preview.cwd, "")}`
    default:
      return preview.text === detail ? "" : `\n${fenced(preview.text, preview.kind === "markdown" ? "markdown" : "")}`
  }
}

const headline = {
  "plan-review": "asks for a review of this plan",
  approval: "asks for permission",
  question: "asks"
} as const

/** The part that is only read. Its first line names the question. */
const head = (question: Question): string => {
  const { asker, detail, intent, title } = question
  const who = asker.path.length === 0 ? "The agent" : `The agent ${asker.path.map(oneLine).join(" › ")}`
  return `<!-- question ${encodeURIComponent(question.id.toWellFormed())} -->\n\n# ${oneLine(title)}\n\n${who} ${
    headline[intent.name]
  }.\n\n` +
    (detail === "" ? "" : fenced(detail, intent.name === "plan-review" ? "markdown" : "")) + previewOf(question)
}

const box = (ticked: boolean, label: string): string => `- [${ticked ? "x" : " "}] ${label}\n`

const close = "_close without an answer_"
const send = "**Done**: tick this last, and save"

/** The whole file. `note` tells what could not be understood; `draft` is what the person had written before. */
export const render = (
  question: Question,
  secret: string,
  note = "",
  draft: Draft = { ticked: [], text: "" }
): string => {
  const mark = marks(secret)
  const labels = [
    ...question.options.map(({ description, label }) =>
      `**${oneLine(label)}**${description === undefined ? "" : `: ${oneLine(description)}`}`
    ),
    close
  ]
  return `${head(question)}\n${mark.answer}\n\n## Your answer\n\n${note === "" ? "" : `> ${oneLine(note)}\n\n`}` +
    `Tick ${question.multiple === true ? "all that apply" : "one"}${
      question.allowText ? ", or write something, or both" : ""
    }.\n\n` +
    labels.map((label, i) => box(draft.ticked[i] ?? false, label)).join("") +
    (question.allowText ? `\nWrite between these two lines:\n\n${mark.text}\n${draft.text}\n${mark.end}\n` : "") +
    `\n${box(false, send)}`
}

const ticks = (part: string): ReadonlyArray<boolean> =>
  Array.from(part.matchAll(/^[ \t]*[-*+] \[([ xX]?)\]/gm), ([, tick]) => tick === "x" || tick === "X")

/** Editors may change line ends and blanks at the end of lines; a person must not be blamed for that. */
const comparable = (text: string): string => text.toWellFormed().replaceAll(/[ \t\r]+$/gm, "").replace(/^\uFEFF/, "")

/** What the person means by the file as it stands. */
export const read = (question: Question, secret: string, content: string): Reading => {
  const mark = marks(secret)
  const at = content.lastIndexOf(mark.answer)
  const from = content.indexOf(mark.text, at)
  const to = content.lastIndexOf(mark.end)
  if (at < 0 || (question.allowText && (from < 0 || to < from))) return { _tag: "Broken" }
  const below = at + mark.answer.length
  const boxes = ticks(question.allowText ? content.slice(below, from) : content.slice(below))
  const last = question.allowText ? ticks(content.slice(to)) : boxes.slice(-1)
  if (last.length === 0) return { _tag: "Broken" }
  if (last.at(-1) !== true) return { _tag: "Open" }

  const ticked = question.allowText ? boxes : boxes.slice(0, -1)
  const text = question.allowText
    ? content.slice(from + mark.text.length, to).replaceAll("\r\n", "\n").replaceAll(
      /^(?:[ \t]*\n)+|(?:\n[ \t]*)+$/g,
      ""
    )
    : ""
  const draft: Draft = { ticked, text }
  const unclear = (reason: string): Reading => ({ _tag: "Unclear", reason, draft })
  if (ticked.length !== question.options.length + 1) {
    return unclear("There were more or fewer boxes than answers. Leave the lines with boxes as they are.")
  }
  if (comparable(content.slice(0, at)) !== comparable(`${head(question)}\n`)) {
    return unclear(
      "The text above the answer was changed. Nothing there is read: say it below, and leave the question as it was."
    )
  }
  const closed = ticked.at(-1) === true
  const selected = question.options.filter((_, i) => ticked[i]).map(({ id }) => id)
  const wrote = text.trim() !== ""
  if (closed && (selected.length > 0 || wrote)) {
    return unclear("Closing without an answer was ticked, and an answer was given. Do one of them.")
  }
  if (closed) return { _tag: "Sent", answer: dismiss }
  if (selected.length > 1 && question.multiple !== true) return unclear("More than one answer was ticked. Tick one.")
  if (selected.length === 0 && !wrote) return unclear("Nothing was ticked or written.")
  return { _tag: "Sent", answer: { _tag: "Answered", selected, ...(wrote ? { text } : {}) } }
}
