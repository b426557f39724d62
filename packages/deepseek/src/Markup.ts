/**
 * Finds a model's own tool-call markup in the text of its answer.
 *
 * A server that fails to parse a call passes its markup on as text: nothing would run, and the turn would look done. The
 * markers come with one or two bars of three kinds, and cut anywhere between chunks, so the end of a chunk that may be
 * the beginning of a marker is held back until it is clear.
 */

const bar = (char: string | undefined): boolean => char === "｜" || char === "‖" || char === "|"
const gap = (char: string | undefined): boolean => char === " " || char === "▁" || char === "_"

/** What stands at a `<`: a marker, none, or the text ends before that is clear. */
type Verdict = "marker" | "none" | "open"

const word = (text: string, at: number, expected: string): Verdict => {
  for (let i = 0; i < expected.length; i++) {
    if (at + i >= text.length) return "open"
    if (text[at + i] !== expected[i]) return "none"
  }
  return "marker"
}

const judge = (text: string, start: number): Verdict => {
  let at = start + 1
  if (text[at] === "/") at++
  if (text[at] === " ") at++
  const bars = at
  while (at - bars < 2 && bar(text[at])) at++
  if (at === text.length) return "open"
  if (at === bars) return "none"
  if (text[at] === " ") at++
  const dsml = word(text, at, "DSML")
  if (dsml === "marker") {
    at += 4
    if (text[at] === " ") at++
    return at >= text.length ? "open" : bar(text[at]) ? "marker" : "none"
  }
  // The markup of V3: `tool▁calls▁begin` and `tool▁call▁begin` between single bars.
  const tool = word(text, at, "tool")
  if (tool !== "marker") return dsml === "open" || tool === "open" ? "open" : "none"
  at += 4
  if (at >= text.length) return "open"
  return gap(text[at]) ? word(text, at + 1, "call") : "none"
}

/** Reads the text of one reply. */
export interface MarkupScanner {
  /** The text that can be shown now, or `undefined` once a marker was found. */
  readonly push: (text: string) => string | undefined
  /** What was held back and turned out to be text. */
  readonly rest: () => string
}

/**
 * Makes a scanner. A marker right after a backtick is a quotation and passes, so that a model can write about markup.
 *
 * @example
 * const scanner = makeScanner()
 * scanner.push("Let me look <｜DS") // "Let me look "
 * scanner.push("ML｜ calls>") // undefined
 */
export const makeScanner = (): MarkupScanner => {
  let held = ""
  let before = ""
  return {
    push: (fragment) => {
      if (held === "" && !fragment.includes("<")) {
        if (fragment !== "") before = fragment[fragment.length - 1]!
        return fragment
      }
      const text = held + fragment
      let stop = text.length
      for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at + 1)) {
        if ((at === 0 ? before : text[at - 1]) === "`") continue
        const verdict = judge(text, at)
        if (verdict === "marker") return undefined
        if (verdict === "open") {
          stop = at
          break
        }
      }
      held = text.slice(stop)
      if (stop > 0) before = text[stop - 1]!
      return text.slice(0, stop)
    },
    rest: () => {
      const text = held
      held = ""
      return text
    }
  }
}
