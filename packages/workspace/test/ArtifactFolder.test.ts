import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { artifactFolder } from "../src/index.ts"
import { temporaryFolder } from "./support.ts"

describe("artifactFolder", () => {
  it.live("writes beside the session and says where", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const keep = artifactFolder(folder)
      const path = yield* keep("s1", "call.txt", "text")
      assert.strictEqual(path, join(folder, "s1", "call.txt"))
      assert.strictEqual(readFileSync(path!, "utf8"), "text")
    }))

  it.live("overwrites nothing", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const keep = artifactFolder(folder)
      const paths = yield* Effect.all([keep("s", "a.txt", "1"), keep("s", "a.txt", "2"), keep("s", "a.txt", "3")], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual([...paths].sort(), ["a-2.txt", "a-3.txt", "a.txt"].map((name) => join(folder, "s", name)))
      assert.deepStrictEqual(paths.map((path) => readFileSync(path!, "utf8")), ["1", "2", "3"])
    }))

  it.live("no name leads out of the folder", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const keep = artifactFolder(folder)
      for (const name of ["../x", "..", ".", "", "/etc/x", "a/b", "a\\b", "a\0b", "x".repeat(5000)]) {
        for (const [session, file] of [[name, "f"], ["s", name]] as const) {
          const path = yield* keep(session, file, "text")
          assert.strictEqual(dirname(dirname(path!)), folder, JSON.stringify(name))
        }
      }
    }))

  it.live("what cannot be kept is no failure of the call", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      writeFileSync(join(folder, "file"), "")
      assert.isUndefined(yield* artifactFolder(join(folder, "file"))("s", "a", "text"))
    }))
})
