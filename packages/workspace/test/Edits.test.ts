import { Projection } from "@holdfast/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, HashMap, Layer } from "effect"
import { ToolCatalog } from "@holdfast/core"
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { EditTools, FileVersions, ReadTools, Workspace } from "../src/index.ts"
import { call, caller, previewOf, put, temporaryFolder, tools } from "./support.ts"

const open = (root: string) => tools(ReadTools.layer, EditTools.layer).pipe(Layer.provide(Workspace.layer({ root })))

/** Runs a test in a workspace with these files. */
const inWorkspace = <A, E>(
  files: { readonly [path: string]: string | Uint8Array },
  body: (root: string) => Effect.Effect<A, E, ToolCatalog>
) =>
  Effect.gen(function*() {
    const root = yield* temporaryFolder
    yield* put(root, files)
    return yield* body(root).pipe(Effect.provide(open(root)))
  })

describe("versions", () => {
  it.live("a file that exists and was not read is not overwritten", () =>
    inWorkspace({ a: "one" }, (root) =>
      Effect.gen(function*() {
        const ran = yield* call(caller(), "write_file", { path: "a", content: "two" })
        assert.strictEqual(ran.tag, "StaleFile")
        assert.match(ran.text, /Read it first/)
        assert.strictEqual(readFileSync(join(root, "a"), "utf8"), "one")
      })))

  it.live("a file that changed since it was read is not changed", () =>
    inWorkspace({ a: "one" }, (root) =>
      Effect.gen(function*() {
        const me = caller()
        yield* call(me, "read_file", { path: "a" })
        writeFileSync(join(root, "a"), "one, by another")
        for (
          const [tool, args] of [
            ["write_file", { path: "a", content: "two" }],
            ["edit_file", { path: "a", old_string: "one", new_string: "two" }]
          ] as const
        ) {
          const ran = yield* call(me, tool, args)
          assert.strictEqual(ran.tag, "StaleFile")
          assert.match(ran.text, /Read it again/)
          assert.strictEqual(
            yield* Effect.flip(previewOf(me, tool, args)).pipe(Effect.map((e) => (e as { _tag: string })._tag)),
            "StaleFile"
          )
        }
        assert.strictEqual(readFileSync(join(root, "a"), "utf8"), "one, by another")
        yield* call(me, "read_file", { path: "a" })
        assert.isTrue((yield* call(me, "write_file", { path: "a", content: "two" })).ok)
      })))

  it.live("what was read is known after a restart, from the journal alone", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* put(root, { a: "one", b: "one" })
      const before = caller()
      yield* Effect.gen(function*() {
        yield* call(before, "read_file", { path: "a" })
        yield* call(before, "read_file", { path: "b" })
      }).pipe(Effect.provide(open(root)))
      writeFileSync(join(root, "b"), "changed while nobody was there")
      const after = caller({ events: before.events })
      yield* Effect.gen(function*() {
        assert.isTrue((yield* call(after, "write_file", { path: "a", content: "two" })).ok)
        assert.strictEqual((yield* call(after, "write_file", { path: "b", content: "two" })).tag, "StaleFile")
      }).pipe(Effect.provide(open(root)))
    }))

  it.live("two edits in one batch need no reading in between", () =>
    inWorkspace({ a: "one two" }, (root) =>
      Effect.gen(function*() {
        const me = caller()
        yield* call(me, "read_file", { path: "a" })
        const batch = { journal: false }
        assert.isTrue((yield* call(me, "edit_file", { path: "a", old_string: "one", new_string: "1" }, batch)).ok)
        assert.isTrue((yield* call(me, "edit_file", { path: "a", old_string: "two", new_string: "2" }, batch)).ok)
        assert.strictEqual(readFileSync(join(root, "a"), "utf8"), "1 2")
      })))

  it.live("one session's reading does not count for another", () =>
    inWorkspace({ a: "one" }, () =>
      Effect.gen(function*() {
        yield* call(caller({ session: "x" }), "read_file", { path: "a" })
        assert.strictEqual(
          (yield* call(caller({ session: "y" }), "write_file", { path: "a", content: "" })).tag,
          "StaleFile"
        )
      })))

  it.live("of two agents that change one file at once, one is told to read again", () =>
    inWorkspace({ a: "0" }, () =>
      Effect.gen(function*() {
        const x = caller({ session: "x" })
        const y = caller({ session: "y" })
        yield* call(x, "read_file", { path: "a" })
        yield* call(y, "read_file", { path: "a" })
        const ran = yield* Effect.all([
          call(x, "write_file", { path: "a", content: "x" }),
          call(y, "write_file", { path: "a", content: "y" })
        ], { concurrency: "unbounded" })
        assert.deepStrictEqual(ran.map((r) => r.tag).sort(), ["StaleFile", undefined])
      })))

  it.live("a write that is repeated after a crash succeeds and writes nothing", () =>
    inWorkspace({ a: "two" }, () =>
      Effect.gen(function*() {
        const ran = yield* call(caller(), "write_file", { path: "a", content: "two" })
        assert.isTrue(ran.ok)
        assert.match(ran.text, /already has exactly this content/)
      })))

  it.live("the projection follows reads, writes and deletions", () =>
    inWorkspace({ a: "one", b: "two" }, () =>
      Effect.gen(function*() {
        const me = caller()
        yield* call(me, "read_file", { path: "a" })
        yield* call(me, "read_file", { path: "b" })
        yield* call(me, "write_file", { path: "c", content: "three" })
        yield* call(me, "delete_path", { path: "a" })
        const versions = Projection.fold(FileVersions, me.events)
        assert.deepStrictEqual([...HashMap.keys(versions)].sort(), ["b", "c"])
      })))
})

