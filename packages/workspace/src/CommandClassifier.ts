/** Tells command lines that only read from all others. */
import { type ProgramRules, readOnlyGit, readOnlyPrograms } from "./ReadOnlyPrograms.ts"

/**
 * Characters that a command line of known meaning consists of: letters, digits and marks that no shell gives a meaning
 * of its own. Redirects, `;`, `&`, pipes, newlines, backticks, `$`, braces, parentheses, backslashes, `#`, `!`, `^` and
 * control characters are not among them, in quotes either: shells differ in what a quote is.
 */
const PLAIN = /^[\p{L}\p{M}\p{N} \t_./,:@%+=~*?[\]'"-]*$/u

/** A word of a command line as the program would get it. `pattern`: the shell would first look for files that fit. */
interface Word {
  readonly text: string
  readonly pattern: boolean
}

/** Cuts a line of plain characters into words; `undefined` if a quote is left open. */
const wordsOf = (line: string): ReadonlyArray<Word> | undefined => {
  const words: Array<Word> = []
  let at = 0
  while (at < line.length) {
    if (line[at] === " " || line[at] === "\t") {
      at++
      continue
    }
    let text = ""
    let pattern = false
    while (at < line.length && line[at] !== " " && line[at] !== "\t") {
      const char = line[at]!
      if (char === "'" || char === "\"") {
        const end = line.indexOf(char, at + 1)
        if (end < 0) return undefined
        text += line.slice(at + 1, end)
        at = end + 1
      } else {
        pattern ||= /[*?[\]]/.test(char)
        text += char
        at++
      }
    }
    words.push({ text, pattern })
  }
  return words
}

/**
 * A word that the shell would turn into something else, or that leads out of the folder. A pattern can become the name
 * of a link to anywhere, or one that starts with a dash: an option that nobody wrote.
 */
const unsafeWord = ({ pattern, text }: Word): boolean =>
  pattern || /^[~=]/.test(text) ||
  pathsOf(text).some((part) => part.startsWith("/") || part.startsWith("~") || leadsUp(part)) ||
  // Git checks signatures with a program that its configuration names.
  text.includes("%G")

/** What of a word could be a path: `HEAD:src/a.ts`, `--file=src/a.ts`. */
const pathsOf = (text: string): ReadonlyArray<string> => text.split(/[=:,]/)

/** What of a command line could be a path; the line has been found to be plain. */
export const possiblePaths = (commandLine: string): ReadonlyArray<string> =>
  (wordsOf(commandLine) ?? []).slice(1).flatMap(({ text }) => [text, ...pathsOf(text)]).filter((path) => path !== "")

const leadsUp = (path: string): boolean => path.split("/").includes("..")

/** Whether every option of `words` is known to be harmless. */
const follows = (words: ReadonlyArray<string>, rules: ProgramRules): boolean => {
  const operands: Array<string> = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === "--") {
      operands.push(...words.slice(at + 1))
      break
    }
    if (word === "-" || !word.startsWith("-")) {
      operands.push(word)
      continue
    }
    if (rules.words !== undefined) {
      const value = Object.hasOwn(rules.words, word) ? rules.words[word] : undefined
      if (value === undefined || (value && ++at >= words.length)) return false
      continue
    }
    if (rules.number === true && /^-\d+$/.test(word)) continue
    if (word.startsWith("--")) {
      if (rules.long?.includes(word.slice(2).split("=", 1)[0]!) !== true) return false
      continue
    }
    const taken = shortOptions(word, rules)
    if (taken === undefined) return false
    // A value in the next word: whatever it is, it is not an option.
    if (taken && ++at >= words.length) return false
  }
  if (rules.operands !== undefined && operands.length > rules.operands) return false
  return rules.first === undefined || (operands[0] !== undefined && rules.first.includes(operands[0]))
}

/** Whether the last of the options takes the next word as its value; `undefined` if one of them is not known. */
const shortOptions = (word: string, rules: ProgramRules): boolean | undefined => {
  for (let at = 1; at < word.length; at++) {
    const letter = word[at]!
    if (rules.values?.includes(letter) === true) return at === word.length - 1
    if (rules.flags?.includes(letter) !== true) return undefined
  }
  return false
}

/**
 * Whether a command line only reads. The answer is `read` for what is understood to the last character and known to be
 * harmless, and `danger` for everything else.
 *
 * Only paths inside the working folder count as harmless: absolute ones, `~` and `..` do not.
 *
 * @example
 * classifyCommand("git status --short") // "read"
 * classifyCommand("cat notes.txt > copy.txt") // "danger"
 */
export const classifyCommand = (commandLine: string): "read" | "danger" => {
  if (!PLAIN.test(commandLine)) return "danger"
  const words = wordsOf(commandLine)
  if (words === undefined || words.length === 0 || words.some(unsafeWord)) return "danger"
  const [program, ...rest] = words.map((word) => word.text) as [string, ...Array<string>]
  if (program === "git") return classifyGit(rest)
  const rules = Object.hasOwn(readOnlyPrograms, program) ? readOnlyPrograms[program] : undefined
  return rules !== undefined && follows(rest, rules) ? "read" : "danger"
}

const classifyGit = (words: ReadonlyArray<string>): "read" | "danger" => {
  // Of the options before the command, only this one is harmless: -c sets configuration, which can name programs to run,
  // and -C leads elsewhere.
  const [command, ...rest] = words[0] === "--no-pager" ? words.slice(1) : words
  const rules = command !== undefined && Object.hasOwn(readOnlyGit, command) ? readOnlyGit[command] : undefined
  return rules !== undefined && follows(rest, rules) ? "read" : "danger"
}
