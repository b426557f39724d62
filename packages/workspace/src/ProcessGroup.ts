/**
 * A shell command in a process group of its own, which is ended as a whole, and which ends by itself when the harness
 * dies.
 *
 * The command's shell waits on a pipe until a watcher runs beside it. The watcher, in a session of its own, reads a pipe
 * that only the harness holds open: a line says that the command is over; the end of the pipe says that the harness is
 * gone, and the watcher ends the group. The kernel closes the pipe whatever the harness dies of.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { readdir, readFile } from "node:fs/promises"
import type { Readable, Writable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"

// Standard error goes where standard output goes, so that the two keep their order.
const STARTER = `read -r HOLDFAST_GO <&3 || exit 125; unset HOLDFAST_GO; exec 3<&-; exec "$1" -c "$2" 2>&1`
const WATCHER = `read -r HOLDFAST_END && exit 0; kill -s TERM -- "-$1"; sleep "$2"; kill -s KILL -- "-$1"`

/** Marks every process of a call, so that one that has left the group can still be found (on Linux). */
const MARKER = "HOLDFAST_CALL_MARK"

export interface GroupOptions {
  readonly command: string
  readonly shell: string
  readonly cwd: string
  readonly env: { readonly [name: string]: string }
  /** Unique for this group. */
  readonly mark: string
  /** Milliseconds between asking the group to end and ending it. */
  readonly graceMillis: number
}

/** How the shell ended. */
export interface ShellExit {
  readonly code: number | null
  readonly signal: string | null
}

export interface ProcessGroup {
  readonly output: Readable
  readonly exited: Promise<ShellExit>
  /** Whether any process of the group still runs. */
  readonly alive: () => Promise<boolean>
  /** Ends every process of the group; the number of those that could not be ended. */
  readonly end: () => Promise<number>
  /** Sends the watcher home; the group is over or has been ended. */
  readonly release: () => void
}

const failed = (child: ChildProcess): Promise<Error> => new Promise((resolve) => child.once("error", resolve))

/** Starts a command. Fails with the error of the operating system if a process cannot be started. */
export const startGroup = async (options: GroupOptions): Promise<ProcessGroup> => {
  const child = spawn("/bin/sh", ["-c", STARTER, "holdfast", options.shell, options.command], {
    cwd: options.cwd,
    env: { ...options.env, [MARKER]: options.mark },
    detached: true,
    stdio: ["ignore", "pipe", "ignore", "pipe"]
  })
  const exited = new Promise<ShellExit>((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })))
  const broken = failed(child)
  if (child.pid === undefined) throw await broken
  const id = child.pid
  const go = child.stdio[3] as Writable
  // The shell may be gone before it has been told to go.
  go.on("error", () => undefined)
  const watcher = spawn("/bin/sh", ["-c", WATCHER, "holdfast", String(id), String(options.graceMillis / 1000)], {
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"]
  })
  const unwatched = failed(watcher)
  if (watcher.pid === undefined) {
    go.destroy()
    throw await unwatched
  }
  watcher.stdin.on("error", () => undefined)
  watcher.unref()
  go.end("go\n")
  return {
    output: child.stdout as Readable,
    exited,
    alive: () => isAlive(id),
    end: () => endGroup(id, options),
    release: () => void watcher.stdin.end("over\n")
  }
}

const signalGroup = (id: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(-id, signal)
    return true
  } catch (error) {
    // EPERM: a process of the group belongs to somebody else by now; it is there.
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

const isAlive = async (id: number): Promise<boolean> => {
  if (!signalGroup(id, 0)) return false
  if (process.platform !== "linux") return true
  // Ended processes that nobody has waited for still count as members for a signal, for ever where process 1 does not
  // wait for strangers (many containers).
  return (await processes()).some((process) => process.group === id)
}

interface Running {
  readonly id: number
  readonly group: number
}

// Linux only. A line of /proc/<id>/stat is `id (name) state parent group ...`, and the name can hold anything.
const processes = async (): Promise<ReadonlyArray<Running>> => {
  const found: Array<Running> = []
  for (const entry of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue
    const line = await readFile(`/proc/${entry}/stat`, "latin1").catch(() => "")
    const [state, , group] = line.slice(line.lastIndexOf(")") + 2).split(" ")
    if (state === undefined || state === "" || state === "Z" || state === "X") continue
    found.push({ id: Number(entry), group: Number(group) })
  }
  return found
}

// Processes that have left the group (`setsid`) carry the mark in their environment.
const strays = async (options: GroupOptions): Promise<ReadonlyArray<number>> => {
  if (process.platform !== "linux") return []
  const found: Array<number> = []
  for (const { id } of await processes()) {
    const environment = await readFile(`/proc/${id}/environ`, "latin1").catch(() => "")
    if (environment.split("\0").includes(`${MARKER}=${options.mark}`)) found.push(id)
  }
  return found
}

const killOne = (id: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(id, signal)
  } catch {
    // Gone already, or not ours to end; who is left is counted afterwards.
  }
}

const endGroup = async (id: number, options: GroupOptions): Promise<number> => {
  const left = async () => (await strays(options)).length + (await isAlive(id) ? 1 : 0)
  signalGroup(id, "SIGTERM")
  for (const stray of await strays(options)) killOne(stray, "SIGTERM")
  const patience = Date.now() + options.graceMillis
  while (Date.now() < patience) {
    if (await left() === 0) return 0
    await sleep(20)
  }
  signalGroup(id, "SIGKILL")
  for (const stray of await strays(options)) killOne(stray, "SIGKILL")
  // A killed process is gone within milliseconds unless the kernel holds it (a hanging network disk).
  const deadline = Date.now() + 1000
  while (Date.now() < deadline) {
    if (await left() === 0) return 0
    await sleep(20)
  }
  return left()
}
