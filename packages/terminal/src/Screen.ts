/**
 * The one owner of what stands on the terminal. Finished lines are printed and scroll away; below them is the *live area*, which is
 * painted again and again: the progress line, the input line, an open question. Because one place knows both, output that arrives
 * while a question is open is printed above it and spoils nothing.
 */
import { Context, Effect, Layer, Queue, type Scope, Semaphore, Terminal } from "effect"
import { TerminalCapabilities } from "effect/cli"
import { makeStyle, type Style } from "./Style.ts"
import { displayWidth } from "./Width.ts"

/**
 * What a live part shows: rows that fit the width of the screen, and where the cursor stands (row and column count from 0); without
 * a cursor it is hidden.
 */
export interface Frame {
  readonly rows: ReadonlyArray<string>
  readonly cursor?: { readonly row: number; readonly column: number }
}

/** A part of the live area, gone when its scope closes. */
export interface LivePart {
  readonly set: (frame: Frame | undefined) => Effect.Effect<void>
  /** Prints finished lines and changes the frame in one stroke, for text that moves from the frame to the lines above it. */
  readonly print: (text: string, frame: Frame | undefined) => Effect.Effect<void>
}

/** Where a live part stands; parts of a higher layer stand lower, and a `question` hides the others. */
export type LiveLayer = "progress" | "input" | "question"

const order: Record<LiveLayer, number> = { progress: 0, input: 1, question: 2 }
const smallest = { columns: 20, rows: 6 }

interface Part {
  readonly layer: LiveLayer
  frame: Frame | undefined
}

interface Painted {
  readonly widths: ReadonlyArray<number>
  readonly cursor: { readonly row: number; readonly column: number }
}

const nothing: Painted = { widths: [], cursor: { row: 0, column: 0 } }

/**
 * Printing and painting. Without an interactive terminal `print` writes plain lines and the live area is never shown.
 *
 * @example
 * const screen = yield* Screen
 * yield* screen.print("done")
 */
export class Screen extends Context.Service<Screen, {
  /** Whether there is a person in front of it: both ends are terminals that can move the cursor. */
  readonly interactive: boolean
  readonly style: Style
  /** In cells; a terminal that does not know its size counts as 80 × 24. */
  readonly size: Effect.Effect<Terminal.Size>
  /** Prints finished lines above the live area. `text` must be safe already (see `sanitize`). */
  readonly print: (text: string) => Effect.Effect<void>
  /** A new part of the live area. */
  readonly live: (layer: LiveLayer) => Effect.Effect<LivePart, never, Scope.Scope>
}>()("@holdfast/terminal/Screen") {
  static readonly layer: Layer.Layer<Screen, never, Terminal.Terminal> = Layer.effect(
    Screen,
    Effect.gen(function*() {
      const terminal = yield* Terminal.Terminal
      const { canAnimate, canColor, canPrompt } = yield* TerminalCapabilities.TerminalCapabilities
      const interactive = canPrompt && canAnimate
      const lock = yield* Semaphore.make(1)
      const parts = new Set<Part>()
      let painted = nothing

      const size = Effect.map(
        Effect.all([terminal.columns, terminal.rows]),
        ([columns, rows]): Terminal.Size => ({
          columns: columns > 0 ? Math.max(smallest.columns, columns) : 80,
          rows: rows > 0 ? Math.max(smallest.rows, rows) : 24
        })
      )

      const compose = (limit: Terminal.Size): Frame => {
        const shown = Array.from(parts).filter((part) => part.frame !== undefined)
          .sort((a, b) => order[a.layer] - order[b.layer])
        const question = shown.some((part) => part.layer === "question")
        const rows: Array<string> = []
        let cursor: Frame["cursor"]
        for (const part of shown) {
          if (part.frame === undefined || (question && part.layer !== "question")) continue
          if (part.frame.cursor !== undefined) {
            cursor = { row: rows.length + part.frame.cursor.row, column: part.frame.cursor.column }
          }
          rows.push(...part.frame.rows)
        }
        // The cursor cannot climb above the top of the screen, so a live area that is taller could not be taken back.
        const cut = Math.max(0, rows.length - (limit.rows - 1))
        return {
          rows: rows.slice(cut),
          ...(cursor !== undefined && cursor.row >= cut && { cursor: { row: cursor.row - cut, column: cursor.column } })
        }
      }

      /** Takes the live area back. A narrower window has wrapped its rows meanwhile, so they are counted anew. */
      const erase = (columns: number): string => {
        if (painted.widths.length === 0) return ""
        const up = painted.widths.slice(0, painted.cursor.row)
          .reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0) +
          Math.floor(painted.cursor.column / columns)
        return `\r${up > 0 ? `\u001b[${up}A` : ""}\u001b[J`
      }

      const paint = (frame: Frame, columns: number): string => {
        if (frame.rows.length === 0) {
          const shown = painted.widths.length > 0
          painted = nothing
          return shown ? "\u001b[?25h" : ""
        }
        const last = frame.rows.length - 1
        const row = frame.cursor?.row ?? last
        const widths = frame.rows.map(displayWidth)
        painted = { widths, cursor: { row, column: frame.cursor?.column ?? widths[last] ?? 0 } }
        const place = frame.cursor === undefined
          ? ""
          : `\r${last > row ? `\u001b[${last - row}A` : ""}` +
            `${frame.cursor.column > 0 ? `\u001b[${Math.min(columns - 1, frame.cursor.column)}C` : ""}\u001b[?25h`
        // Without automatic wrapping a row whose width the terminal judges differently cannot become two.
        return `\u001b[?25l\u001b[?7l${frame.rows.join("\n")}\u001b[?7h${place}`
      }

      const write = (text: string, change: () => void = () => {}) =>
        lock.withPermit(Effect.gen(function*() {
          change()
          const limit = yield* size
          const before = erase(limit.columns)
          const after = paint(compose(limit), limit.columns)
          if (before + text + after !== "") yield* Effect.ignore(terminal.display(before + text + after))
        })).pipe(Effect.uninterruptible)

      const print = (text: string, change: () => void = () => {}) => {
        const line = text === "" || text.endsWith("\n") ? text : `${text}\n`
        return interactive
          ? write(line, change)
          : line === ""
          ? Effect.void
          : lock.withPermit(Effect.ignore(terminal.display(line))).pipe(Effect.uninterruptible)
      }

      const live = (layer: LiveLayer) =>
        Effect.gen(function*() {
          const part: Part = { layer, frame: undefined }
          if (!interactive) return { set: () => Effect.void, print: (text: string) => print(text) }
          yield* Effect.acquireRelease(
            Effect.sync(() => parts.add(part)),
            () => Effect.suspend(() => (parts.delete(part), part.frame === undefined ? Effect.void : write("")))
          )
          return {
            set: (frame: Frame | undefined) =>
              Effect.suspend(() =>
                frame === undefined && part.frame === undefined
                  ? Effect.void
                  : write("", () => {
                    part.frame = frame
                  })
              ),
            print: (text: string, frame: Frame | undefined) =>
              print(text, () => {
                part.frame = frame
              })
          }
        })

      if (interactive) {
        const sizes = yield* terminal.size
        yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(sizes), Effect.suspend(() => write("")))))
        yield* Effect.addFinalizer(() => Effect.suspend(() => (parts.clear(), write(""))))
      }
      return Screen.of({ interactive, style: makeStyle(canColor), size, print: (text) => print(text), live })
    })
  )
}
