/** Runs the example, kills it at one point, resumes it in a new process, and checks what must hold. */
import { foldPlanMode, type SessionEvent, SessionId, Sessions } from "@holdfast/core"
import { changes, defaultTask, makeProject } from "@holdfast/example-plan-and-build/Project"
import { JournalSql } from "@holdfast/journal-sql"
import { Effect, Layer, Stream } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KillPoint } from "./Killer.ts"

/** One start of the victim. */
export interface Run {
  readonly session: string
  readonly root: string
  readonly journal: string
  readonly ledger: string
  readonly create: boolean
  readonly task?: string
  readonly kill?: KillPoint
}

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: string
}

const start = (run: Run): Promise<Ended> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [
      "--conditions=source",
      join(import.meta.dirname, "victim.ts"),
      JSON.stringify(run)
    ], {
      stdio: ["ignore", "pipe", "pipe"]
    })
    const output: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk))
    child.stderr.on("data", (chunk: Buffer) => output.push(chunk))
    child.on("close", (code, signal) => resolve({ code, signal, output: Buffer.concat(output).toString() }))
  })

const readEvents = (journal: string, session: string): Promise<ReadonlyArray<SessionEvent>> =>
  Effect.runPromise(
    Effect.flatMap(Sessions, (sessions) => Stream.runCollect(sessions.read(SessionId.make(session)))).pipe(
      Effect.provide(Sessions.layer.pipe(Layer.provide(JournalSql.layerSqlite({ filename: journal }))))
    )
  )

export interface Outcome {
  readonly point: KillPoint
  /** The victim ended before it came to the point: there is no such append. */
  readonly beyond: boolean
  /** The event that was last before the kill. */
  readonly last: string
  readonly faults: ReadonlyArray<string>
}

const session = "crash"

/** The patch of a run that nobody kills: what every resumed run must come to as well. */
export const undisturbed = async (): Promise<
  { readonly patch: string; readonly events: ReadonlyArray<SessionEvent> }
> => {
  const { done, run } = await workplace()
  try {
    const ended = await start({ ...run, create: true, task: defaultTask })
    if (ended.code !== 0) throw new Error(`The example failed without being killed:\n${ended.output}`)
    return { patch: await Effect.runPromise(changes(run.root)), events: await readEvents(run.journal, session) }
  } finally {
    await done()
  }
}

const workplace = async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-crash-"))
  const root = await Effect.runPromise(makeProject)
  const run = { session, root, journal: join(folder, "sessions.db"), ledger: join(folder, "ledger") }
  const done = async () => {
    await rm(folder, { recursive: true, force: true })
    await rm(root, { recursive: true, force: true })
  }
  return { run, done }
}

/** Kills at one point, resumes, and checks. */
export const crashAt = async (point: KillPoint, expectedPatch: string): Promise<Outcome> => {
  const { done, run } = await workplace()
  try {
    const killed = await start({ ...run, create: true, task: defaultTask, kill: point })
    if (killed.signal !== "SIGKILL") return { point, beyond: true, last: "", faults: [] }
    const before = await readEvents(run.journal, session)
    const asked = ledger(run.ledger)
    const prompted = before.some((event) => event.type === "turn/start")
    const resumed = await start({ ...run, create: before.length === 0, ...(prompted ? {} : { task: defaultTask }) })
    const events = await readEvents(run.journal, session)
    const patch = await Effect.runPromise(changes(run.root))
    return {
      point,
      beyond: false,
      last: before.at(-1)?.type ?? "(nothing)",
      faults: [
        ...(resumed.code === 0 ? [] : [`the resumed run ended with ${resumed.code}:\n${resumed.output.slice(-2000)}`]),
        ...(patch === expectedPatch ? [] : [`the change is not the one of an undisturbed run:\n${patch}`]),
        ...prefixFaults(before, events),
        ...askedAgain(asked, ledger(run.ledger)),
        ...journalFaults(events)
      ]
    }
  } finally {
    await done()
  }
}

type Ledger = ReadonlyArray<readonly [what: string, id: string]>

const ledger = (file: string): Ledger =>
  existsSync(file)
    ? readFileSync(file, "utf8").trimEnd().split("\n").map((line) => line.split(" ") as [string, string])
    : []

/** A request whose answer the harness has heard of is never shown again, nor is any request id used twice. */
const askedAgain = (before: Ledger, after: Ledger): ReadonlyArray<string> => {
  const old = new Set(before.map(([, id]) => id))
  const again = after.slice(before.length).filter(([what, id]) => what === "asked" && old.has(id))
  return again.map(([, id]) => `the request ${id} was asked again under the same id`)
}

const prefixFaults = (before: ReadonlyArray<SessionEvent>, after: ReadonlyArray<SessionEvent>): ReadonlyArray<string> =>
  before.every((event, i) => JSON.stringify(event) === JSON.stringify(after[i]))
    ? []
    : ["events that were there before the resume have changed"]

/** What holds for every finished journal of this session. */
const journalFaults = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<string> => {
  const faults: Array<string> = []
  if (events.some((event, i) => event.seq !== i)) faults.push("the journal has a gap")
  const results = new Map<string, number>()
  const calls = new Set<string>()
  const consents = new Map<string, number>()
  const open = new Map<string, string>()
  for (const event of events) {
    switch (event.type) {
      case "message/assistant":
        for (const call of event.data.calls) calls.add(call.id)
        break
      case "tool/result":
        results.set(event.data.call, (results.get(event.data.call) ?? 0) + 1)
        break
      case "review/asked":
      case "approval/asked":
        open.set(event.data.request, event.data.call)
        break
      case "review/answered":
      case "approval/answered": {
        const call = open.get(event.data.request)
        if (call === undefined) faults.push(`${event.data.request} was answered twice, or never asked`)
        else if (["approved", "once", "session"].includes(event.data.outcome)) {
          consents.set(call, (consents.get(call) ?? 0) + 1)
        }
        open.delete(event.data.request)
      }
    }
  }
  for (const call of calls) if (results.get(call) !== 1) faults.push(`${call} has ${results.get(call) ?? 0} results`)
  for (const [call, count] of consents) if (count > 1) faults.push(`${call} was consented to ${count} times`)
  for (const request of open.keys()) faults.push(`${request} was never settled`)
  if (foldPlanMode(events).active) faults.push("plan mode is still on")
  return faults
}
