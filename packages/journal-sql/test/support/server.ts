/** A PostgreSQL server for one test file, in a folder and on a port of its own. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { isInstalled, start, stop } from "../../scripts/postgres.ts"

/** Tests install nothing: `scripts/postgres.ts start` does. */
export const available = isInstalled()

export interface TestServer {
  readonly url: string
  readonly start: () => void
  /** As a crash would stop it. */
  readonly crash: () => void
}

/** Starts a server before the tests and stops it after them. `offset` keeps files that run at the same time apart. */
export const testServer = (offset: number, folder = mkdtempSync(join(tmpdir(), "holdfast-postgres-"))): TestServer => {
  const options = { folder, port: 55_000 + offset * 1000 + process.pid % 1000 }
  const begin = () => void start(options)
  beforeAll(begin, 300_000)
  afterAll(() => {
    stop(options)
    rmSync(folder, { recursive: true, force: true })
  }, 60_000)
  return {
    url: `postgres://postgres@127.0.0.1:${options.port}/postgres`,
    start: begin,
    crash: () => stop(options, "immediate")
  }
}
