/** Colours and emphasis, or nothing at all where they are not wanted. */

/** Paints text; with colours off every member returns its argument. */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly inverse: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const paint = (on: boolean, open: number, close: number) => (text: string): string =>
  on && text !== "" ? `\u001b[${open}m${text}\u001b[${close}m` : text

/** The style for a screen; `colors` usually comes from `TerminalCapabilities.canColor`. */
export const makeStyle = (colors: boolean): Style => ({
  bold: paint(colors, 1, 22),
  dim: paint(colors, 2, 22),
  inverse: paint(colors, 7, 27),
  red: paint(colors, 31, 39),
  green: paint(colors, 32, 39),
  yellow: paint(colors, 33, 39),
  cyan: paint(colors, 36, 39)
})

/** The style that changes nothing. */
export const plainStyle: Style = makeStyle(false)
