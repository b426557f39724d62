/** What goes wrong under a program that is running: each a typed error, and nothing acknowledged is lost. */
import { Journal, SessionEvent, SessionId, Sessions } from "@holdfast/core"
import { acknowledged, clockDrill, faultDrill, killed, smallDisk } from "@holdfast/testing"
import { Effect, Exit, Layer, Option, type Scope, Stream } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, test, vi } from "vitest"
import { JournalFile } from "../src/index.ts"

const id = SessionId.make("s")
const said = (text: string) => SessionEvent.event("message/user", { text, source: { kind: "user" } })
const folder = () => mkdtempSync(join(tmpdir(), "holdfast-faults-"))
const sessions = (directory: string) => Sessions.layer.pipe(Layer.provideMerge(JournalFile.layer({ directory })))

/** A program over the sessions of a folder, and the error that it ends with. */
const run = <A>(
  directory: string,
  program: Effect.Effect<A, unknown, Sessions | Journal | Scope.Scope>
) => Effect.runPromise(Effect.exit(Effect.scoped(program).pipe(Effect.provide(sessions(directory)))))

const errorOf = (exit: Exit.Exit<unknown, unknown>) => Option.getOrUndefined(Exit.findErrorOption(exit))

const write = (text: string) =>
  Effect.gen(function*() {
    const session = yield* (yield* Sessions).open(id)
    yield* session.transact(() => ({ events: [said(text)], value: undefined }))
  })

const create = Effect.asVoid(Effect.flatMap(Sessions, (all) => all.create({ id })))

const small = smallDisk(4 * 1024 * 1024)
small?.dispose()
/** Mounting a small disk needs Linux and root. */
const mounting = test.skipIf(small === undefined)

mounting(
  "case 135: a full disk is an error of its own, half lines are taken back, and freeing it is all it takes",
  async () => {
    const disk = smallDisk(4 * 1024 * 1024)!
    try {
      const directory = join(disk.path, "sessions")
      const { acknowledged, errors } = await faultDrill({
        layer: JournalFile.layer({ directory }),
        begin: disk.fill,
        end: disk.free
      })
      assert.isAbove(acknowledged, 0)
      for (const error of errors) {
        assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "append", unsure: false })
        assert.include(error.message, "ENOSPC")
      }
      for (const name of readdirSync(directory)) {
        const text = readFileSync(join(directory, name, "events.jsonl"), "utf8")
        for (const line of text.trimEnd().split("\n")) JSON.parse(line)
        assert.isTrue(text.endsWith("\n"), "no half line is left behind")
      }
    } finally {
      disk.dispose()
    }
  }
)

mounting("a session that the disk has no room to begin leaves nothing behind", async () => {
  const disk = smallDisk(1024 * 1024)!
  try {
    const directory = join(disk.path, "sessions")
    mkdirSync(directory)
    disk.fill()
    const error = errorOf(await run(directory, create))
    assert.propertyVal(error, "_tag", "JournalUnavailable")
    disk.free()
    assert.deepStrictEqual(readdirSync(directory), [])
    assert.isTrue(Exit.isSuccess(await run(directory, create)))
  } finally {
    disk.dispose()
  }
})

mounting("a read-only folder can be read, and says so to whoever wants to write", async () => {
  const disk = smallDisk(1024 * 1024)!
  try {
    const directory = join(disk.path, "sessions")
    await run(directory, create)
    await run(directory, write("before"))
    disk.makeReadOnly()
    const error = errorOf(await run(directory, write("after")))
    assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "open a session", unsure: false })
    assert.match(String((error as Error).message), /EROFS|read-only/)
    const fresh = await run(directory, Effect.flatMap(Sessions, (all) => all.create({ id: SessionId.make("new") })))
    assert.propertyVal(errorOf(fresh), "_tag", "JournalUnavailable")
    const read = await run(
      directory,
      Effect.flatMap(Sessions, (all) => Effect.all([Stream.runCollect(all.read(id)), all.list]))
    )
    assert.isTrue(Exit.isSuccess(read))
    if (Exit.isSuccess(read)) assert.deepStrictEqual([read.value[0].length, read.value[1].length], [2, 1])
  } finally {
    disk.dispose()
  }
})

test("sessions whose folder is moved away under them are told so, and go on when it is back", async () => {
  const directory = join(folder(), "sessions")
  const { errors } = await faultDrill({
    layer: JournalFile.layer({ directory }),
    begin: () => renameSync(directory, `${directory}.away`),
    end: () => renameSync(`${directory}.away`, directory)
  })
  for (const error of errors) {
    assert.deepInclude(error, { _tag: "JournalUnavailable", operation: "append", unsure: false })
    assert.include(error.message, "put it back")
  }
})

for (const [name, of] of [["log", "events.jsonl"], ["folder", ""]] as const) {
  test(`a session whose ${name} is deleted under it takes no more, and its name is free once it is closed`, async () => {
    const directory = folder()
    const exit = await run(
      directory,
      Effect.gen(function*() {
        const session = yield* (yield* Sessions).create({ id })
        rmSync(join(directory, "s", of), { recursive: true })
        for (;;) yield* session.transact(() => ({ events: [said("x")], value: undefined }))
      })
    )
    assert.deepInclude(errorOf(exit), { _tag: "JournalUnavailable", operation: "append", unsure: false })
    assert.isTrue(Exit.isSuccess(await run(directory, create)))
    assert.isTrue(Exit.isSuccess(await run(directory, write("again"))))
  })
}

test("case 134: a second process is kept out, also through a symbolic link, and a killed owner's lock is free", async () => {
  const directory = folder()
  const link = join(folder(), "link")
  symlinkSync(directory, link)
  const script = fileURLToPath(new URL("support/writer.ts", import.meta.url))
  const child = spawn(process.execPath, ["--conditions=source", script, directory, id])
  try {
    // By then the process owns the session.
    await acknowledged(child)
    for (const path of [directory, link]) {
      const error = errorOf(await run(path, Effect.flatMap(Journal, (journal) => journal.writer(id))))
      assert.deepInclude(error, { _tag: "JournalConflict", session: id })
      assert.include((error as Error).message, "another program")
    }
  } finally {
    await killed(child)
  }
  const free = await run(link, Effect.flatMap(Journal, (journal) => journal.writer(id)))
  assert.isTrue(Exit.isSuccess(free), "SIGKILL leaves no lock behind")
})

test("a clock that goes backwards changes no order: not of events, not of sessions", async () => {
  vi.useFakeTimers({ toFake: ["Date"] })
  try {
    await clockDrill({ layer: JournalFile.layer({ directory: folder() }), setTime: vi.setSystemTime })
  } finally {
    vi.useRealTimers()
  }
})

test("a session that was opened and never written to leaves no folder behind", async () => {
  const directory = folder()
  await run(directory, Effect.flatMap(Journal, (journal) => journal.writer(id)))
  assert.isFalse(existsSync(join(directory, "s")))
  const missing = errorOf(await run(directory, Effect.flatMap(Sessions, (all) => all.open(id))))
  assert.propertyVal(missing, "_tag", "SessionNotFound")
  assert.deepStrictEqual(readdirSync(directory), [])
})

test("a writer that the program's end closes leaves no folder behind either", async () => {
  const directory = folder()
  await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const context = yield* Layer.build(JournalFile.layer({ directory }))
    yield* Effect.provideContext(Effect.flatMap(Journal, (journal) => journal.writer(id)), context)
  })))
  assert.deepStrictEqual(readdirSync(directory), [])
})