describe("write_file", () => {
  it.live("creates folders, keeps the mode, leaves nothing beside the file", () =>
    inWorkspace({ "run.sh": "old" }, (root) =>
      Effect.gen(function*() {
        const me = caller()
        chmodSync(join(root, "run.sh"), 0o750)
        yield* call(me, "read_file", { path: "run.sh" })
        assert.strictEqual(
          (yield* call(me, "write_file", { path: "run.sh", content: "new\n" })).text,
          "Replaced \"run.sh\" (1 line)."
        )
        assert.strictEqual(statSync(join(root, "run.sh")).mode & 0o777, 0o750)
        assert.strictEqual(
          (yield* call(me, "write_file", { path: "x/y/z.txt", content: "" })).text,
          "Created \"x/y/z.txt\" (0 lines)."
        )
        assert.deepStrictEqual(readdirSync(root).sort(), ["run.sh", "x"])
        assert.deepStrictEqual(readdirSync(join(root, "x/y")), ["z.txt"])
      })))

  it.live("writes to the target of a link inside the workspace and keeps the link", () =>
    inWorkspace({ "real/a": "one" }, (root) =>
      Effect.gen(function*() {
        const me = caller()
        symlinkSync("real/a", join(root, "link"))
        yield* call(me, "read_file", { path: "link" })
        assert.isTrue((yield* call(me, "write_file", { path: "link", content: "two" })).ok)
        assert.strictEqual(readFileSync(join(root, "real/a"), "utf8"), "two")
      })))

  it.live("a file in the place of a folder is a failure with words", () =>
    inWorkspace({ a: "" }, () =>
      Effect.gen(function*() {
        const below = yield* call(caller(), "write_file", { path: "a/b", content: "" })
        assert.isFalse(below.ok)
        assert.match(below.text, /"a\/b"/)
        const folder = yield* call(caller(), "write_file", { path: ".", content: "" })
        assert.strictEqual(folder.tag, "WrongKind")
      })))
})

