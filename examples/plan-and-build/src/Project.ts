/** The small program that the demonstration works on: a git repository with a parser, a fault in it, and a test that fails. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/** What the agent is asked to do when nobody says otherwise. */
export const defaultTask = "The parser drops the last field of a line. Fix it and add a test."

export const sourcePath = "src/csv.ts"
export const testPath = "test/csv.test.ts"

export const source = `/** Splits one line of comma-separated values; a field in double quotes may hold commas. */
export const parseLine = (line: string): Array<string> => {
  const fields: Array<string> = []
  let field = ""
  let quoted = false
  for (const char of line) {
    if (char === '"') quoted = !quoted
    else if (char === "," && !quoted) {
      fields.push(field)
      field = ""
    } else field += char
  }
  return fields
}
`

export const test = `import assert from "node:assert/strict"
import { test } from "node:test"
import { parseLine } from "../src/csv.ts"

test("splits a line at its commas", () => {
  assert.deepEqual(parseLine("a,b,c"), ["a", "b", "c"])
})

test("keeps commas in quotes", () => {
  assert.deepEqual(parseLine('"a,b",c,'), ["a,b", "c", ""])
})
`

const files = {
  "package.json": `${
    JSON.stringify({ name: "csv", private: true, type: "module", scripts: { test: "node --test" } }, null, 2)
  }\n`,
  "README.md": "# csv\n\nReads lines of comma-separated values. `node --test` runs the tests.\n",
  "AGENTS.md":
    "# Conventions\n\n- No semicolons, double quotes where they need no escape.\n- Every fix comes with a test.\n",
  [sourcePath]: source,
  [testPath]: test
}

/** Makes the repository in a new temporary folder, with one commit, and returns its path. */
export const makeProject: Effect.Effect<string> = Effect.promise(async () => {
  const root = await mkdtemp(join(tmpdir(), "plan-and-build-"))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  const git = (...args: ReadonlyArray<string>) =>
    run("git", ["-C", root, "-c", "user.name=Demo", "-c", "user.email=demo@example.org", ...args])
  await git("init", "--quiet", "--initial-branch=main")
  await git("add", "--all")
  await git("commit", "--quiet", "--message", "A parser with a fault")
  return root
})

/** What has changed in a repository since its last commit, as a unified diff; empty where there is no repository. */
export const changes = (root: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    try {
      await run("git", ["-C", root, "add", "--intent-to-add", "--all"])
      return (await run("git", ["-C", root, "diff", "--no-color", "--no-ext-diff"])).stdout
    } catch {
      return ""
    }
  })
