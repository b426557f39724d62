/** The work that every loop of this benchmark does: the same task, the same tools, the same results. */

import { setTimeout as sleep } from "node:timers/promises"
import { endProfile, startProfile } from "../Profile.ts"

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
  `${
    name.replace("_", " ")
  }: works on one path of the project, from one line on, and returns at most a page of text. ` +
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
  /** CPU a round over the first and over the last 20 rounds. */
  readonly first: number
  readonly last: number
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

/** Rounds at the beginning and at the end that are looked at by themselves. */
const EDGE = 20

/** Collects what a cell measures between `start` and `finish`. */
export class Meter {
  private readonly name: string
  private readonly rounds: number
  private readonly edge: number
  private ran = 0
  /** CPU when a tool ran for the nth time. Asked for four times only: the clock of the process is slow in some sandboxes. */
  private readonly marks = new Map<number, number>()
  private begun = 0n
  private used: NodeJS.CpuUsage = { user: 0, system: 0 }
  private before = 0
  private running = false

  constructor(name: string, rounds: number) {
    this.name = `${name}-${rounds}`
    this.rounds = rounds
    this.edge = Math.min(EDGE, rounds - 1)
  }

  async start(): Promise<void> {
    globalThis.gc?.()
    await startProfile()
    this.before = process.memoryUsage.rss()
    this.running = true
    this.used = process.cpuUsage()
    this.begun = process.hrtime.bigint()
  }

  private cpu(): number {
    const { system, user } = process.cpuUsage(this.used)
    return user + system
  }

  /** Called by every run of a tool. */
  tool(name: string, args: Arguments): string {
    if (this.running) {
      this.ran++
      const { edge, ran, rounds } = this
      if (ran === 1 || ran === 1 + edge || ran === rounds - edge || ran === rounds) this.marks.set(ran, this.cpu())
    }
    return result(name, args)
  }

  private rate(from: number, to: number): number {
    return to <= from ? Number.NaN : ((this.marks.get(to) ?? 0) - (this.marks.get(from) ?? 0)) / (to - from)
  }

  async finish(): Promise<Measured> {
    const wall = Number(process.hrtime.bigint() - this.begun) / 1000
    const cpu = this.cpu()
    const peak = process.resourceUsage().maxRSS * 1024
    await endProfile(this.name)
    // Buffers are given back beside the collection and not in it.
    for (let i = 0; i < 3; i++) {
      globalThis.gc?.()
      await sleep(20)
    }
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return {
      wall,
      cpu,
      first: this.rate(1, 1 + this.edge),
      last: this.rate(this.rounds - this.edge, this.rounds),
      ran: this.ran,
      before: this.before,
      peak,
      live: heapUsed + arrayBuffers
    }
  }
}
