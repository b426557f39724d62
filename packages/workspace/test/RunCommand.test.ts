import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { mkdir, realpath, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type CommandOptions, CommandTools, Workspace } from "../src/index.ts"
import { call, caller, previewOf, put, temporaryFolder, tools } from "./support.ts"

const workspace = (root: string, options: CommandOptions = {}) =>
  tools(CommandTools.layer(options)).pipe(Layer.provide(Workspace.layer({ root })))

/** Processes that have `mark` in their environment. */
const marked = (mark: string): ReadonlyArray<number> =>
  readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).map(Number).filter((id) => {
    try {
      return readFileSync(`/proc/${id}/environ`, "latin1").includes(mark)
    } catch {
      return false
    }
  })

const waitFor = (condition: () => boolean, millis = 5000) =>
  Effect.promise(async () => {
    const stop = Date.now() + millis
    while (!condition()) {
      if (Date.now() > stop) throw new Error("it did not come true")
      await sleep(10)
    }
  })

/** Whether a file stops changing: its size is looked at twice. */
const grows = (file: string) =>
  Effect.promise(async () => {
    const before = existsSync(file) ? statSync(file).size : 0
    await sleep(400)
    return (existsSync(file) ? statSync(file).size : 0) !== before
  })

/** A shell that starts a grandchild which writes every 50 ms and does not listen to SIGTERM. */
const stubborn = "sh -c \"trap '' TERM; while :; do echo x >> ticks; sleep 0.05; done\" & sleep 600"