describe("edit_file", () => {
  const edit = (content: string | Uint8Array, old_string: string, new_string: string, replace_all?: boolean) =>
    inWorkspace({ a: content }, (root) =>
      Effect.gen(function*() {
        const me = caller()
        yield* call(me, "read_file", { path: "a" })
        const args = { path: "a", old_string, new_string, ...(replace_all === undefined ? {} : { replace_all }) }
        const ran = yield* call(me, "edit_file", args)
        return { ...ran, content: readFileSync(join(root, "a"), "utf8") }
      }))

  it.live("replaces what occurs once", () =>
    Effect.gen(function*() {
      const ran = yield* edit("a\nb\nc\n", "b", "B\nb")
      assert.strictEqual(ran.content, "a\nB\nb\nc\n")
      assert.strictEqual(ran.text, "Edited \"a\" at line 2.")
    }))

  it.live("takes the new text as it is", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* edit("x", "x", "$& $1 $$ \\n")).content, "$& $1 $$ \\n")
    }))

  it.live("refuses what it cannot do, and says why", () =>
    Effect.gen(function*() {
      const many = yield* edit("a\na\n", "a", "b")
      assert.match(many.text, /occurs 2 times .* \(lines 1, 2\)/)
      assert.match((yield* edit("a", "z", "b")).text, /does not occur/)
      assert.match((yield* edit("if (a) {\n\tb\n}", "if (a) {\n  b\n}", "c")).text, /white space/)
      assert.match((yield* edit("a", "", "b")).text, /use write_file/)
      assert.match((yield* edit("a", "a", "a")).text, /are the same/)
      assert.strictEqual(many.content, "a\na\n")
    }))

  it.live("replaces every occurrence on request, also with a text that holds the old one", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* edit("a a a", "a", "aa", true)).content, "aa aa aa")
    }))

  it.live("keeps CR LF and the byte order mark when the edit has LF", () =>
    Effect.gen(function*() {
      const ran = yield* edit("\uFEFFone\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2\n2b")
      assert.strictEqual(ran.content, "\uFEFF1\r\n2\r\n2b\r\nthree\r\n")
      assert.strictEqual((yield* edit("one\r\ntwo\r\n", "two", "2\n3")).content, "one\r\n2\r\n3\r\n")
      assert.strictEqual((yield* edit("one\ntwo\n", "two", "2\n3")).content, "one\n2\n3\n")
    }))

  it.live("does not touch what it would damage", () =>
    Effect.gen(function*() {
      const latin1 = yield* inWorkspace({ a: Buffer.from("caf\u00e9", "latin1") }, () =>
        Effect.gen(function*() {
          const me = caller()
          const read = yield* call(me, "read_file", { path: "a" })
          assert.match(read.text, /not valid UTF-8/)
          return yield* call(me, "edit_file", { path: "a", old_string: "caf", new_string: "x" })
        }))
      assert.strictEqual(latin1.tag, "NotText")
    }))
})

