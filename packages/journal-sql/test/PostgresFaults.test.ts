/** A server that stops under open sessions, and writers that are killed. */
import { clockDrill, crashLoop, faultDrill, smallDisk } from "@holdfast/testing"
import { Effect, Exit, Layer, Option, Redacted } from "effect"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, test, vi } from "vitest"
import { start, stop } from "../scripts/postgres.ts"
import { JournalSql } from "../src/index.ts"
import { available, testServer } from "./support/server.ts"
import { twoProcesses } from "./support/twoProcesses.ts"

/** `HOLDFAST_KILLS=500` makes it a long run. */
const kills = Number(process.env["HOLDFAST_KILLS"] ?? 20)
const script = fileURLToPath(new URL("support/writer.ts", import.meta.url))

describe.skipIf(!available)("PostgreSQL", () => {
  const server = testServer(0)
  const layer = JournalSql.layerPostgres({ url: Redacted.make(server.url) })

  const loop = (writers: number, count: number) =>
    crashLoop({
      start: (sessions) => spawn(process.execPath, ["--conditions=source", script, server.url, ...sessions]),
      layer,
      kills: count,
      writers,
      // A connection comes before the first batch; two processes fight for their sessions besides.
      maxMillis: 400 * writers
    })

  test("a writer that is killed loses nothing that was acknowledged and leaves no half batch", async () => {
    const report = await loop(1, kills)
    assert.isAbove(report.acknowledged, kills, "the writers came to write")
  }, 20_000 + kills * 5_000)

  test("two writers on the same sessions keep out of each other's way, and so do their successors", async () => {
    const report = await loop(2, Math.ceil(kills / 4))
    assert.isAbove(report.acknowledged, 0, "the writers came to write")
  }, 20_000 + kills * 5_000)

  test("sessions that are open while the server crashes are told so, and go on when it is back", async () => {
    const { acknowledged, errors } = await faultDrill({ layer, begin: server.crash, end: server.start })
    assert.isAbove(acknowledged, 0)
    for (const error of errors) assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "append" })
  }, 60_000)

  test("a server that is away when the journal is opened is an error of the opening", async () => {
    server.crash()
    try {
      const exit = await Effect.runPromise(Effect.exit(Effect.scoped(Layer.build(layer))))
      const error = Option.getOrUndefined(Exit.findErrorOption(exit))
      assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "open", unsure: false })
    } finally {
      server.start()
    }
  }, 60_000)

  test("case 134: of two processes on one session the slower one is told so, and the log stays whole", async () => {
    await twoProcesses({ layer, place: server.url })
  }, 60_000)

  test("a clock that goes backwards changes no order: not of events, not of sessions", async () => {
    vi.useFakeTimers({ toFake: ["Date"] })
    try {
      await clockDrill({ layer, setTime: vi.setSystemTime })
    } finally {
      vi.useRealTimers()
    }
  })
})

const DISK_BYTES = 256 * 1024 * 1024
const probe = available ? smallDisk(DISK_BYTES) : undefined
probe?.dispose()

// A server of 256 MB in memory.
test.skipIf(probe === undefined)(
  "case 135: a server whose disk is full loses nothing that was acknowledged",
  async () => {
    const disk = smallDisk(DISK_BYTES)!
    const options = { folder: `${disk.path}/data`, port: 57_000 + process.pid % 1000 }
    try {
      const { url } = start(options)
      const { errors } = await faultDrill({
        layer: JournalSql.layerPostgres({ url: Redacted.make(url) }),
        begin: disk.fill,
        end: () => {
          disk.free()
          // A server that cannot write its own log stops; where it went on, this changes nothing.
          start(options)
        }
      })
      for (const error of errors) assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "append" })
    } finally {
      stop(options, "immediate")
      disk.dispose()
    }
  },
  120_000
)
