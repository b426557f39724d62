/** The work that every loop of this benchmark does: the same task, the same tools, the same results. */

/** The names of the eight tools, and what a call of each does to the world. */
export const toolNames = {
  read_file: "read",
  list_files: "read",
  search_text: "read",
  stat_file: "read",
  read_symbol: "read",
  show_history: "read",
  write_note: "mutate",
  run_check: "mutate"
} as const

export type ToolName = keyof typeof toolNames

export const names = Object.keys(toolNames) as ReadonlyArray<ToolName>

/** The arguments of every tool. */
export interface Arguments {
  readonly path: string
  readonly line: number
}

/** What each tool says of itself. */
export const describe = (name: ToolName): string =>
  `${name.replace("_", " ")}: works on one path of the project, from one line on, and returns at most a page of text. ` +
  "Paths are relative to the project; lines count from 1."

export const persona = Array.from(
  { length: 40 },
  (_, i) => `${i + 1}. Read before you change, change no more than the task needs, and check what you did.`
).join("\n")

export const task = "Go through the files of the project one by one."

/** The tool itself: 1,000 characters with lines and quotes in them, different for every call. */
export const result = (name: string, { line, path }: Arguments): string => {
  const row = `${name} "${path}"\t${line}: const value = compute(input, { depth: ${line} })\n`
  return row.repeat(Math.ceil(1000 / row.length)).slice(0, 1000)
}

/** What one cell found out. Times are in microseconds, memory in bytes. */
export interface Measured {
  readonly wall: number
  readonly cpu: number
  /** Wall and CPU at each run of a tool, since the start. */
  readonly marks: ReadonlyArray<readonly [wall: number, cpu: number]>
  readonly ran: number
  /** Resident memory after the warm-up, at its peak, and the heap that lives when all is done. */
  readonly before: number
  readonly peak: number
  readonly live: number
}

/** What the server saw of one conversation. */
export interface Seen {
  readonly requests: number
  /** Bytes of each request's body. */
  readonly bytes: ReadonlyArray<number>
  /** Messages and tool results of the last request. */
  readonly messages: number
  readonly results: number
  /** SHA-256 of the last request's body. */
  readonly hash: string
}

/** Collects what a cell measures between `start` and `finish`. */
export class Meter {
  ran = 0
  private readonly marks: Array<readonly [number, number]> = []
  private begun = 0n
  private used: NodeJS.CpuUsage = { user: 0, system: 0 }
  private before = 0
  private running = false

  start(): void {
    globalThis.gc?.()
    this.before = process.memoryUsage.rss()
    this.marks.length = 0
    this.ran = 0
    this.running = true
    this.used = process.cpuUsage()
    this.begun = process.hrtime.bigint()
  }

  private now(): readonly [number, number] {
    const { system, user } = process.cpuUsage(this.used)
    return [Number(process.hrtime.bigint() - this.begun) / 1000, user + system]
  }

  /** Called by every run of a tool. */
  tool(name: string, args: Arguments): string {
    if (this.running) {
      this.ran++
      this.marks.push(this.now())
    }
    return result(name, args)
  }

  finish(): Measured {
    const [wall, cpu] = this.now()
    const peak = process.resourceUsage().maxRSS * 1024
    globalThis.gc?.()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return { wall, cpu, marks: this.marks, ran: this.ran, before: this.before, peak, live: heapUsed + arrayBuffers }
  }
}
