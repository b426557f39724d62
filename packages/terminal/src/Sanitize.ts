/**
 * What a model writes is shown to a person who decides by it, so it must not be able to act on the terminal. An escape sequence
 * could repaint the screen, a carriage return could hide what stands before it, a bidirectional override could turn a line
 * around, and an invisible character could hide in a command. Each of them is shown as `<U+001B>` instead.
 */

/** Safe text, and how many characters had to be shown as `<U+XXXX>`. */
export interface Sanitized {
  readonly text: string
  readonly escaped: number
}

/**
 * C0 and C1 controls (but not line feed and tab), soft hyphen, bidirectional controls, zero-width and filler characters,
 * line separators, interlinear annotations, tag characters, supplementary variation selectors and lone surrogates.
 */
const unsafe = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
    "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb" +
    "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]",
  "gu"
)

/** Characters that join or choose a form: harmless after a character that is not ASCII (emoji, Persian, Mongolian …). */
const isJoiner = (char: string): boolean =>
  char === "\u200c" || char === "\u200d" || (char >= "\ufe00" && char <= "\ufe0f")
const keycap = "\u20e3"

const visible = (char: string): string =>
  `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`

/**
 * Makes text of any origin safe to print. Line feeds and tabs stay, `\r\n` counts as a line feed; everything else that a
 * terminal would act on, or that a person could not see, becomes `<U+XXXX>`. The result never contains a control character
 * other than `\n` and `\t`, and sanitizing it again changes nothing.
 *
 * @example
 * sanitize("a\u001b[2Jb") // => { text: "a<U+001B>[2Jb", escaped: 1 }
 */
export const sanitize = (text: string): Sanitized => {
  let escaped = 0
  // Where the last escaped character ended: what follows it directly follows the ASCII `>` in the result.
  let end = -1
  const safe = text.replace(/\r\n/g, "\n").replace(unsafe, (char: string, offset: number, whole: string) => {
    const joins = whole[offset + 1] === keycap || (offset !== end && whole.charCodeAt(offset - 1) > 0x7f)
    if (joins && isJoiner(char)) return char
    escaped++
    end = offset + char.length
    return visible(char)
  })
  return { text: safe, escaped }
}

/** The safe text alone; see {@link sanitize}. */
export const safe = (text: string): string => sanitize(text).text

/** Safe text for a place that has one line: line feeds and tabs become single spaces, and the ends are trimmed. */
export const safeLine = (text: string): string => safe(text).replace(/[\n\t]+/g, " ").trim()
