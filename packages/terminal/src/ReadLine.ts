/** The input line of a session: editing, history, and the keys of the session beside it. */
import { Effect, Schema, type Terminal } from "effect"
import { isCtrl, Keyboard } from "./Keyboard.ts"
import { editLine, emptyLine, lineFrame, lineOf, type LineState, lineText } from "./LineEditor.ts"
import { livePrompt, type LiveStep } from "./LivePrompt.ts"
import { Screen } from "./Screen.ts"

/** There will be no line: the person left (`quit`: Ctrl-D, or Ctrl-C without `TerminalKeys`), the input ended, or there is no terminal. */
export class InputClosed extends Schema.TaggedError<InputClosed>()("InputClosed", {
  reason: Schema.Literals(["quit", "ended", "no-terminal"])
}) {
  override get message() {
    return `No line was read: ${this.reason}`
  }
}

/** Lines that were entered before, newest last. One history may serve many `readLine`s; keep its `entries` to persist it. */
export class InputHistory {
  readonly #limit: number
  #entries: Array<string>

  constructor(entries: Iterable<string> = [], limit = 500) {
    this.#limit = limit
    this.#entries = Array.from(entries).slice(-limit)
  }

  get entries(): ReadonlyArray<string> {
    return this.#entries
  }

  /** Remembers a line; blank ones and repetitions of the last one are not kept. */
  add(line: string): void {
    if (line.trim() === "" || line === this.#entries.at(-1)) return
    this.#entries = [...this.#entries, line].slice(-this.#limit)
  }
}

export interface ReadLineOptions {
  /** What stands before the input, asked anew whenever the line is painted (it may tell whether plan mode is on). */
  readonly label?: string | Effect.Effect<string>
  readonly history?: InputHistory
  /** Text that is there at the beginning. */
  readonly initial?: string
}

interface State {
  readonly line: LineState
  /** Where in the history: its length means the new line, which `draft` keeps meanwhile. */
  readonly at: number
  readonly draft: string
}

/**
 * Reads a line (pasted text may have several). Enter submits, Alt+Enter starts a new line, Up and Down walk through the history,
 * Ctrl-C empties the line. Shift+Tab, and Ctrl-C on an empty line, go to `TerminalKeys`.
 *
 * The line may be shown while a turn prints above it; a question hides it until it is answered.
 *
 * @example
 * const text = yield* readLine({ label: "› ", history })
 */
export const readLine = (
  options: ReadLineOptions = {}
): Effect.Effect<string, InputClosed, Screen | Keyboard> =>
  Effect.scoped(Effect.gen(function*() {
    const screen = yield* Screen
    const keyboard = yield* Keyboard
    if (!screen.interactive || !keyboard.available) return yield* new InputClosed({ reason: "no-terminal" })
    const keys = yield* keyboard.focus
    const part = yield* screen.live("input")
    const history = options.history ?? new InputHistory()
    const label = typeof options.label === "string"
      ? Effect.succeed(options.label)
      : options.label ?? Effect.succeed("› ")

    const step = (state: State, input: Terminal.UserInput): Effect.Effect<LiveStep<State, string | undefined>> =>
      Effect.gen(function*() {
        const next = (change: Partial<State>) => ({ _tag: "Next", state: { ...state, ...change } }) as const
        const quit = { _tag: "Done", value: undefined } as const
        const text = lineText(state.line)
        if (isCtrl(input, "c")) {
          if (text !== "") return next({ line: emptyLine, at: history.entries.length })
          return (yield* keyboard.pass(input)) ? next({}) : quit
        }
        if (isCtrl(input, "d") && text === "") return quit
        if (input.key.name === "tab" && input.key.shift) {
          yield* keyboard.pass(input)
          return next({})
        }
        if (!state.line.pasting && (input.key.name === "up" || input.key.name === "down")) {
          const at = Math.max(0, Math.min(history.entries.length, state.at + (input.key.name === "up" ? -1 : 1)))
          if (at === state.at) return next({})
          const draft = state.at === history.entries.length ? text : state.draft
          return next({ at, draft, line: lineOf(history.entries[at] ?? draft) })
        }
        const line = editLine(state.line, input)
        return line === "submit" ? { _tag: "Done", value: text } : next(line === undefined ? {} : { line })
      })

    const text = yield* livePrompt(screen, {
      initial: { line: lineOf(options.initial ?? ""), at: history.entries.length, draft: "" } as State,
      keys,
      part,
      frame: (state, size) => Effect.map(label, (text) => lineFrame(state.line, text, size.columns - 1)),
      step
    }).pipe(Effect.catchTag("QuitError", () => Effect.fail(new InputClosed({ reason: "ended" }))))
    if (text === undefined) return yield* new InputClosed({ reason: "quit" })
    history.add(text)
    const { columns } = yield* screen.size
    yield* screen.print(lineFrame(lineOf(text), yield* label, columns - 1).rows.join("\n"))
    return text
  }))
