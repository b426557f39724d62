/** What the benchmarks share: cells in processes of their own, medians, and how far repeats lie apart. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"

/** The middle one of the values; of an even number, the upper middle. */
export const median = (values: ReadonlyArray<number>): number =>
  [...values].sort((x, y) => x - y)[values.length >> 1] ?? Number.NaN

/** How far the values lie apart, as a share of their median. */
export const spread = (values: ReadonlyArray<number>): number =>
  values.length < 2 ? 0 : (Math.max(...values) - Math.min(...values)) / median(values)

/** A ratio for a table. */
export const times = (ratio: number): string => Number.isFinite(ratio) ? `${ratio.toFixed(2)} ×` : "-"

/** A share for a table. */
export const percent = (share: number): string => Number.isFinite(share) ? `${(share * 100).toFixed(1)} %` : "-"

/** Bytes for a table. */
export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`

const flags = ["--conditions=source", "--no-warnings=ExperimentalWarning"]

/** Runs a program of this folder in a fresh process and reads the JSON of its last line. */
export const runCell = <A>(
  file: string,
  args: ReadonlyArray<string>,
  options: { readonly flags?: ReadonlyArray<string> } = {}
): Promise<A> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, ...options.flags ?? [], file, ...args], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (output += text))
    child.on("error", reject)
    child.on("close", (code) => {
      const line = output.trimEnd().split("\n").at(-1) ?? ""
      if (code === 0 && line !== "") resolve(JSON.parse(line) as A)
      else reject(new Error(`${file} ${args.join(" ")} ended with ${code}:\n${output.slice(-2000)}`))
    })
  })

/** A server in a process of its own, which prints its address as its first line and ends with its standard input. */
export const startServer = (
  file: string,
  args: ReadonlyArray<string> = []
): Promise<{ readonly url: string; readonly stop: () => void }> =>
  new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(process.execPath, [...flags, file, ...args], {
      stdio: ["pipe", "pipe", "inherit"]
    })
    child.on("error", reject)
    child.on("close", (code) => reject(new Error(`${file} ended with ${code}`)))
    createInterface({ input: child.stdout! }).once(
      "line",
      (url) => resolve({ url, stop: () => void child.stdin?.end() })
    )
  })

/**
 * Measures each kind `repeats` times. The order is rotated from round to round, so that a machine that gets slower or
 * faster favours none.
 */
export const inTurns = async <Kind extends string, A>(
  kinds: ReadonlyArray<Kind>,
  repeats: number,
  run: (kind: Kind, repeat: number) => Promise<A>
): Promise<{ readonly [K in Kind]: ReadonlyArray<A> }> => {
  const all = Object.fromEntries(kinds.map((kind) => [kind, []])) as unknown as { [K in Kind]: Array<A> }
  for (let i = 0; i < repeats; i++) {
    for (let k = 0; k < kinds.length; k++) {
      const kind = kinds[(i + k) % kinds.length]!
      all[kind].push(await run(kind, i))
    }
  }
  return all
}

/** Keeps numbers in a folder that git ignores. */
export const keepResults = (folder: string, name: string, results: unknown): string => {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}.json`)
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
  return file
}

/** Where results go unless an option says otherwise. */
export const resultsFolder = join(import.meta.dirname, "results")
