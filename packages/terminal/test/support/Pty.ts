/**
 * Drives a real program in a real pseudo-terminal, and reads its screen as a person would see it.
 *
 * @example
 * await using pty = Pty.node("examples/plan-and-build/src/main.ts", ["--plan"], { columns: 100, rows: 30 })
 * await pty.waitFor("Enter chooses")      // the prompt counts keys from here on
 * pty.press("down", "enter")
 * await pty.waitFor("answered: Keep planning")
 * assert.deepStrictEqual(await pty.exit(), { code: 0, signal: 0 })
 * assert.strictEqual(normalise(pty.text()), expectedTranscript)
 */
import { spawn } from "@lydell/node-pty"
import headless from "@xterm/headless"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

export interface PtyOptions {
  readonly columns?: number
  readonly rows?: number
  readonly cwd?: string | URL
  /** Added to the environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** How long `waitFor` and `exit` wait, in milliseconds; 15000 by default. */
  readonly timeout?: number
  /** How many rows that have scrolled away `text` still sees; 20000 by default. */
  readonly scrollback?: number
}

const keys = {
  enter: "\r",
  escape: "\u001b",
  up: "\u001b[A",
  down: "\u001b[B",
  right: "\u001b[C",
  left: "\u001b[D",
  home: "\u001b[H",
  end: "\u001b[F",
  pageup: "\u001b[5~",
  pagedown: "\u001b[6~",
  delete: "\u001b[3~",
  tab: "\t",
  "shift-tab": "\u001b[Z",
  backspace: "\u007f",
  space: " ",
  "ctrl-c": "\u0003",
  "ctrl-d": "\u0004",
  "ctrl-u": "\u0015",
  "alt-enter": "\u001b\r"
} as const

/** Keys that `press` knows by name; any other text goes through `type`. */
export type KeyName = keyof typeof keys

export class Pty implements AsyncDisposable {
  /** Runs a command. Colours are off unless `env` says otherwise (`NO_COLOR: undefined`). */
  static spawn(command: string, args: ReadonlyArray<string> = [], options: PtyOptions = {}): Pty {
    return new Pty(command, args, options)
  }

  /** Runs a TypeScript file of this repository from source, with the Node that runs the test. */
  static node(file: string | URL, args: ReadonlyArray<string> = [], options: PtyOptions = {}): Pty {
    return new Pty(process.execPath, [
      "--conditions=source",
      typeof file === "string" ? file : fileURLToPath(file),
      ...args
    ], options)
  }

  readonly #terminal: InstanceType<typeof headless.Terminal>
  readonly #process: ReturnType<typeof spawn>
  readonly #timeout: number
  readonly #exited: Promise<{ readonly code: number; readonly signal: number }>
  #ended = false
  #output = ""

