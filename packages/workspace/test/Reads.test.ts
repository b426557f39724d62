import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import type { ToolCatalog } from "@holdfast/core"
import { createWriteStream, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ReadTools, Workspace } from "../src/index.ts"
import { call, caller, put, temporaryFolder, tools } from "./support.ts"

const inWorkspace = <A, E>(
  files: { readonly [path: string]: string | Uint8Array },
  body: (root: string) => Effect.Effect<A, E, ToolCatalog>
) =>
  Effect.gen(function*() {
    const root = yield* temporaryFolder
    yield* put(root, files)
    return yield* body(root).pipe(
      Effect.provide(tools(ReadTools.layer).pipe(Layer.provide(Workspace.layer({ root }))))
    )
  })

const text = (name: string, args: unknown) => Effect.map(call(caller(), name, args), (ran) => ran.text)

describe("read_file", () => {
  const ten = Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`).join("")

  it.live("shows the whole file as it is, or with numbers on request", () =>
    inWorkspace({ a: "one\n\n  two", empty: "" }, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* text("read_file", { path: "a" }), "one\n\n  two")
        assert.strictEqual(yield* text("read_file", { path: "a", line_numbers: true }), "1\tone\n2\t\n3\t  two")
        assert.strictEqual(yield* text("read_file", { path: "empty" }), "(The file is empty.)")
      })))

  it.live("shows a range and says what remains", () =>
    inWorkspace({ a: ten }, () =>
      Effect.gen(function*() {
        assert.strictEqual(
          yield* text("read_file", { path: "a", offset: 2, limit: 2 }),
          "line 2\nline 3\n\n(Lines 2 to 3 of 10; 7 lines remain. Continue with offset 4.)"
        )
        assert.strictEqual(yield* text("read_file", { path: "a", offset: 10 }), "line 10\n\n(Lines 10 to 10 of 10.)")
        assert.strictEqual(
          yield* text("read_file", { path: "a", offset: 11 }),
          "(The file has 10 lines; there is no line 11.)"
        )
      })))

  it.live("the version is that of the whole file, whatever part of it is shown", () =>
    inWorkspace({ a: ten }, () =>
      Effect.gen(function*() {
        const part = yield* call(caller(), "read_file", { path: "a", offset: 3, limit: 1 })
        const whole = yield* call(caller(), "read_file", { path: "a" })
        assert.deepStrictEqual(part.facts, whole.facts)
      })))

  it.live("cuts long lines and long files at a line, and says so", () =>
    inWorkspace(
      { long: `${"x".repeat(5000)}\nshort\n`, many: "0123456789\n".repeat(5000) },
      () =>
        Effect.gen(function*() {
          const long = yield* text("read_file", { path: "long" })
          assert.strictEqual(long, `${"x".repeat(2000)}\nshort\n\n(Cut after 2000 characters: line 1.)`)
          const many = yield* text("read_file", { path: "many" })
          assert.match(
            many,
            /\n0123456789\n\n\(Lines 1 to 2000 of 5000; 3000 lines remain. Continue with offset 2001.\)$/
          )
        })
    ))

  it.live("a file of 120 MB is read in bounded memory", () =>
    inWorkspace({}, (root) =>
      Effect.gen(function*() {
        yield* Effect.promise(async () => {
          const out = createWriteStream(join(root, "huge"))
          const block = "a line of text in a huge file\n".repeat(40_000)
          for (let i = 0; i < 100; i++) {
            if (!out.write(block)) await new Promise((resume) => out.once("drain", resume))
          }
          await new Promise<void>((done) => out.end(done))
        })
        const before = process.memoryUsage().rss
        const read = yield* text("read_file", { path: "huge", offset: 3_999_999 })
        assert.match(read, /^a line of text in a huge file\na line .*\n\n\(Lines 3999999 to 4000000 of 4000000.\)$/)
        assert.isBelow(process.memoryUsage().rss - before, 60_000_000)
      })))

  it.live("says what it cannot show", () =>
    inWorkspace({ "bin.dat": Uint8Array.of(1, 0, 2), "src/Button.ts": "" }, (root) =>
      Effect.gen(function*() {
        symlinkSync("nowhere", join(root, "broken"))
        assert.match(yield* text("read_file", { path: "bin.dat" }), /binary file of 3 bytes/)
        assert.match(yield* text("read_file", { path: "src" }), /is a folder.*list_dir/)
        assert.match(yield* text("read_file", { path: "broken" }), /does not exist/)
        assert.match(
          yield* text("read_file", { path: "src/button.tsx" }),
          /"src\/button.tsx" does not exist. Did you mean "src\/Button.ts"\?/
        )
        assert.match(yield* text("read_file", { path: "a\0b" }), /does not exist/)
      })))

  it.live("lines of several bytes a character and CR LF are shown whole", () =>
    inWorkspace({ a: "\uFEFFgr\u00fc\u00df\r\n\u{1F600}\r\n" }, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* text("read_file", { path: "a" }), "gr\u00fc\u00df\n\u{1F600}")
      })))
})

describe("list_dir", () => {
  it.live("marks folders and links", () =>
    inWorkspace({ "b/x": "", a: "", ".h": "" }, (root) =>
      Effect.gen(function*() {
        symlinkSync("b", join(root, "l"))
        assert.strictEqual(yield* text("list_dir", {}), ".h\na\nb/\nl@")
        assert.strictEqual(yield* text("list_dir", { path: "b" }), "x")
        assert.match(yield* text("list_dir", { path: "a" }), /is a file/)
      })))
})

const tree = {
  "src/a.ts": "alpha\nbeta\n",
  "src/deep/b.ts": "beta\n",
  "src/c.js": "beta",
  ".github/w.yml": "beta",
  "dist/out.ts": "beta",
  "node_modules/m/i.ts": "beta",
  ".git/HEAD": "beta",
  "logs/keep.log": "beta",
  "logs/drop.log": "beta",
  "src/deep/local.txt": "beta",
  ".gitignore": "dist/\n*.log\n!keep.log\n",
  "src/deep/.gitignore": "/local.txt\n"
}

describe("glob", () => {
  it.live("finds files by name and leaves out what git ignores", () =>
    inWorkspace(tree, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* text("glob", { pattern: "**/*.ts" }), "src/a.ts\nsrc/deep/b.ts")
        assert.strictEqual(yield* text("glob", { pattern: "*.ts" }), "src/a.ts\nsrc/deep/b.ts")
        assert.strictEqual(yield* text("glob", { pattern: "*.ts", path: "src/deep" }), "src/deep/b.ts")
        assert.strictEqual(yield* text("glob", { pattern: "**/*.{log,txt,yml}" }), ".github/w.yml\nlogs/keep.log")
        assert.strictEqual(yield* text("glob", { pattern: "*.py" }), "(No files match.)")
        assert.strictEqual(
          yield* text("glob", { pattern: "**/*.ts", include_ignored: true }),
          "dist/out.ts\nnode_modules/m/i.ts\nsrc/a.ts\nsrc/deep/b.ts"
        )
        assert.match(yield* text("glob", { pattern: "**/*.ts", limit: 1 }), /^src\/a.ts\n\n\(More results/)
      })))

  it.live("looks into an ignored folder that is named", () =>
    inWorkspace(tree, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* text("glob", { pattern: "*.ts", path: "dist" }), "dist/out.ts")
        assert.strictEqual(yield* text("glob", { pattern: "*.ts", path: "node_modules/m" }), "node_modules/m/i.ts")
      })))
})

describe("grep", () => {
  it.live("shows lines, files or counts", () =>
    inWorkspace(tree, () =>
      Effect.gen(function*() {
        assert.strictEqual(
          yield* text("grep", { pattern: "^b", glob: "*.ts" }),
          "src/a.ts:2:beta\nsrc/deep/b.ts:1:beta"
        )
        assert.strictEqual(
          yield* text("grep", { pattern: "BETA", ignore_case: true, output: "files" }),
          ".github/w.yml\nlogs/keep.log\nsrc/a.ts\nsrc/c.js\nsrc/deep/b.ts"
        )
        assert.strictEqual(yield* text("grep", { pattern: "a", path: "src/a.ts", output: "count" }), "src/a.ts: 2")
        assert.strictEqual(yield* text("grep", { pattern: "nothing" }), "(No matches.)")
      })))

  it.live("shows context once, and groups apart", () =>
    inWorkspace({ a: "1\nx\n3\nx\n5\n6\n7\n8\nx\n" }, () =>
      Effect.gen(function*() {
        assert.strictEqual(
          yield* text("grep", { pattern: "x", context: 1 }),
          "a-1-1\na:2:x\na-3-3\na:4:x\na-5-5\n--\na-8-8\na:9:x"
        )
      })))

  it.live("stops at its limit and says so", () =>
    inWorkspace({ a: "x\n".repeat(50) }, () =>
      Effect.gen(function*() {
        const found = yield* text("grep", { pattern: "x", limit: 3 })
        assert.match(found, /^a:1:x\na:2:x\na:3:x\n\n\(More results are not shown/)
      })))

  it.live("does not end in the middle of a line, however much is found", () =>
    inWorkspace({ a: `${"y".repeat(390)}\n`.repeat(900) }, () =>
      Effect.gen(function*() {
        const found = yield* text("grep", { pattern: "y", limit: 900 })
        assert.isBelow(found.length, 30_000)
        assert.match(found, /y\n\n\(More results are not shown/)
      })))

  it.live("shows the part of a long line that matches", () =>
    inWorkspace({ a: `${"a".repeat(10_000)}NEEDLE${"b".repeat(10_000)}` }, () =>
      Effect.gen(function*() {
        const found = yield* text("grep", { pattern: "NEEDLE" })
        assert.isBelow(found.length, 500)
        assert.match(found, /^a:1:\.\.\.a+NEEDLEb+\.\.\.$/)
      })))

  it.live("leaves out binary files and links", () =>
    inWorkspace({ bin: Buffer.from("beta\0"), "d/a": "beta" }, (root) =>
      Effect.gen(function*() {
        symlinkSync("d", join(root, "link"))
        symlinkSync("d/a", join(root, "file-link"))
        assert.strictEqual(yield* text("grep", { pattern: "beta" }), "d/a:1:beta")
      })))

  it.live("an expression that is none is refused with words", () =>
    inWorkspace({ a: "" }, () =>
      Effect.gen(function*() {
        assert.match(yield* text("grep", { pattern: "(" }), /The pattern "\(" is not valid: /)
      })))

  it.live("an expression that takes for ever holds up nothing and can be interrupted", () =>
    inWorkspace({ a: `${"a".repeat(40)}!` }, () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(text("grep", { pattern: "^(a+)+$" }))
        yield* Effect.sleep("300 millis")
        const begun = Date.now()
        yield* Fiber.interrupt(fiber)
        assert.isBelow(Date.now() - begun, 1000)
      })))

  it.live("finds in many files, in the order of their names", () =>
    inWorkspace({}, (root) =>
      Effect.gen(function*() {
        for (let i = 0; i < 500; i++) writeFileSync(join(root, `f${String(i).padStart(3, "0")}`), `n${i}\n`)
        const found = yield* text("grep", { pattern: "n\\d*7$", output: "files" })
        const expected = Array.from({ length: 50 }, (_, i) => `f${String(i * 10 + 7).padStart(3, "0")}`)
        assert.deepStrictEqual(found.split("\n"), expected)
      })))
})
