/** The tools that look and change nothing: `read_file`, `list_dir`, `glob`, `grep`. */
import { type InvalidTool, ToolCatalog, type ToolNameTaken, type ToolTraits } from "@holdfast/core"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { readdir } from "node:fs/promises"
import { mustExist, openFile } from "./Containment.ts"
import { readLines } from "./ReadFile.ts"
import { findFiles, type Found, MAX_FILES, searchFiles } from "./Search.ts"
import { descriptions, parameters, results } from "./texts.ts"
import { NotText, toWorkspaceError, WrongKind } from "./WorkspaceError.ts"
import { Workspace } from "./Workspace.ts"
import { WorkspaceFailure } from "./WorkspaceFailure.ts"

/** Lines of one answer of `read_file`: what most source files fit in. */
const MAX_LINES = 2000
/** Characters of one answer. The core cuts the middle out of what is longer than 30,000; these tools end at a line. */
const MAX_CHARS = 28_000
const MAX_LINE_CHARS = 2000
const MAX_ENTRIES = 1000
const MAX_RESULTS = 1000
const DEFAULT_RESULTS = 200
const MAX_MATCH_CHARS = 400
const MAX_SEARCH_BYTES = 20_000_000
const SEARCH_MILLIS = 30_000

const text = (description: string) => Schema.String.annotate({ description })
const flag = (description: string) => Schema.optionalKey(Schema.Boolean.annotate({ description }))
const count = (description: string, minimum: number, maximum: number) =>
  Schema.optionalKey(
    Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum, maximum }))).annotate({ description })
  )

const ReadFile = Tool.make("read_file", {
  description: descriptions.readFile,
  parameters: Schema.Struct({
    path: text(parameters.path),
    offset: count(parameters.offset, 1, 1_000_000_000),
    limit: count(parameters.lineLimit, 1, MAX_LINES),
    line_numbers: flag(parameters.lineNumbers)
  }),
  success: Schema.String,
  failure: WorkspaceFailure
}).annotate(Tool.Readonly, true).annotate(Tool.Destructive, false).annotate(Tool.Idempotent, true)
  .annotate(Tool.OpenWorld, false)

const ListDir = Tool.make("list_dir", {
  description: descriptions.listDir,
  parameters: Schema.Struct({ path: Schema.optionalKey(text(parameters.folder)) }),
  success: Schema.String,
  failure: WorkspaceFailure
}).annotate(Tool.Readonly, true).annotate(Tool.Destructive, false).annotate(Tool.Idempotent, true)
  .annotate(Tool.OpenWorld, false)

const Glob = Tool.make("glob", {
  description: descriptions.glob,
  parameters: Schema.Struct({
    pattern: text(parameters.globPattern),
    path: Schema.optionalKey(text(parameters.folder)),
    include_ignored: flag(parameters.includeIgnored),
    limit: count(parameters.results, 1, MAX_RESULTS)
  }),
  success: Schema.String,
  failure: WorkspaceFailure
}).annotate(Tool.Readonly, true).annotate(Tool.Destructive, false).annotate(Tool.Idempotent, true)
  .annotate(Tool.OpenWorld, false)

const Grep = Tool.make("grep", {
  description: descriptions.grep,
  parameters: Schema.Struct({
    pattern: text(parameters.grepPattern),
    path: Schema.optionalKey(text(parameters.searchBase)),
    glob: Schema.optionalKey(text(parameters.grepGlob)),
    ignore_case: flag(parameters.ignoreCase),
    context: count(parameters.context, 0, 20),
    output: Schema.optionalKey(
      Schema.Literals(["lines", "files", "count"]).annotate({ description: parameters.output })
    ),
    include_ignored: flag(parameters.includeIgnored),
    limit: count(parameters.results, 1, MAX_RESULTS)
  }),
  success: Schema.String,
  failure: WorkspaceFailure
}).annotate(Tool.Readonly, true).annotate(Tool.Destructive, false).annotate(Tool.Idempotent, true)
  .annotate(Tool.OpenWorld, false)

/** The declarations of the reading tools. */
export const ReadToolkit = Toolkit.make(ReadFile, ListDir, Glob, Grep)

