/**
 * A tool loop whose history grows, through the whole harness beside the same loop written by hand on the bare `openai`
 * client.
 *
 * Every cell is a fresh process; the server is another. What is measured begins after a warm-up conversation, so start-up
 * is not in it. Kinds take turns in rotated order; the table has medians, and the ratios are to the loop by hand of the
 * same run. `--sizes 50,200,800`, `--repeats 3`, `--kinds memory,sqlite,file`, `--warm 10`, `--burst 8` (tokens in one write
 * of the server), `--results FOLDER`.
 */
import { Format } from "@holdfast/terminal"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import {
  inTurns,
  keepResults,
  median,
  megabytes,
  percent,
  resultsFolder,
  runCell,
  spread,
  startServer,
  times
} from "../Measure.ts"
import type { Measured, Seen } from "./Work.ts"

const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: "50,200,800" },
    repeats: { type: "string", default: "3" },
    kinds: { type: "string", default: "memory,sqlite" },
    warm: { type: "string", default: "10" },
    burst: { type: "string", default: "8" },
    results: { type: "string", default: resultsFolder }
  }
})
const sizes = values.sizes.split(",").map(Number)
const kinds = ["by-hand", ...values.kinds.split(",")]
const cellFile = join(import.meta.dirname, "cell.ts")

interface Cell extends Measured {
  readonly seen: Seen
}

const folder = mkdtempSync(join(tmpdir(), "holdfast-loop-"))
const headFile = join(folder, "head.json")
const server = await startServer(join(import.meta.dirname, "server.ts"), [values.burst])

const ask = async <A>(path: string): Promise<A> => (await fetch(`${server.url}/${path}`)).json() as Promise<A>

const run = async (name: string, kind: string, warm: number, rounds: number): Promise<Cell> => {
  const measured = await runCell<Measured>(cellFile, [
    kind,
    `${server.url}/${name}/${warm}/${rounds}`,
    String(rounds),
    headFile
  ], {
    flags: ["--expose-gc"]
  })
  return { ...measured, seen: await ask<Seen>(name) }
}

/** The head that the harness sends, so that the loop by hand sends the same bytes. */
const takeHead = async (): Promise<void> => {
  await run("probe", "memory", 0, 1)
  const { messages, ...body } = JSON.parse(await ask<string>("probe/body")) as {
    readonly [field: string]: unknown
    readonly messages: ReadonlyArray<unknown>
  }
  writeFileSync(headFile, JSON.stringify({ body, system: messages[0] }))
}

/** What all cells of one size must agree in. */
const work = ({ ran, seen }: Cell): string => JSON.stringify([ran, seen])

const us = (value: number) => value < 10_000 ? `${value.toFixed(0)} µs` : `${(value / 1000).toFixed(1)} ms`

try {
  await takeHead()
  const rows: Array<ReadonlyArray<string>> = []
  const proof: Array<ReadonlyArray<string>> = []
  const results: { [size: string]: unknown } = {}
  for (const rounds of sizes) {
    const cells = await inTurns(
      kinds,
      Number(values.repeats),
      (kind, repeat) => run(`${kind}-${rounds}-${repeat}`, kind, Number(values.warm), rounds)
    )
    const of = (kind: string, value: (cell: Cell) => number) => median(cells[kind]!.map(value))
    const equal = new Set(Object.values(cells).flat().map(work)).size === 1
    const { ran, seen } = cells["by-hand"]![0]!
    proof.push([
      String(rounds),
      String(ran),
      String(seen.requests),
      String(seen.messages),
      megabytes(seen.bytes.at(-1) ?? 0),
      megabytes(seen.bytes.reduce((sum, bytes) => sum + bytes, 0)),
      equal ? "yes, byte for byte" : "NO"
    ])
    if (!equal) process.exitCode = 1
    const base = {
      wall: of("by-hand", ({ wall }) => wall),
      cpu: of("by-hand", ({ cpu }) => cpu),
      first: of("by-hand", ({ first }) => first),
      last: of("by-hand", ({ last }) => last)
    }
    const summary = kinds.map((kind) => {
      const wall = of(kind, (cell) => cell.wall)
      const cpu = of(kind, (cell) => cell.cpu)
      const first = of(kind, (cell) => cell.first)
      const last = of(kind, (cell) => cell.last)
      const peak = of(kind, (cell) => cell.peak)
      const growth = of(kind, (cell) => cell.peak - cell.before)
      const live = of(kind, (cell) => cell.live)
      const noise = {
        cpu: spread(cells[kind]!.map((cell) => cell.cpu)),
        wall: spread(cells[kind]!.map((cell) => cell.wall))
      }
      rows.push([
        String(rounds),
        kind,
        us(cpu / rounds),
        times(cpu / base.cpu),
        us(wall / rounds),
        times(wall / base.wall),
        us(first),
        times(first / base.first),
        us(last),
        times(last / base.last),
        megabytes(peak),
        megabytes(growth),
        megabytes(live),
        `${percent(noise.cpu)} / ${percent(noise.wall)}`
      ])
      return {
        kind,
        cpuPerRound: cpu / rounds,
        cpuRatio: cpu / base.cpu,
        wallPerRound: wall / rounds,
        wallRatio: wall / base.wall,
        first20: first,
        last20: last,
        peak,
        growth,
        live,
        historyBytes: seen.bytes.at(-1),
        noise,
        repeats: cells[kind]!.map(({ cpu, wall }) => ({ cpu, wall }))
      }
    })
    results[rounds] = { equal, requests: seen.requests, messages: seen.messages, summary }
  }
  const lines = [
    "",
    "A tool loop with a growing history: the bare client by hand, and the harness over each journal",
    "",
    ...Format.table([
      "rounds",
      "loop",
      "CPU/round",
      "ratio",
      "wall/round",
      "ratio",
      "first 20",
      "ratio",
      "last 20",
      "ratio",
      "peak RSS",
      "growth",
      "live heap",
      "spread CPU / wall"
    ], rows),
    "",
    "Equal work, as the server saw it (all kinds and repeats)",
    "",
    ...Format.table(["rounds", "tool runs", "requests", "last messages", "last body", "sent in all", "equal"], proof),
    "",
    "first and last 20: CPU a round of the first and the last 20 rounds. growth: peak over what was resident after the",
    "warm-up. spread: largest minus smallest repeat over the median."
  ]
  console.log(lines.join("\n"))
  console.log(`\nkept in ${keepResults(values.results, "loop", results)}`)
} finally {
  server.stop()
  rmSync(folder, { recursive: true, force: true })
}