describe("run_command", () => {
  it.live("shows output and exit code; a failing command is an ordinary result", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* Effect.gen(function*() {
        const me = caller()
        const good = yield* call(me, "run_command", { command: "echo out; echo err >&2; pwd" })
        assert.deepStrictEqual(good.text, `out\nerr\n${root}\n\n(Exit code 0, in under a second.)`)
        const bad = yield* call(me, "run_command", { command: "exit 3" })
        assert.isTrue(bad.ok)
        assert.strictEqual(bad.text, "(No output.)\n\n(Exit code 3, in under a second.)")
        const signalled = yield* call(me, "run_command", { command: "kill -9 $$" })
        assert.strictEqual(signalled.text, "(No output.)\n\n(Ended by signal SIGKILL, in under a second.)")
      }).pipe(Effect.provide(workspace(root)))
    }))

  it.live("gives no input and no terminal", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* Effect.gen(function*() {
        const ran = yield* call(caller(), "run_command", { command: "cat; test -t 0 || test -t 1 || echo none" })
        assert.match(ran.text, /^none\n/)
      }).pipe(Effect.provide(workspace(root)))
    }))

  it.live("runs in the session's own folder where it has one", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* put(root, { "child/a": "" })
      yield* Effect.gen(function*() {
        const child = caller({ cwd: join(root, "child") })
        const ran = yield* call(child, "run_command", { command: "ls" })
        assert.match(ran.text, /^a\n/)
        assert.deepStrictEqual(yield* previewOf(child, "run_command", { command: "ls" }), {
          kind: "command",
          command: "ls",
          cwd: join(root, "child")
        })
      }).pipe(Effect.provide(workspace(root)))
    }))

  it.live("keeps secrets of the harness to itself", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      process.env["HOLDFAST_TEST_API_KEY"] = "hush"
      process.env["HOLDFAST_TEST_URL"] = "postgres://me:hush@host/db"
      process.env["HOLDFAST_TEST_TOKEN"] = "allowed"
      process.env["HOLDFAST_TEST_PLAIN"] = "seen"
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const name of ["API_KEY", "URL", "TOKEN", "PLAIN"]) delete process.env[`HOLDFAST_TEST_${name}`]
        })
      )
      yield* Effect.gen(function*() {
        const ran = yield* call(caller(), "run_command", { command: "env | grep HOLDFAST_TEST | sort" })
        assert.match(ran.text, /^HOLDFAST_TEST_PLAIN=seen\nHOLDFAST_TEST_TOKEN=allowed\n\n/)
      }).pipe(Effect.provide(workspace(root, { environment: { allow: ["HOLDFAST_TEST_TOKEN"] } })))
    }))

  it.live("case 99: a time-out ends the grandchildren too", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* Effect.gen(function*() {
        const ran = yield* call(caller(), "run_command", { command: stubborn, timeout_seconds: 1 })
        assert.isTrue(ran.ok)
        assert.match(ran.text, /Timed out: the command was ended after 1 second with everything it had started/)
        assert.isFalse(yield* grows(join(root, "ticks")))
      }).pipe(Effect.provide(workspace(root, { graceMillis: 300 })))
    }))

  it.live("cases 99, 100: an interrupted call is over only when its processes are", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      const mark = `HOLDFAST_TEST_MARK=${root}`
      yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(call(caller(), "run_command", { command: stubborn }))
        yield* waitFor(() => existsSync(join(root, "ticks")))
        assert.isAbove(marked(mark).length, 1)
        const begun = Date.now()
        yield* Fiber.interrupt(fiber)
        assert.isBelow(Date.now() - begun, 2000)
        assert.deepStrictEqual(marked(mark), [])
        assert.isFalse(yield* grows(join(root, "ticks")))
      }).pipe(
        Effect.provide(workspace(root, { graceMillis: 300, environment: { set: { HOLDFAST_TEST_MARK: root } } }))
      )
    }))

  it.live("case 99: closing the workspace ends what runs in it", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      const mark = `HOLDFAST_TEST_MARK=${root}`
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(
        workspace(root, { graceMillis: 300, environment: { set: { HOLDFAST_TEST_MARK: root } } }),
        scope
      )
      const fiber = yield* Effect.forkChild(
        call(caller(), "run_command", { command: stubborn }).pipe(Effect.provideContext(context))
      )
      yield* waitFor(() => existsSync(join(root, "ticks")))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(marked(mark), [])
      const ran = yield* Fiber.join(fiber)
      assert.strictEqual(ran.tag, "Disposed")
    }))

  it.live("case 99: a process that has left the group is found and ended", () =>
    Effect.gen(function*() {
      if (process.platform !== "linux") return
      const root = yield* temporaryFolder
      const mark = `HOLDFAST_TEST_MARK=${root}`
      yield* Effect.gen(function*() {
        const command = "setsid sh -c 'while :; do echo x >> ticks; sleep 0.05; done' & sleep 600"
        const fiber = yield* Effect.forkChild(call(caller(), "run_command", { command }))
        yield* waitFor(() => existsSync(join(root, "ticks")))
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(marked(mark), [])
      }).pipe(Effect.provide(workspace(root, { environment: { set: { HOLDFAST_TEST_MARK: root } } })))
    }))

  it.live("case 101: returns when the shell ends, though a background process holds the pipe", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      const mark = `HOLDFAST_TEST_MARK=${root}`
      yield* Effect.gen(function*() {
        const begun = Date.now()
        const ran = yield* call(caller(), "run_command", { command: "sleep 600 & echo done" })
        assert.isBelow(Date.now() - begun, 1000)
        assert.match(ran.text, /^done\n\n/)
        assert.match(ran.text, /its output may be incomplete/)
        assert.deepStrictEqual(marked(mark), [])
      }).pipe(Effect.provide(workspace(root, { environment: { set: { HOLDFAST_TEST_MARK: root } } })))
    }))

  it.live("a background process that says nothing and ends is no reason to wait or to complain", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* Effect.gen(function*() {
        const ran = yield* call(caller(), "run_command", { command: "true & wait; echo done" })
        assert.strictEqual(ran.text, "done\n\n(Exit code 0, in under a second.)")
      }).pipe(Effect.provide(workspace(root)))
    }))

  it.live("a flood of 300 MB is cut at both ends and does not fill the memory", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* Effect.gen(function*() {
        const me = caller()
        const before = process.memoryUsage().rss
        const ran = yield* call(me, "run_command", {
          command: "echo first; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo last"
        })
        assert.isBelow(process.memoryUsage().rss - before, 120_000_000)
        assert.isAtMost(ran.text.length, 30_000)
        assert.match(ran.text, /^first\nx+\n\n\[\.\.\. \d+ characters cut \.\.\.\]\n\nx+\nlast\n\n/)
        assert.match(ran.text, /A larger part of the output is in kept\/call_\d+\.txt/)
        const kept = [...me.kept.values()][0]!
        assert.isBelow(kept.length, 8_100_000)
        assert.isAbove(kept.length, 7_900_000)
      }).pipe(Effect.provide(workspace(root)))
    }))

  it.live("output that is cut for the model is kept whole", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* Effect.gen(function*() {
        const me = caller()
        const ran = yield* call(me, "run_command", { command: "seq 1 20000" })
        assert.match(ran.text, /The whole output is in kept\//)
        assert.strictEqual([...me.kept.values()][0], Array.from({ length: 20000 }, (_, n) => `${n + 1}\n`).join(""))
      }).pipe(Effect.provide(workspace(root)))
    }))

  it.live("after SIGKILL of the harness its processes end by themselves", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* Effect.promise(async () => {
        await mkdir(join(root, "work"))
        await writeFile(
          join(root, "harness.mjs"),
          `
          import { startGroup } from ${JSON.stringify(new URL("../src/ProcessGroup.ts", import.meta.url).href)}
          await startGroup({ command: ${
            JSON.stringify(stubborn)
          }, shell: "/bin/sh", cwd: process.argv[2], env: { ...process.env, HOLDFAST_TEST_MARK: process.argv[2] }, mark: "m", graceMillis: 300 })
          setInterval(() => {}, 1000)
        `
        )
      })
      const work = yield* Effect.promise(() => realpath(join(root, "work")))
      const harness = spawn(process.execPath, [join(root, "harness.mjs"), work], { stdio: "inherit" })
      const gone = new Promise((resolve) => harness.once("exit", resolve))
      yield* waitFor(() => existsSync(join(work, "ticks")))
      harness.kill("SIGKILL")
      yield* Effect.promise(() => gone)
      yield* waitFor(() => marked(`HOLDFAST_TEST_MARK=${work}`).length === 0, 2000)
      assert.isFalse(yield* grows(join(work, "ticks")))
    }))
})
