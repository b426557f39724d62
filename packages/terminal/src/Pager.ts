/** Reading rows that do not fit the screen: a pure state machine. */
import type { Terminal } from "effect"

/** `top` is the first row that is shown; `height` how many are shown at once. */
export interface PagerState {
  readonly top: number
}

/** The state after a key, or `"close"`. Enter does nothing: nobody consents while reading. */
export const page = (
  state: PagerState,
  key: Terminal.Key,
  total: number,
  height: number
): PagerState | "close" => {
  const last = Math.max(0, total - height)
  const to = (top: number): PagerState => ({ top: Math.max(0, Math.min(last, top)) })
  switch (key.name) {
    case "escape":
    case "q":
    case "v":
      return "close"
    case "down":
    case "j":
      return to(state.top + 1)
    case "up":
    case "k":
      return to(state.top - 1)
    case "space":
    case "pagedown":
    case "f":
      return to(state.top + height)
    case "pageup":
    case "b":
      return to(state.top - height)
    case "home":
      return to(0)
    case "end":
      return to(last)
    case "g":
      return to(key.shift ? last : 0)
    default:
      return to(state.top)
  }
}
