/** What goes wrong under a program that is running: each a typed error, and nothing acknowledged is lost. */
import { type Journal, SessionEvent, SessionId, Sessions } from "@holdfast/core"
import { clockDrill, faultDrill, smallDisk } from "@holdfast/testing"
import { Effect, Exit, Layer, Option, type Scope } from "effect"
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, test, vi } from "vitest"
import { JournalSql } from "../src/index.ts"
import { twoProcesses } from "./support/twoProcesses.ts"

const id = SessionId.make("s")
const said = (text: string) => SessionEvent.event("message/user", { text, source: { kind: "user" } })
const folder = () => mkdtempSync(join(tmpdir(), "holdfast-faults-"))

/** A program over the sessions of a file, and the error that it ends with. */
const run = <A>(filename: string, program: Effect.Effect<A, unknown, Sessions | Journal | Scope.Scope>) =>
  Effect.runPromise(Effect.exit(
    Effect.scoped(program).pipe(
      Effect.provide(Sessions.layer.pipe(Layer.provideMerge(JournalSql.layerSqlite({ filename }))))
    )
  ))

const errorOf = (exit: Exit.Exit<unknown, unknown>) => Option.getOrUndefined(Exit.findErrorOption(exit))
const create = (session = id) => Effect.asVoid(Effect.flatMap(Sessions, (all) => all.create({ id: session })))

const small = smallDisk(4 * 1024 * 1024)
small?.dispose()
/** Mounting a small disk needs Linux and root. */
const mounting = test.skipIf(small === undefined)

mounting("case 135: a full disk is an error of its own, and freeing it is all it takes", async () => {
  const disk = smallDisk(8 * 1024 * 1024)!
  try {
    const { acknowledged, errors } = await faultDrill({
      layer: JournalSql.layerSqlite({ filename: join(disk.path, "sessions.db") }),
      begin: disk.fill,
      end: disk.free
    })
    assert.isAbove(acknowledged, 0)
    for (const error of errors) {
      assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "append" })
      assert.match(error.message, /full/)
    }
  } finally {
    disk.dispose()
  }
})

mounting("a file on a read-only disk cannot be opened, and the error says why", async () => {
  const disk = smallDisk(2 * 1024 * 1024)!
  try {
    const filename = join(disk.path, "sessions.db")
    await run(filename, create())
    disk.makeReadOnly()
    const error = errorOf(await run(filename, create(SessionId.make("new"))))
    assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "open", unsure: false })
    assert.match((error as Error).message, /EROFS|read-?only/)
  } finally {
    disk.dispose()
  }
})

test("sessions whose files are moved away under them are told so, and go on when they are back", async () => {
  const directory = join(folder(), "data")
  mkdirSync(directory)
  const { errors } = await faultDrill({
    layer: JournalSql.layerSqlite({ filename: join(directory, "sessions.db") }),
    begin: () => renameSync(directory, `${directory}.away`),
    end: () => renameSync(`${directory}.away`, directory)
  })
  for (const error of errors) {
    assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "append", unsure: false })
    assert.include(error.message, "put it back")
  }
})

for (const ending of ["", "-wal"]) {
  test(`a journal whose file sessions.db${ending} is deleted under it takes no more`, async () => {
    const filename = join(folder(), "sessions.db")
    const exit = await run(
      filename,
      Effect.gen(function*() {
        const session = yield* (yield* Sessions).create({ id })
        rmSync(`${filename}${ending}`)
        for (;;) yield* session.transact(() => ({ events: [said("x")], value: undefined }))
      })
    )
    assert.deepInclude(errorOf(exit), { _tag: "JournalUnavailable", operation: "append", unsure: false })
    assert.include((errorOf(exit) as Error).message, `sessions.db${ending} was deleted`)
  })
}

test("case 134: of two processes on one session the slower one is told so, and the log stays whole", async () => {
  const filename = join(folder(), "sessions.db")
  await twoProcesses({ layer: JournalSql.layerSqlite({ filename }), place: filename })
})

test("a clock that goes backwards changes no order: not of events, not of sessions", async () => {
  vi.useFakeTimers({ toFake: ["Date"] })
  try {
    await clockDrill({
      layer: JournalSql.layerSqlite({ filename: join(folder(), "sessions.db") }),
      setTime: vi.setSystemTime
    })
  } finally {
    vi.useRealTimers()
  }
})
