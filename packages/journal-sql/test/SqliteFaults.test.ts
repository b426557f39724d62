/** What goes wrong under a program that is running: each a typed error, and nothing acknowledged is lost. */
import { Journal, SessionEvent, SessionId, Sessions } from "@holdfast/core"
import { faultDrill, smallDisk } from "@holdfast/testing"
import { Effect, Exit, Layer, Option, type Scope, Stream } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, test, vi } from "vitest"
import { JournalSql } from "../src/index.ts"

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
  const script = fileURLToPath(new URL("support/writer.ts", import.meta.url))
  const exit = await run(
    filename,
    Effect.gen(function*() {
      const session = yield* (yield* Sessions).create({ id })
      const child = spawn(process.execPath, ["--conditions=source", script, filename, id])
      const ended = new Promise<void>((resolve) => child.on("close", () => resolve()))
      // The second line of its output is an acknowledged batch.
      yield* Effect.promise(() =>
        new Promise<void>((resolve, reject) => {
          let output = ""
          child.stdout.on("data", (chunk) => {
            output += String(chunk)
            if (output.split("\n").length > 2) resolve()
          })
          child.on("close", (code) => reject(new Error(`the writer ended with ${code}`)))
        })
      )
      const error = yield* Effect.flip(session.transact(() => ({ events: [said("late")], value: undefined })))
      assert.deepInclude(error, { _tag: "JournalConflict", session: id })
      assert.strictEqual(
        yield* Effect.flip(session.transact(() => ({ events: [said("later")], value: undefined }))),
        error,
        "the handle is dead"
      )
      child.kill("SIGKILL")
      yield* Effect.promise(() => ended)
      const stored = yield* Stream.runCollect((yield* Journal).read(id))
      assert.deepStrictEqual(stored.map(({ seq }) => seq), stored.map((_, i) => i))
      assert.deepStrictEqual(stored.filter(({ type }) => type === "message/user"), [])
    })
  )
  assert.isTrue(Exit.isSuccess(exit), String(errorOf(exit)))
})

test("a clock that goes backwards changes no order: not of events, not of sessions", async () => {
  vi.useFakeTimers({ toFake: ["Date"] })
  try {
    const filename = join(folder(), "sessions.db")
    vi.setSystemTime(2_000_000_000_000)
    await run(filename, create())
    vi.setSystemTime(1_000_000_000_000)
    await run(filename, create(SessionId.make("later")))
    const exit = await run(
      filename,
      Effect.gen(function*() {
        const sessions = yield* Sessions
        const session = yield* sessions.open(id)
        yield* session.transact(() => ({ events: [said("back")], value: undefined }))
        return [yield* Stream.runCollect(sessions.read(id)), yield* sessions.list] as const
      })
    )
    if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
    const [events, listed] = exit.value
    assert.deepStrictEqual(events.map(({ at }) => at), [2_000_000_000_000, 2_000_000_000_000])
    assert.deepStrictEqual(listed.map(({ session }) => session), [id, "later"], "the one written to last is the first")
  } finally {
    vi.useRealTimers()
  }
})
