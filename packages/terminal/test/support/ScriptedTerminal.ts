/** A `Terminal` in memory: keys are pressed by the test, and what is written goes to a headless screen. */
import headless from "@xterm/headless"
import { type Cause, Effect, Layer, Option, Queue, Terminal } from "effect"
import { TerminalCapabilities } from "effect/cli"

export interface ScriptedTerminal {
  readonly layer: Layer.Layer<Terminal.Terminal>
  readonly press: (
    ...keys: ReadonlyArray<string | Partial<Terminal.Key> & { readonly text?: string }>
  ) => Effect.Effect<void>
  /** Ends the input, as when a connection is lost. */
  readonly end: Effect.Effect<void>
  /** What has scrolled away and what is on the screen. */
  readonly text: Effect.Effect<string>
  readonly output: () => string
  /** How many readers are open: none, once nobody wants keys. */
  readonly readers: () => number
}

export interface ScriptedTerminalOptions {
  readonly columns?: number
  readonly rows?: number
  /** Like `NodeTerminal.layer`: a reader's queue ends after Escape, Ctrl-C and Ctrl-D. */
  readonly quits?: boolean
  readonly capabilities?: Partial<TerminalCapabilities.TerminalCapabilities>
}

export const scriptedTerminal = (options: ScriptedTerminalOptions = {}): ScriptedTerminal => {
  const columns = options.columns ?? 80
  const rows = options.rows ?? 24
  const screen = new headless.Terminal({
    cols: columns,
    rows,
    scrollback: 5000,
    allowProposedApi: true,
    convertEol: true
  })
  const queues = new Set<Queue.Queue<Terminal.UserInput, Cause.Done>>()
  let ended = false
  let written = ""

  const terminal = Terminal.make({
    columns: Effect.succeed(columns),
    rows: Effect.succeed(rows),
    size: Queue.make<Terminal.Size, Cause.Done>(),
    readInput: Effect.acquireRelease(
      Effect.gen(function*() {
        const queue = yield* Queue.make<Terminal.UserInput, Cause.Done>()
        if (ended) Queue.endUnsafe(queue)
        queues.add(queue)
        return queue
      }),
      (queue) => Effect.sync(() => queues.delete(queue))
    ),
    readLine: Effect.never,
    display: (text) =>
      Effect.sync(() => {
        written += text
        screen.write(text)
      })
  })

  const inputOf = (key: string | Partial<Terminal.Key> & { readonly text?: string }): Terminal.UserInput => {
    const described = typeof key === "string" ? [...key].length === 1 ? { text: key, name: key } : { name: key } : key
    const { ctrl = false, meta = false, name = "", shift = false } = described
    return {
      input: Option.fromUndefinedOr("text" in described ? described.text : undefined),
      key: { name, ctrl, meta, shift }
    }
  }

  return {
    layer: Layer.mergeAll(
      Layer.succeed(Terminal.Terminal, terminal),
      Layer.succeed(TerminalCapabilities.TerminalCapabilities, {
        canAnimate: true,
        canColor: false,
        canPrompt: true,
        ...options.capabilities
      })
    ),
    press: Effect.fnUntraced(function*(...keys) {
      for (const key of keys) {
        const input = inputOf(key)
        for (const queue of queues) {
          Queue.offerUnsafe(queue, input)
          if (
            options.quits === true && (input.key.name === "escape" || (input.key.ctrl && "cd".includes(input.key.name)))
          ) {
            Queue.endUnsafe(queue)
          }
        }
        // A person is slower than a program: whoever reads gets to see each key.
        for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
      }
    }),
    end: Effect.sync(() => {
      ended = true
      for (const queue of queues) Queue.endUnsafe(queue)
    }),
    text: Effect.promise(() => new Promise<void>((resolve) => screen.write("", resolve))).pipe(Effect.map(() => {
      const buffer = screen.buffer.active
      const out = Array.from({ length: buffer.length }, (_, y) => buffer.getLine(y)?.translateToString(true) ?? "")
      return out.map((row) => row.trimEnd()).join("\n").trimEnd()
    })),
    output: () => written,
    readers: () => queues.size
  }
}
