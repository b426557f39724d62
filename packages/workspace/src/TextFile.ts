/** A text file as an edit sees it: its text, and what of its form has to be kept. */
import { EditRefused } from "./WorkspaceError.ts"

const BOM = "\uFEFF"

/** The text of a file in UTF-8, byte order mark included; `undefined` if the bytes are not UTF-8. */
export const decodeText = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Whether a file's lines end in CR LF for the most part. */
const usesCrlf = (text: string): boolean => {
  const all = text.split("\n").length - 1
  const crlf = text.split("\r\n").length - 1
  return crlf > 0 && crlf * 2 >= all
}

const toCrlf = (text: string): string => text.replaceAll(/\r?\n/g, "\r\n")

const positions = (text: string, part: string): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found.push(at)
  return found
}

const lineAt = (text: string, position: number): number => text.slice(0, position).split("\n").length

/** One replacement as the model asks for it. */
export interface Edit {
  readonly path: string
  readonly oldString: string
  readonly newString: string
  readonly replaceAll: boolean
}

/**
 * Applies an edit to a file's text. The text to replace has to occur exactly once unless all occurrences are meant. Line
 * ends of an edit written with LF follow those of the file; a byte order mark stays where it is.
 */
export const applyEdit = (
  original: string,
  edit: Edit
): { readonly text: string; readonly lines: ReadonlyArray<number> } => {
  const refuse = (reason: EditRefused["reason"], lines: ReadonlyArray<number> = []) =>
    new EditRefused({ path: edit.path, reason, lines })
  if (edit.oldString === "") throw refuse("empty")
  if (edit.oldString === edit.newString) throw refuse("same")
  const mark = original.startsWith(BOM) ? BOM : ""
  const text = original.slice(mark.length)
  let wanted = edit.oldString.startsWith(BOM) ? edit.oldString.slice(1) : edit.oldString
  let replacement = edit.newString.startsWith(BOM) ? edit.newString.slice(1) : edit.newString
  let found = positions(text, wanted)
  if (usesCrlf(text)) {
    if (found.length === 0) {
      wanted = toCrlf(wanted)
      found = positions(text, wanted)
    }
    if (!edit.oldString.includes("\n") || wanted.includes("\r\n")) replacement = toCrlf(replacement)
  }
  const lines = found.map((at) => lineAt(text, at))
  if (found.length === 0) throw refuse(sameWithoutSpace(text, wanted) ? "whitespace" : "not-found")
  if (found.length > 1 && !edit.replaceAll) throw refuse("not-unique", lines)
  let result = mark
  let from = 0
  for (const at of found) {
    result += text.slice(from, at) + replacement
    from = at + wanted.length
  }
  return { text: result + text.slice(from), lines }
}

const sameWithoutSpace = (text: string, wanted: string): boolean => {
  const plain = (value: string) => value.replaceAll(/\s+/g, "")
  const needle = plain(wanted)
  return needle !== "" && plain(text).includes(needle)
}

/** How many lines a text has; a last line need not be ended. */
export const countLines = (text: string): number =>
  text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0)
