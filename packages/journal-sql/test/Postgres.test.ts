import { journalConformance } from "@holdfast/testing"
import { Effect, Redacted } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, test } from "vitest"
import { isInstalled, start, stop } from "../scripts/postgres.ts"
import { JournalSql } from "../src/index.ts"

const external = process.env["HOLDFAST_POSTGRES_URL"]
const server = { folder: mkdtempSync(join(tmpdir(), "holdfast-postgres-")), port: 54330 + process.pid % 1000 }

/** Tests install nothing: `scripts/postgres.ts start` does. */
const available = external !== undefined || isInstalled()

describe.skipIf(!available)("PostgreSQL", () => {
  beforeAll(() => {
    if (external === undefined) start(server)
  }, 300_000)
  afterAll(() => {
    if (external === undefined) stop(server)
    rmSync(server.folder, { recursive: true, force: true })
  })

  const url = external ?? `postgres://postgres@127.0.0.1:${server.port}/postgres`
  journalConformance(test, "PostgreSQL", {
    layer: JournalSql.layerPostgres({ url: Redacted.make(url) }),
    ...(external === undefined
      ? { fault: { begin: Effect.sync(() => stop(server, "immediate")), end: Effect.sync(() => void start(server)) } }
      : {})
  })
})
