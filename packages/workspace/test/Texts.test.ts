import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ToolCatalog } from "@holdfast/core"
import { expect } from "vitest"
import { Workspace, WorkspaceTools } from "../src/index.ts"
import { descriptions, parameters, previewTexts, processTexts, results, texts } from "../src/texts.ts"
import { temporaryFolder, tools } from "./support.ts"

const failures = [
  texts.outsideWorkspace("../a", undefined),
  texts.outsideWorkspace("/main/src/a", "src/a"),
  texts.protectedPath(".git/config", ".git"),
  texts.pathNotFound("a", []),
  texts.pathNotFound("a", ["b/a", "A"]),
  texts.wrongKind("a", "folder", "file"),
  texts.wrongKind("a", "file", "folder"),
  texts.wrongKind("a", "broken-link", "file"),
  texts.wrongKind("a", "special", "file"),
  texts.wrongKind(".", "root", "entry"),
  texts.notText("a", 1, "binary"),
  texts.notText("a", 1, "encoding"),
  texts.fileTooLarge("a", 2, 1),
  texts.staleFile("a", "changed"),
  texts.staleFile("a", "unread"),
  texts.staleFile("a", "shown"),
  texts.editRefused("a", "not-found", []),
  texts.editRefused("a", "not-unique", [1, 2]),
  texts.editRefused("a", "same", []),
  texts.editRefused("a", "empty", []),
  texts.editRefused("a", "whitespace", []),
  texts.folderNotEmpty("a", 1),
  texts.invalidPattern("(", "why"),
  texts.searchTimeout(30_000),
  texts.fileSystemFailure("a", "write", "EACCES"),
  texts.fileSystemFailure("a", "write", "EWHAT")
]

const answers = [
  results.emptyFile,
  results.beyondEnd(3, 1),
  results.remaining(1, 2, 3),
  results.part(2, 3, 3),
  results.cutLines([1], 2000),
  results.notUtf8,
  results.emptyFolder,
  results.moreEntries(2),
  results.nothingFound,
  results.noMatchingFiles,
  results.moreResults,
  results.moreFiles(10),
  results.skippedLarge(1, 10),
  results.created("a", 1),
  results.replaced("a", 2),
  results.unchanged("a"),
  results.edited("a", [3]),
  results.edited("a", [3, 4]),
  results.deletedFile("a"),
  results.deletedLink("a"),
  results.deletedFolder("a", 2)
]

const processes = [
  processTexts.noOutput,
  processTexts.cut(5),
  processTexts.kept("where"),
  processTexts.keptInPart("where"),
  processTexts.exit(1, processTexts.duration(999)),
  processTexts.exit(0, processTexts.duration(61_000)),
  processTexts.signal("SIGTERM", processTexts.duration(600_000)),
  processTexts.timedOut(1),
  processTexts.backgroundEnded,
  processTexts.survivors(1)
]

describe("texts", () => {
  it("are what was agreed on", () => {
    expect({ descriptions, parameters }).toMatchSnapshot()
    expect(failures).toMatchSnapshot()
    expect(answers).toMatchSnapshot()
    expect(processes).toMatchSnapshot()
    expect([
      previewTexts.editsIn("."),
      previewTexts.editsIn("src"),
      previewTexts.exactCommand,
      previewTexts.deletesFile("a", 1),
      previewTexts.deletesLink("a"),
      previewTexts.deletesFolder("a", 0, 0, true),
      previewTexts.deletesFolder("a", 2, 1, false),
      previewTexts.moreNotShown(3)
    ]).toMatchSnapshot()
  })

  it("end as sentences do", () => {
    for (const text of [...failures.slice(0, -4), ...Object.values(descriptions), ...Object.values(parameters)]) {
      assert.match(text, /[.?]$/, text)
    }
  })

  it.live("the tools' definitions are the same whenever they are made, and never change with state", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      const definitions = Effect.map(ToolCatalog, (catalog) => catalog.all().map((tool) => tool.definition)).pipe(
        Effect.provide(WorkspaceTools.layer({ root }).pipe(Layer.provideMerge(ToolCatalog.layer)))
      )
      const first = yield* definitions
      assert.strictEqual(JSON.stringify(first), JSON.stringify(yield* definitions))
      assert.notInclude(JSON.stringify(first), root)
      expect(first).toMatchSnapshot()
    }))

  it.live("a root that is no folder fails when the workspace is opened", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      const error = yield* Effect.flip(
        Effect.provide(Workspace, Workspace.layer({ root: `${root}/none` }))
      )
      assert.strictEqual(error._tag, "InvalidRoot")
      assert.isDefined(tools)
    }))
})