const handlers = ReadToolkit.toLayer(Effect.gen(function*() {
  const workspace = yield* Workspace

  const attempt = <A>(operation: string, path: string, run: (signal: AbortSignal) => Promise<A>) =>
    Effect.tryPromise({ try: run, catch: toWorkspaceError(operation, path) })

  const scopeOf = (path: string, glob: string | undefined, ignored: boolean | undefined) =>
    Effect.gen(function*() {
      const bounds = yield* workspace.bounds
      const place = yield* workspace.locate(path, "read")
      const stat = yield* attempt("find", path, () => mustExist(bounds, path, place))
      return { root: bounds.root, base: place.absolute, folder: stat.isDirectory(), ignored: ignored ?? false, glob }
    })

  return ReadToolkit.of({
    read_file: Effect.fn("read_file")(function*(params) {
      const bounds = yield* workspace.bounds
      const place = yield* workspace.locate(params.path, "read")
      const offset = params.offset ?? 1
      const range = {
        offset,
        limit: params.limit ?? MAX_LINES,
        maxChars: MAX_CHARS,
        maxLineChars: MAX_LINE_CHARS
      }
      const read = yield* attempt("read", params.path, async (signal) => {
        const { handle, stat } = await openFile(bounds, params.path, place)
        try {
          const found = await readLines(handle, range, signal)
          if (found.binary) {
            throw new NotText({ path: params.path, bytes: Number(stat.size), reason: "binary" })
          }
          return found
        } finally {
          await handle.close()
        }
      })
      yield* workspace.note(place, read.hash)
      if (read.total === 0) return results.emptyFile
      if (read.lines.length === 0) return results.beyondEnd(offset, read.total)
      const last = offset + read.lines.length - 1
      const shown = params.line_numbers === true
        ? read.lines.map((line, index) => `${offset + index}\t${line}`)
        : read.lines
      const notes: Array<string> = []
      if (last < read.total) notes.push(results.remaining(offset, last, read.total))
      else if (offset > 1) notes.push(results.part(offset, last, read.total))
      if (read.cut.length > 0) notes.push(results.cutLines(read.cut, MAX_LINE_CHARS))
      if (!read.utf8) notes.push(results.notUtf8)
      return withNotes(shown.join("\n"), notes)
    }),

    list_dir: Effect.fn("list_dir")(function*(params) {
      const path = params.path ?? "."
      const bounds = yield* workspace.bounds
      const place = yield* workspace.locate(path, "read")
      const entries = yield* attempt("list", path, async () => {
        const stat = await mustExist(bounds, path, place)
        if (!stat.isDirectory()) throw new WrongKind({ path, kind: "file", expected: "folder" })
        return readdir(place.absolute, { withFileTypes: true })
      })
      if (entries.length === 0) return results.emptyFolder
      const names = entries.map((entry) => entry.name + (entry.isDirectory() ? "/" : entry.isSymbolicLink() ? "@" : ""))
        .sort()
      const shown = fitting(names.slice(0, MAX_ENTRIES))
      const hidden = names.length - shown.length
      return withNotes(shown.join("\n"), hidden > 0 ? [results.moreEntries(hidden)] : [])
    }),

    glob: Effect.fn("glob")(function*(params) {
      const path = params.path ?? "."
      const scope = yield* scopeOf(path, params.pattern, params.include_ignored)
      if (!scope.folder) return yield* new WrongKind({ path, kind: "file", expected: "folder" })
      const found = yield* attempt(
        "search",
        path,
        (signal) => findFiles({ ...scope, signal }, params.limit ?? DEFAULT_RESULTS)
      )
      if (found.names.length === 0) return results.noMatchingFiles
      const shown = fitting(found.names)
      return withNotes(shown.join("\n"), found.more || shown.length < found.names.length ? [results.moreResults] : [])
    }),

    grep: Effect.fn("grep")(function*(params) {
      const path = params.path ?? "."
      const scope = yield* scopeOf(path, params.glob, params.include_ignored)
      const limit = params.limit ?? DEFAULT_RESULTS
      const query = {
        pattern: params.pattern,
        flags: params.ignore_case === true ? "i" : "",
        context: params.context ?? 0,
        output: params.output ?? "lines",
        maxLineChars: MAX_MATCH_CHARS,
        maxFileBytes: MAX_SEARCH_BYTES
      }
      const found = yield* workspace.guard(
        attempt("search", path, (signal) => searchFiles({ ...scope, signal }, query, limit, SEARCH_MILLIS))
      )
      const notes: Array<string> = []
      const lines = renderMatches(found, query.output, limit)
      const shown = fitting(lines)
      if (found.more || shown.length < lines.length) notes.push(results.moreResults)
      if (found.stopped) notes.push(results.moreFiles(MAX_FILES))
      if (found.large > 0) notes.push(results.skippedLarge(found.large, MAX_SEARCH_BYTES))
      return withNotes(shown.length === 0 ? results.nothingFound : shown.join("\n"), notes)
    })
  })
}))

/** The first lines that fit into one answer. */
const fitting = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  let room = MAX_CHARS
  const end = lines.findIndex((line) => (room -= line.length + 1) < 0)
  return end < 0 ? lines : lines.slice(0, Math.max(1, end))
}

const withNotes = (body: string, notes: ReadonlyArray<string>): string =>
  notes.length === 0 ? body : `${body}\n\n${notes.join("\n")}`

const renderMatches = (found: Found, output: "lines" | "files" | "count", limit: number): ReadonlyArray<string> => {
  if (output === "files") return found.files.slice(0, limit).map((file) => file.name)
  if (output === "count") return found.files.slice(0, limit).map((file) => `${file.name}: ${file.count}`)
  const lines: Array<string> = []
  let left = limit
  for (const file of found.files) {
    for (const group of file.groups) {
      if (left <= 0) return lines
      const context = group.some((entry) => !entry.match)
      if (context && lines.length > 0) lines.push("--")
      for (const entry of group) {
        if (entry.match && left-- <= 0) return lines
        lines.push(`${file.name}${entry.match ? ":" : "-"}${entry.line}${entry.match ? ":" : "-"}${entry.text}`)
      }
    }
  }
  return lines
}

const traits: {
  readonly [Name in keyof typeof ReadToolkit.tools]: ToolTraits<Tool.Parameters<typeof ReadToolkit.tools[Name]>>
} = {
  read_file: { title: (params) => `read_file ${params.path}` },
  list_dir: { title: (params) => `list_dir ${params.path ?? "."}` },
  glob: { title: (params) => `glob ${params.pattern}` },
  grep: { title: (params) => `grep ${params.pattern}` }
}

/** The reading tools, all of class `read`. */
export const ReadTools: {
  readonly layer: Layer.Layer<never, ToolNameTaken | InvalidTool, ToolCatalog | Workspace>
} = { layer: ToolCatalog.add(ReadToolkit, { traits }).pipe(Layer.provide(handlers)) }
