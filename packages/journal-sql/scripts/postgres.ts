/**
 * A PostgreSQL server of our own, for tests: `node scripts/postgres.ts start | stop | status | run <command...>`.
 *
 * Installs Debian's `postgresql` when there is none (needs root), and keeps its data in a folder of its own, on a port of
 * its own (`HOLDFAST_POSTGRES_FOLDER`, `HOLDFAST_POSTGRES_PORT`). `run` starts it, runs the command with `HOLDFAST_POSTGRES_URL`
 * set, and stops it. The server flushes as a real one does, so that what is measured against it means something.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export interface PostgresServer {
  readonly url: string
  readonly folder: string
  readonly port: number
}

const INSTALLED = "/usr/lib/postgresql"
/** Next to PostgreSQL's own 5432, out of the way of a server that is already there. */
const DEFAULT_PORT = 54329

const binaries = (): string | undefined => {
  if (!existsSync(INSTALLED)) return undefined
  const newest = readdirSync(INSTALLED).map(Number).filter(Number.isFinite).sort((a, b) => b - a)[0]
  const path = join(INSTALLED, String(newest), "bin")
  return existsSync(join(path, "initdb")) ? path : undefined
}

/** Whether there is a server to start. */
export const isInstalled = (): boolean => binaries() !== undefined

const isRoot = (): boolean => process.getuid?.() === 0

const install = (): string => {
  const found = binaries()
  if (found !== undefined) return found
  if (!isRoot()) throw new Error("PostgreSQL is missing; install it, or run this script as root")
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  execFileSync("apt-get", ["update", "-q"], { env, stdio: "inherit" })
  execFileSync("apt-get", ["install", "-qy", "--no-install-recommends", "postgresql"], { env, stdio: "inherit" })
  const installed = binaries()
  if (installed === undefined) throw new Error("apt-get installed no PostgreSQL")
  return installed
}

/** PostgreSQL refuses to run as root, so it runs as the user that its package made. */
const identity = (): { readonly uid?: number; readonly gid?: number } => {
  if (!isRoot()) return {}
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))
  return { uid: id("-u"), gid: id("-g") }
}

const call = (bin: string, name: string, args: ReadonlyArray<string>): void => {
  const { status, stderr } = spawnSync(join(bin, name), args, {
    ...identity(),
    cwd: "/",
    encoding: "utf8",
    // A server that inherits a pipe keeps whoever reads it waiting.
    stdio: ["ignore", "ignore", name === "pg_ctl" ? "ignore" : "pipe"]
  })
  if (status !== 0) throw new Error(`${name} ${args.join(" ")} ended with ${status}: ${stderr ?? "see its log"}`)
}

export interface ServerOptions {
  readonly folder?: string
  readonly port?: number
}

const settings = (options: ServerOptions): PostgresServer => {
  const port = options.port ?? Number(process.env["HOLDFAST_POSTGRES_PORT"] ?? DEFAULT_PORT)
  const folder = options.folder ?? process.env["HOLDFAST_POSTGRES_FOLDER"] ??
    join(tmpdir(), `holdfast-postgres-${process.getuid?.() ?? "user"}-${port}`)
  return { folder, port, url: `postgres://postgres@127.0.0.1:${port}/postgres` }
}

const isRunning = (bin: string, folder: string): boolean =>
  existsSync(join(folder, "postmaster.pid")) &&
  spawnSync(join(bin, "pg_ctl"), ["status", "-D", folder], { ...identity(), cwd: "/" }).status === 0

/** Starts the server and waits until it answers; one that runs already is left alone. */
export const start = (options: ServerOptions = {}): PostgresServer => {
  const server = settings(options)
  const bin = install()
  if (isRunning(bin, server.folder)) return server
  mkdirSync(server.folder, { recursive: true })
  chmodSync(server.folder, 0o700)
  const { gid, uid } = identity()
  if (uid !== undefined && gid !== undefined) chownSync(server.folder, uid, gid)
  if (!existsSync(join(server.folder, "PG_VERSION"))) {
    call(bin, "initdb", ["-D", server.folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"])
  }
  const flags = `-p ${server.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${server.folder}`
  call(bin, "pg_ctl", ["start", "-w", "-D", server.folder, "-l", join(server.folder, "server.log"), "-o", flags])
  return server
}

/** Stops the server: `fast` ends its sessions in good order, `immediate` as a crash would. */
export const stop = (options: ServerOptions = {}, mode: "fast" | "immediate" = "fast"): void => {
  const { folder } = settings(options)
  const bin = binaries()
  if (bin !== undefined && isRunning(bin, folder)) call(bin, "pg_ctl", ["stop", "-w", "-m", mode, "-D", folder])
}

const main = (command: string | undefined, rest: ReadonlyArray<string>): number => {
  const say = (line: string) => process.stdout.write(`${line}\n`)
  if (command === "start") {
    say(start().url)
    return 0
  }
  if (command === "stop") {
    stop()
    return 0
  }
  if (command === "status") {
    const bin = binaries()
    const running = bin !== undefined && isRunning(bin, settings({}).folder)
    say(running ? `running at ${settings({}).url}` : "not running")
    return running ? 0 : 3
  }
  if (command === "run" && rest[0] !== undefined) {
    const { url } = start()
    try {
      const env = { ...process.env, HOLDFAST_POSTGRES_URL: url }
      return spawnSync(rest[0], rest.slice(1), { env, stdio: "inherit" }).status ?? 1
    } finally {
      stop()
    }
  }
  say("usage: postgres.ts start | stop | status | run <command...>")
  return 2
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main(process.argv[2], process.argv.slice(3))
