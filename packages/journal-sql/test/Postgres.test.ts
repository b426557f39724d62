import { journalConformance } from "@holdfast/testing"
import { Effect, Redacted } from "effect"
import { describe, test } from "vitest"
import { JournalSql } from "../src/index.ts"
import { available, testServer } from "./support/server.ts"

const external = process.env["HOLDFAST_POSTGRES_URL"]

describe.skipIf(external === undefined && !available)("PostgreSQL", () => {
  const server = external === undefined ? testServer(1) : undefined
  journalConformance(test, "PostgreSQL", {
    layer: JournalSql.layerPostgres({ url: Redacted.make(external ?? server!.url) }),
    ...(server === undefined
      ? {}
      : { fault: { begin: Effect.sync(server.crash), end: Effect.sync(server.start) } })
  })
})
