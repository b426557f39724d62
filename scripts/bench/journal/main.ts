/**
 * The journal beside a hand-written loop with the same durability, beside `JSON.parse`, and beside LangGraph's SQLite checkpointer.
 *
 * Each number is the median of several fresh processes, in rotated order. `--langgraph FOLDER` names a folder in which
 * `npm install @langchain/langgraph-checkpoint-sqlite` was run; `--node PATH` the Node that it was built for; `--json FILE` keeps the
 * numbers.
 */
import { Format } from "@holdfast/terminal"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import type { Measured } from "./cells.ts"

const { values } = parseArgs({
  options: {
    repeats: { type: "string", default: "5" },
    langgraph: { type: "string" },
    node: { type: "string", default: process.execPath },
    json: { type: "string" }
  }
})

const start = (...args: ReadonlyArray<string | number>): Measured =>
  JSON.parse(execFileSync(
    process.execPath,
    ["--conditions=source", join(import.meta.dirname, "cell.ts"), ...args.map(String)],
    { encoding: "utf8" }
  )) as Measured

const median = (numbers: ReadonlyArray<number>): number => [...numbers].sort((x, y) => x - y)[numbers.length >> 1] ?? 0

/** The medians of each kind, measured in turns. */
const compare = (
  kinds: ReadonlyArray<string>,
  run: (kind: string) => Measured
): { readonly [kind: string]: Measured } => {
  const all = new Map<string, Array<Measured>>(kinds.map((kind) => [kind, []]))
  for (let i = 0; i < Number(values.repeats); i++) {
    for (let k = 0; k < kinds.length; k++) {
      const kind = kinds[(i + k) % kinds.length]!
      all.get(kind)!.push(run(kind))
    }
  }
  return Object.fromEntries([...all].map(([kind, list]) => [
    kind,
    { wall: median(list.map((m) => m.wall)), cpu: median(list.map((m) => m.cpu)) }
  ]))
}

const us = (value: number) => value < 10 ? value.toFixed(2) : value.toFixed(0)
const results: { [name: string]: unknown } = {}
const print = (title: string, heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  console.log(["", title, "", ...Format.table(heads, rows)].join("\n"))

const appendCases = [
  { name: "one session, one by one", count: 1000, batch: 1, sessions: 1 },
  { name: "one session, batches of 10", count: 5000, batch: 10, sessions: 1 },
  { name: "100 sessions, one by one", count: 30, batch: 1, sessions: 100 },
  { name: "100 sessions, batches of 10", count: 100, batch: 10, sessions: 100 }
]
const appends = appendCases.map(({ batch, count, name, sessions }) => {
  const measured = compare(["hand", "sqlite", "file"], (kind) => start("append", kind, count, batch, sessions))
  results[`append: ${name}`] = measured
  const { file, hand, sqlite } = measured
  const speed = (m: Measured | undefined) => `${((hand?.wall ?? 0) / (m?.wall ?? 1)).toFixed(2)} ×`
  return [
    name,
    us(hand?.wall ?? 0),
    us(sqlite?.wall ?? 0),
    us(file?.wall ?? 0),
    speed(sqlite),
    speed(file),
    `${((sqlite?.cpu ?? 0) / (hand?.cpu ?? 1)).toFixed(2)} ×`
  ]
})
print("Appends of 1 KB events, µs an event; speed against the hand-written loop (higher is better)", [
  "appends",
  "by hand",
  "SQLite",
  "file",
  "SQLite speed",
  "file speed",
  "SQLite CPU"
], appends)

const reads = [1000, 10_000, 100_000].map((count) => {
  const measured = compare(["parse", "hand", "sqlite", "file"], (kind) => start("read", kind, count))
  results[`read: ${count}`] = measured
  const { file, hand, parse, sqlite } = measured
  const ratio = (m: Measured | undefined, base: Measured | undefined) =>
    `${((m?.wall ?? 0) / (base?.wall ?? 1)).toFixed(2)} ×`
  return [
    String(count),
    us(parse?.wall ?? 0),
    us(hand?.wall ?? 0),
    us(sqlite?.wall ?? 0),
    us(file?.wall ?? 0),
    ratio(sqlite, parse),
    ratio(file, parse),
    ratio(sqlite, hand)
  ]
})
print("Reading back and decoding, µs an event; time against JSON.parse of the same bytes (lower is better)", [
  "events",
  "JSON.parse",
  "rows by hand",
  "SQLite",
  "file",
  "SQLite/parse",
  "file/parse",
  "SQLite/by hand"
], reads)

const plan = [100, 10_000, 1_000_000].map((count) => {
  const measured = compare(["fold", "walk"], (kind) => start("plan", kind, count))
  results[`plan: ${count}`] = measured
  return [String(count), (measured["fold"]?.wall ?? 0).toFixed(3), us(measured["walk"]?.wall ?? 0)]
})
print("A read of plan mode, µs", ["events", "fold", "a walk over the log"], plan)

if (values.langgraph !== undefined) {
  const rows = [100, 400, 1600].map((steps) => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
    const theirs = JSON.parse(
      execFileSync(values.node, [join(import.meta.dirname, "langgraph.cjs"), folder, String(steps)], {
        cwd: values.langgraph,
        encoding: "utf8"
      })
    ) as Measured & { readonly bytes: number }
    rmSync(folder, { recursive: true, force: true })
    const ours = start("append", "sqlite", steps, 1, 1)
    results[`steps: ${steps}`] = { theirs, ours }
    return [String(steps), us(theirs.wall), us(ours.wall), Format.count(theirs.bytes), Format.count(steps * 1050)]
  })
  print("Saving a conversation step by step, µs a step, and bytes on disk", [
    "steps",
    "LangGraph's checkpointer",
    "SQLite journal",
    "its bytes",
    "ours, about"
  ], rows)
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