  private constructor(command: string, args: ReadonlyArray<string>, options: PtyOptions) {
    const cols = options.columns ?? 80
    const rows = options.rows ?? 24
    this.#timeout = options.timeout ?? 15_000
    this.#terminal = new headless.Terminal({
      cols,
      rows,
      scrollback: options.scrollback ?? 20_000,
      allowProposedApi: true
    })
    const merged = { ...process.env, TERM: "xterm-256color", NO_COLOR: "1", FORCE_COLOR: undefined, ...options.env }
    this.#process = spawn(command, [...args], {
      cols,
      rows,
      name: "xterm-256color",
      cwd: options.cwd instanceof URL ? fileURLToPath(options.cwd) : options.cwd ?? process.cwd(),
      env: Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined)) as Record<
        string,
        string
      >
    })
    this.#process.onData((data) => {
      this.#output += data
      this.#terminal.write(data)
    })
    // A terminal answers when it is asked where the cursor stands and what it can do.
    this.#terminal.onData((data) => {
      if (!this.#ended) this.#process.write(data)
    })
    this.#exited = new Promise((resolve) => {
      this.#process.onExit(({ exitCode, signal }) => {
        this.#ended = true
        resolve({ code: exitCode, signal: signal ?? 0 })
      })
    })
  }

  get pid(): number {
    return this.#process.pid
  }

  /** Everything that the program wrote, escape sequences included. */
  get output(): string {
    return this.#output
  }

  /** Sends text as it is, like fast typing. */
  type(text: string): void {
    this.#process.write(text)
  }

  /** Presses keys by name. A lone Escape is followed by the pause that tells it from the start of a sequence: use `escape()`. */
  press(...names: ReadonlyArray<KeyName>): void {
    for (const name of names) this.#process.write(keys[name])
  }

  /** Presses Escape, and waits until the program must have taken it for the key. */
  async escape(): Promise<void> {
    this.press("escape")
    await sleep(150)
  }

  /** Pastes as a terminal does in bracketed mode. */
  paste(text: string): void {
    this.#process.write(`\u001b[200~${text}\u001b[201~`)
  }

  resize(columns: number, rows: number): void {
    this.#process.resize(columns, rows)
    this.#terminal.resize(columns, rows)
  }

  /** What is on the screen now, without trailing spaces and empty rows at the end. */
  screen(): string {
    const buffer = this.#terminal.buffer.active
    return this.#rows(buffer.baseY, buffer.baseY + this.#terminal.rows)
  }

  /** What has scrolled away, and the screen. Rows that the terminal wrapped are joined. */
  text(): string {
    return this.#rows(0, this.#terminal.buffer.active.length)
  }

  /** Where the cursor stands on the screen, from 0. */
  cursor(): { readonly row: number; readonly column: number } {
    const buffer = this.#terminal.buffer.active
    return { row: buffer.cursorY, column: buffer.cursorX }
  }

  /** Whether the program last showed or hid the cursor. */
  cursorVisible(): boolean {
    return this.#output.lastIndexOf("\u001b[?25h") >= this.#output.lastIndexOf("\u001b[?25l")
  }

  #rows(from: number, to: number): string {
    const buffer = this.#terminal.buffer.active
    const rows: Array<string> = []
    for (let y = from; y < to; y++) {
      const line = buffer.getLine(y)
      if (line === undefined) continue
      const text = line.translateToString(true)
      if (line.isWrapped && rows.length > 0) rows[rows.length - 1] += text
      else rows.push(text)
    }
    return rows.map((row) => row.trimEnd()).join("\n").trimEnd()
  }

  /** Waits until what `read` finds (in `text()`, that is screen and scrollback, by default) is there; fails with the screen. */
  async waitUntil(what: string, check: (pty: Pty) => boolean): Promise<void> {
    const until = Date.now() + this.#timeout
    while (true) {
      await this.#flush()
      if (check(this)) return
      if (this.#ended) {
        await sleep(30)
        await this.#flush()
        if (check(this)) return
        throw new Error(`The program ended before: ${what}\n${this.#shot()}`)
      }
      if (Date.now() > until) throw new Error(`Waited in vain for: ${what}\n${this.#shot()}`)
      await sleep(15)
    }
  }

  /** Waits until the text is on the screen or above it, `times` times at least (once by default). */
  waitFor(pattern: string | RegExp, times = 1): Promise<void> {
    return this.waitUntil(String(pattern), (pty) => found(pty.text(), pattern) >= times)
  }

  /** Waits until the text is on the screen itself. */
  waitForScreen(pattern: string | RegExp): Promise<void> {
    return this.waitUntil(`${pattern} on the screen`, (pty) => found(pty.screen(), pattern) > 0)
  }

  /** Waits until the text is no more on the screen. */
  waitForGone(pattern: string | RegExp): Promise<void> {
    return this.waitUntil(`no ${pattern} on the screen`, (pty) => found(pty.screen(), pattern) === 0)
  }

  /** Waits for the end of the program and of its output. */
  async exit(): Promise<{ readonly code: number; readonly signal: number }> {
    const late = AbortSignal.timeout(this.#timeout)
    const result = await Promise.race([
      this.#exited,
      new Promise<never>((_, reject) =>
        late.addEventListener("abort", () => reject(new Error(`The program did not end\n${this.#shot()}`)))
      )
    ])
    await sleep(30)
    await this.#flush()
    return result
  }

  kill(signal = "SIGKILL"): void {
    if (!this.#ended) this.#process.kill(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill()
    await this.#exited
    this.#terminal.dispose()
  }

  #flush(): Promise<void> {
    return new Promise((resolve) => this.#terminal.write("", resolve))
  }

  #shot(): string {
    return `--- screen ---\n${this.screen()}\n--- end of screen ---`
  }
}

const found = (text: string, pattern: string | RegExp): number =>
  typeof pattern === "string"
    ? text.split(pattern).length - 1
    : Array.from(text.matchAll(new RegExp(pattern, pattern.flags.includes("g") ? pattern.flags : `${pattern.flags}g`)))
      .length