describe("what a person is shown", () => {
  it.live("a unified diff for writes and edits", () =>
    inWorkspace({ "src/a.ts": "one\ntwo\n" }, () =>
      Effect.gen(function*() {
        const me = caller()
        yield* call(me, "read_file", { path: "src/a.ts" })
        assert.deepStrictEqual(
          yield* previewOf(me, "edit_file", { path: "./src/a.ts", old_string: "two", new_string: "2" }),
          {
            kind: "diff",
            path: "src/a.ts",
            diff: "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
          }
        )
        assert.deepStrictEqual(yield* previewOf(me, "write_file", { path: "new.txt", content: "x" }), {
          kind: "diff",
          path: "new.txt",
          diff: "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n"
        })
      })))

  it.live("what a deletion takes", () =>
    inWorkspace({ "d/a": "12345", "d/e/b": "" }, (root) =>
      Effect.gen(function*() {
        const me = caller()
        symlinkSync("d/a", join(root, "l"))
        const preview = (path: string) =>
          Effect.map(previewOf(me, "delete_path", { path, recursive: true }), (shown) =>
            "text" in shown ? shown.text : "")
        assert.strictEqual(yield* preview("d/a"), "Deletes the file d/a (5 bytes).")
        assert.strictEqual(yield* preview("l"), "Deletes the link l; what it leads to stays.")
        assert.strictEqual(
          yield* preview("d"),
          "Deletes the folder d with 2 files and 1 folder in it:\n  a\n  e/\n  e/b"
        )
        assert.strictEqual((yield* call(me, "delete_path", { path: "d" })).tag, "FolderNotEmpty")
        assert.isTrue(existsSync(join(root, "d/a")))
      })))

  it.live("what was shown is what goes: a folder that changes meanwhile is not deleted", () =>
    inWorkspace({ "d/a": "", "e/a": "" }, (root) =>
      Effect.gen(function*() {
        const me = caller()
        for (const path of ["d", "e"]) yield* previewOf(me, "delete_path", { path, recursive: true }, `about-${path}`)
        writeFileSync(join(root, "d/precious"), "")
        const refused = yield* call(me, "delete_path", { path: "d", recursive: true }, { id: "about-d" })
        assert.strictEqual(refused.tag, "StaleFile")
        assert.match(refused.text, /since the person was asked/)
        assert.isTrue(existsSync(join(root, "d/precious")))
        assert.isTrue((yield* call(me, "delete_path", { path: "e", recursive: true }, { id: "about-e" })).ok)
      })))

  it.live("a preview changes nothing", () =>
    inWorkspace({ a: "one" }, (root) =>
      Effect.gen(function*() {
        const me = caller()
        yield* call(me, "read_file", { path: "a" })
        yield* previewOf(me, "write_file", { path: "a", content: "two" })
        yield* previewOf(me, "write_file", { path: "x/y", content: "two" })
        yield* previewOf(me, "delete_path", { path: "a" })
        assert.deepStrictEqual(readdirSync(root), ["a"])
        assert.strictEqual(readFileSync(join(root, "a"), "utf8"), "one")
      })))

  it.live("a diff of two large and unlike files comes in bounded time and is true", () =>
    inWorkspace(
      { a: Array.from({ length: 20_000 }, (_, i) => `line ${i * 7919 % 20_011}\n`).join("") },
      () =>
        Effect.gen(function*() {
          const me = caller()
          yield* call(me, "read_file", { path: "a" })
          const begun = Date.now()
          const content = Array.from({ length: 20_000 }, (_, i) => `line ${i * 104_729 % 20_021}\n`).join("")
          const shown = yield* previewOf(me, "write_file", { path: "a", content })
          assert.isBelow(Date.now() - begun, 3000)
          assert.isTrue("diff" in shown && shown.diff.includes("\n-line 0\n") && shown.diff.includes("\n+line 0\n"))
        })
    ))

  it.live("case 21: a grant covers the folder of the path and nothing that a link could turn into another", () =>
    inWorkspace({ "src/a.ts": "", "other/b": "" }, (root) =>
      Effect.gen(function*() {
        symlinkSync("src", join(root, "alias"))
        const catalog = yield* ToolCatalog
        const key = (tool: string, path: string) =>
          catalog.get(tool)!.traits.grantKey?.({ path }, caller().context("asked", new Map()))
        for (const path of ["src/a.ts", "./src/b.ts", "src/../src/a.ts", join(root, "src/a.ts")]) {
          assert.strictEqual(key("edit_file", path), "edit:src", path)
          assert.strictEqual(key("write_file", path), "edit:src", path)
        }
        assert.strictEqual(key("write_file", "top.txt"), "edit:.")
        assert.strictEqual(key("write_file", "new/deep/x"), "edit:new/deep")
        assert.isUndefined(key("write_file", "alias/a.ts"))
        assert.isUndefined(key("write_file", "../x"))
        assert.isUndefined(catalog.get("delete_path")!.traits.grantKey)
        assert.strictEqual(
          catalog.get("edit_file")!.traits.grantLabel?.({ path: "src/a.ts" }),
          "edits of files directly in src"
        )
      })))
})

describe("classes", () => {
  it.live("reading tools read, edits mutate, deletion is a danger", () =>
    inWorkspace({}, () =>
      Effect.gen(function*() {
        const catalog = yield* ToolCatalog
        assert.deepStrictEqual(catalog.all().map((tool) => [tool.name, tool.safety, tool.idempotent]), [
          ["delete_path", "danger", false],
          ["edit_file", "mutate", false],
          ["glob", "read", true],
          ["grep", "read", true],
          ["list_dir", "read", true],
          ["read_file", "read", true],
          ["write_file", "mutate", true]
        ])
      })))
})
