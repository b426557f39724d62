/** Unified diffs, in bounded time. */
import { createTwoFilesPatch } from "diff"

/** How long a minimal diff may take, in milliseconds, before a whole replacement is shown instead. */
const DIFF_MILLIS = 500

/** The unified diff of one file from `before` to `after`; `undefined` stands for a file that is not there. */
export const unifiedDiff = (path: string, before: string | undefined, after: string | undefined): string => {
  const from = before === undefined ? "/dev/null" : `a/${path}`
  const to = after === undefined ? "/dev/null" : `b/${path}`
  const patch = createTwoFilesPatch(from, to, before ?? "", after ?? "", undefined, undefined, {
    context: 3,
    timeout: DIFF_MILLIS,
    headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true }
  })
  return patch ?? replaced(from, to, before ?? "", after ?? "")
}

// Every line out and every line in: longer than need be, and as true.
const replaced = (from: string, to: string, before: string, after: string): string => {
  const side = (sign: string, text: string) => {
    const lines = text.split("\n")
    const open = lines.pop()!
    if (open !== "") lines.push(`${open}\n\\ No newline at end of file`)
    return { count: lines.length, text: lines.map((line) => `${sign}${line}\n`).join("") }
  }
  const minus = side("-", before)
  const plus = side("+", after)
  const range = (count: number) => `${count === 0 ? 0 : 1},${count}`
  return `--- ${from}\n+++ ${to}\n@@ -${range(minus.count)} +${range(plus.count)} @@\n${minus.text}${plus.text}`
}
