/** Kills writers at random instants, and looks whether everything that they were promised is there. */
import { Journal, SessionId } from "@holdfast/core"
import { Effect, type Layer, Stream } from "effect"
import { deepStrictEqual, ok } from "node:assert"
import type { ChildProcess } from "node:child_process"
import { type Acknowledged, type CrashData, READY } from "./CrashWriter.ts"

export interface CrashLoopOptions {
  /**
   * Starts the writer: a program of its own that calls `crashWriter` with these sessions, with its output piped here.
   */
  readonly start: (sessions: ReadonlyArray<string>) => ChildProcess
  /** The same journal, to look at what is left. */
  readonly layer: Layer.Layer<Journal, unknown>
  readonly kills: number
  /** How many sessions a writer appends to at the same time. Default 3. */
  readonly sessions?: number
  /** How many writers run, and are killed, at the same time, all on the same sessions. Default 1. */
  readonly writers?: number
  /** How long a writer lives after it has begun to open the journal, in milliseconds, at most. Default 120. */
  readonly maxMillis?: number
}

export interface CrashReport {
  readonly kills: number
  /** Batches that were acknowledged; all of them were found. */
  readonly acknowledged: number
  /** Batches that were found although the writer died before it could say so. */
  readonly unacknowledged: number
}

/** Sessions are changed after this many kills, so that what is looked at after each does not grow without end. */
const KILLS_PER_SESSION = 20

const runOnce = (
  start: () => ChildProcess,
  maxMillis: number
): Promise<ReadonlyArray<Acknowledged>> =>
  new Promise((resolve, reject) => {
    const child = start()
    let output = ""
    let errors = ""
    let timer: NodeJS.Timeout | undefined
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text
      if (timer === undefined && output.startsWith(READY)) {
        timer = setTimeout(() => child.kill("SIGKILL"), Math.random() * maxMillis)
      }
    })
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      errors += text
    })
    child.on("error", reject)
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      if (signal !== "SIGKILL") return reject(new Error(`the writer ended with ${code ?? signal}: ${errors}`))
      const lines = output.split("\n").slice(1, -1)
      resolve(lines.map((line) => JSON.parse(line) as Acknowledged))
    })
  })

/** Fails unless the log is whole batches without a gap, with every acknowledged one in its place. */
const inspect = (session: string, acknowledged: ReadonlyArray<Acknowledged>) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const events = yield* Stream.runCollect(journal.read(SessionId.make(session)))
    const found = new Map<string, { readonly seq: number; readonly of: number }>()
    for (let at = 0; at < events.length;) {
      const { batch, of } = events[at]!.data as unknown as CrashData
      for (let index = 0; index < of; index++) {
        const event = events[at + index]
        ok(event !== undefined, `${session}: batch ${batch} at ${at} ends after ${index} of ${of} events`)
        const { batch: name, index: place, of: size } = event.data as unknown as CrashData
        deepStrictEqual([event.seq, name, place, size], [at + index, batch, index, of], session)
      }
      found.set(batch, { seq: at, of })
      at += of
    }
    for (const { batch, of, seq } of acknowledged) {
      deepStrictEqual(found.get(batch), { seq, of }, `${session}: batch ${batch} was acknowledged at ${seq}`)
    }
    return found.size
  })

/** Runs the loop. The promise is rejected with an `AssertionError` when something was lost or torn. */
export const crashLoop = async (options: CrashLoopOptions): Promise<CrashReport> => {
  const { kills, layer, maxMillis = 120, sessions = 3, start, writers = 1 } = options
  const prefix = `crash-${crypto.randomUUID()}`
  const known = new Map<string, Array<Acknowledged>>()
  const counts = new Map<string, number>()
  const look = (names: ReadonlyArray<string>) =>
    Effect.runPromise(Effect.provide(
      Effect.forEach(names, (name) =>
        Effect.map(inspect(name, known.get(name) ?? []), (count) => counts.set(name, count))),
      layer
    ))
  for (let kill = 0; kill < kills; kill++) {
    const names = Array.from({ length: sessions }, (_, i) => `${prefix}-${Math.floor(kill / KILLS_PER_SESSION)}-${i}`)
    const runs = await Promise.all(Array.from({ length: writers }, () => runOnce(() => start(names), maxMillis)))
    for (const entry of runs.flat()) known.set(entry.session, [...(known.get(entry.session) ?? []), entry])
    await look(names)
  }
  await look([...known.keys()])
  const acknowledged = [...known.values()].reduce((total, entries) => total + entries.length, 0)
  const batches = [...counts.values()].reduce((total, count) => total + count, 0)
  return { kills: kills * writers, acknowledged, unacknowledged: batches - acknowledged }
}
