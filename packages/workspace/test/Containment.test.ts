import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { writeAtomic } from "../src/AtomicWrite.ts"
import { locate, openFile } from "../src/Containment.ts"
import { carryOut, planDeletion } from "../src/Deletion.ts"
import { EditTools, ReadTools, Workspace, type WorkspaceOptions } from "../src/index.ts"
import { call, caller, put, temporaryFolder, tools } from "./support.ts"

const open = (root: string, options: Omit<WorkspaceOptions, "root"> = {}) =>
  tools(ReadTools.layer, EditTools.layer).pipe(Layer.provide(Workspace.layer({ root, ...options })))

/** A root with a neighbour that holds a secret. */
const world = Effect.gen(function*() {
  const folder = yield* temporaryFolder
  yield* put(folder, { "root/src/a.ts": "inside\n", "outside/secret.txt": "secret\n", "root-2/near.txt": "secret\n" })
  return { root: join(folder, "root"), outside: join(folder, "outside"), folder }
})

describe("containment", () => {
  it.live("case 118: no spelling leads out", () =>
    Effect.gen(function*() {
      const { folder, outside, root } = yield* world
      symlinkSync(outside, join(root, "link"))
      symlinkSync(join(outside, "secret.txt"), join(root, "file-link"))
      symlinkSync("../../outside", join(root, "src/up"))
      const paths = [
        "../outside/secret.txt",
        join(outside, "secret.txt"),
        "src/../../outside/secret.txt",
        "link/secret.txt",
        "./link/../link/secret.txt",
        "file-link",
        "src/up/secret.txt",
        "../root-2/near.txt",
        join(folder, "root-2/near.txt"),
        "/etc/passwd",
        "/proc/self/environ",
        "/dev/stdin",
        "../outside/absent.txt",
        "/nowhere/at/all"
      ]
      yield* Effect.gen(function*() {
        for (const path of paths) {
          for (
            const [tool, args] of [
              ["read_file", { path }],
              ["write_file", { path, content: "x" }],
              ["edit_file", { path, old_string: "secret", new_string: "x" }]
            ] as const
          ) {
            const ran = yield* call(caller(), tool, args)
            assert.strictEqual(ran.tag, "OutsideWorkspace", `${tool} ${path}`)
            assert.notInclude(ran.text, "secret\n")
          }
        }
        for (const path of ["link", "src/up", "..", "/etc"]) {
          for (const tool of ["list_dir", "grep", "glob"]) {
            const ran = yield* call(caller(), tool, { path, pattern: "e" })
            assert.strictEqual(ran.tag, "OutsideWorkspace", `${tool} ${path}`)
          }
        }
        for (const path of ["link/secret.txt", "..", "../outside", join(outside, "secret.txt")]) {
          const ran = yield* call(caller(), "delete_path", { path, recursive: true })
          assert.strictEqual(ran.tag, "OutsideWorkspace", path)
        }
        assert.strictEqual(readFileSync(join(outside, "secret.txt"), "utf8"), "secret\n")
      }).pipe(Effect.provide(open(root)))
    }))

  it.live("case 118: nothing is created through a link, whether its target exists or not", () =>
    Effect.gen(function*() {
      const { outside, root } = yield* world
      symlinkSync(outside, join(root, "link"))
      symlinkSync(join(outside, "absent.txt"), join(root, "broken"))
      yield* Effect.gen(function*() {
        const below = yield* call(caller(), "write_file", { path: "link/new/deep.txt", content: "x" })
        assert.strictEqual(below.tag, "OutsideWorkspace")
        const through = yield* call(caller(), "write_file", { path: "broken", content: "x" })
        assert.strictEqual(through.tag, "WrongKind")
        assert.isFalse(existsSync(join(outside, "new")))
        assert.isFalse(existsSync(join(outside, "absent.txt")))
      }).pipe(Effect.provide(open(root)))
    }))

  it.live("case 118: in a session with a folder of its own, the main checkout is outside, and the mapped path is named", () =>
    Effect.gen(function*() {
      const { folder, root } = yield* world
      yield* put(folder, { "worktree/src/a.ts": "mine\n" })
      const child = caller({ cwd: join(folder, "worktree") })
      yield* Effect.gen(function*() {
        const path = join(root, "src/a.ts")
        for (
          const [tool, args] of [
            ["read_file", { path }],
            ["write_file", { path, content: "x" }],
            ["delete_path", { path }]
          ] as const
        ) {
          const ran = yield* call(child, tool, args)
          assert.strictEqual(ran.tag, "OutsideWorkspace")
          assert.include(ran.text, "\"src/a.ts\"")
        }
        assert.strictEqual((yield* call(child, "read_file", { path: "src/a.ts" })).text, "mine")
        assert.strictEqual(readFileSync(path, "utf8"), "inside\n")
      }).pipe(Effect.provide(open(root)))
    }))

  it.live("case 21: one file is one file, however it is addressed", () =>
    Effect.gen(function*() {
      const { root } = yield* world
      symlinkSync("src", join(root, "alias"))
      symlinkSync("src/a.ts", join(root, "shortcut.ts"))
      yield* Effect.gen(function*() {
        const spellings = [
          "./src/a.ts",
          "src/../src/a.ts",
          "alias/a.ts",
          "shortcut.ts",
          join(root, "src/a.ts"),
          "src//a.ts"
        ]
        for (const path of spellings) {
          const me = caller()
          const read = yield* call(me, "read_file", { path })
          assert.strictEqual((read.facts["workspace.read"] as { readonly path: string }).path, "src/a.ts")
          // Read under one name, changed under another.
          const edited = yield* call(me, "edit_file", {
            path: "src/a.ts",
            old_string: "inside",
            new_string: "inside "
          })
          assert.isTrue(edited.ok, path)
          yield* call(me, "edit_file", { path, old_string: "inside ", new_string: "inside" })
        }
        assert.isTrue(lstatSync(join(root, "shortcut.ts")).isSymbolicLink())
      }).pipe(Effect.provide(open(root)))
    }))

  it.live("a link is deleted as a link", () =>
    Effect.gen(function*() {
      const { outside, root } = yield* world
      symlinkSync(outside, join(root, "link"))
      mkdirSync(join(root, "folder"))
      symlinkSync(outside, join(root, "folder/link"))
      yield* Effect.gen(function*() {
        assert.isTrue((yield* call(caller(), "delete_path", { path: "link", recursive: true })).ok)
        assert.isTrue((yield* call(caller(), "delete_path", { path: "folder", recursive: true })).ok)
        assert.isFalse(existsSync(join(root, "folder")))
        assert.strictEqual(readFileSync(join(outside, "secret.txt"), "utf8"), "secret\n")
      }).pipe(Effect.provide(open(root)))
    }))

  it.live("the workspace folder itself is not deleted", () =>
    Effect.gen(function*() {
      const { root } = yield* world
      yield* Effect.gen(function*() {
        for (const path of [".", root, "src/.."]) {
          const ran = yield* call(caller(), "delete_path", { path, recursive: true })
          assert.strictEqual(ran.tag, "WrongKind", path)
        }
        assert.isTrue(existsSync(join(root, "src/a.ts")))
      }).pipe(Effect.provide(open(root)))
    }))

  it.live(".git is not changed by file tools, in any spelling", () =>
    Effect.gen(function*() {
      const { root } = yield* world
      yield* put(root, { ".git/config": "[core]\n", "sub/.git/hooks/x": "" })
      symlinkSync(".git", join(root, "g"))
      yield* Effect.gen(function*() {
        for (
          const path of [".git/config", "g/config", "./src/../.git/hooks/pre-commit", "sub/.git/hooks/x", ".GIT/config"]
        ) {
          const ran = yield* call(caller(), "write_file", { path, content: "x" })
          assert.strictEqual(ran.tag, "ProtectedPath", path)
        }
        assert.strictEqual(
          (yield* call(caller(), "delete_path", { path: ".git", recursive: true })).tag,
          "ProtectedPath"
        )
        assert.isTrue((yield* call(caller(), "read_file", { path: ".git/config" })).ok)
      }).pipe(Effect.provide(open(root)))
    }))

  it.live("readable folders can be read and not written", () =>
    Effect.gen(function*() {
      const { outside, root } = yield* world
      yield* Effect.gen(function*() {
        const path = join(outside, "secret.txt")
        assert.strictEqual((yield* call(caller(), "read_file", { path })).text, "secret")
        assert.match((yield* call(caller(), "grep", { path, pattern: "sec" })).text, /secret\.txt:1:secret$/)
        assert.strictEqual((yield* call(caller(), "write_file", { path, content: "x" })).tag, "OutsideWorkspace")
      }).pipe(Effect.provide(open(root, { readable: [outside] })))
    }))

  it.live("pipes and devices are not waited for", () =>
    Effect.gen(function*() {
      const { root } = yield* world
      yield* Effect.promise(() => new Promise((done) => spawn("mkfifo", [join(root, "pipe")]).once("exit", done)))
      yield* Effect.gen(function*() {
        assert.strictEqual((yield* call(caller(), "read_file", { path: "pipe" })).tag, "WrongKind")
        assert.strictEqual((yield* call(caller(), "write_file", { path: "pipe", content: "" })).tag, "WrongKind")
      }).pipe(Effect.provide(open(root)))
    }))

  it.live("case 118: a folder that has become a link after the check is not gone through", () =>
    Effect.gen(function*() {
      const { outside, root } = yield* world
      yield* put(root, { "swap/secret.txt": "inside\n" })
      const bounds = { root, readable: [], protect: [] }
      yield* Effect.promise(async () => {
        const place = await locate(bounds, "swap/secret.txt", "write")
        const fresh = await locate(bounds, "swap/new.txt", "write")
        const removal = await planDeletion(bounds, "swap", await locate(bounds, "swap", "remove"), true)
        renameSync(join(root, "swap"), join(root, "before"))
        symlinkSync(outside, join(root, "swap"))
        const refused = (work: Promise<unknown>) => work.then(() => assert.fail("it went through"), (error) => error)
        assert.strictEqual((await refused(openFile(bounds, "p", place)))._tag, "OutsideWorkspace")
        await refused(writeAtomic(bounds, "p", fresh, Buffer.from("x"), undefined))
        await refused(writeAtomic(bounds, "p", place, Buffer.from("x"), place.stat))
        await refused(carryOut(bounds, { ...removal, place: { ...removal.place, absolute: place.absolute } }))
        await refused(carryOut(bounds, removal))
        assert.deepStrictEqual(readdirSync(outside), ["secret.txt"])
        assert.strictEqual(readFileSync(join(outside, "secret.txt"), "utf8"), "secret\n")
      })
    }))

  it.live("case 118: a folder that is swapped for a link while tools work leads nowhere", () =>
    Effect.gen(function*() {
      const { folder, outside, root } = yield* world
      yield* put(folder, { "root/swap/secret.txt": "inside\n", "outside/secret.txt": "secret\n" })
      // Another process swaps `swap` for a link to the outside and back, as fast as it can.
      const script = `
        const { renameSync, symlinkSync } = require("node:fs")
        process.chdir(${JSON.stringify(root)})
        symlinkSync(${JSON.stringify(outside)}, "swap-link")
        let n = 0
        // A write in the moment when nothing is at the path makes a new folder there, which is put aside.
        const move = (from, to) => {
          try { renameSync(from, to) } catch { renameSync(to, "aside-" + n++); renameSync(from, to) }
        }
        const pause = new Int32Array(new SharedArrayBuffer(4))
        for (let round = 0;; round++) {
          move("swap", "swap-folder"); move("swap-link", "swap")
          Atomics.wait(pause, 0, 0, round % 3)
          move("swap", "swap-link"); move("swap-folder", "swap")
          Atomics.wait(pause, 0, 0, round % 5 / 2)
        }`
      writeFileSync(join(folder, "swapper.cjs"), script)
      const swapper = spawn(process.execPath, [join(folder, "swapper.cjs")], {
        stdio: ["ignore", "ignore", "inherit"]
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => swapper.kill("SIGKILL")))
      yield* Effect.gen(function*() {
        const me = caller()
        for (let round = 0; round < 200; round++) {
          const read = yield* call(me, "read_file", { path: "swap/secret.txt" }, { journal: false })
          assert.notInclude(read.text, "secret\n")
          if (read.ok) assert.match(read.text, /^inside/)
          yield* call(me, "write_file", { path: `swap/new-${round}.txt`, content: "x" }, { journal: false })
          yield* call(me, "write_file", { path: "swap/secret.txt", content: `inside ${round}\n` }, { journal: false })
          const found = yield* (round % 40 === 0
            ? call(me, "grep", { pattern: "secret" })
            : Effect.succeed({ text: "" }))
          assert.notInclude(found.text, "secret\n")
        }
        assert.isNull(swapper.exitCode)
        assert.strictEqual(readFileSync(join(outside, "secret.txt"), "utf8"), "secret\n")
        assert.deepStrictEqual(
          (yield* Effect.promise(async () => (await import("node:fs/promises")).readdir(outside))).sort(),
          ["secret.txt"]
        )
      }).pipe(Effect.provide(open(root)))
    }))
})
