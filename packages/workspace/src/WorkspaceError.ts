/** Why a workspace tool did not do what it was asked. The message of each is what the model reads. */
import { Disposed } from "@holdfast/core"
import { Schema } from "effect"
import { texts } from "./texts.ts"

/** The path leads out of the workspace: by `..`, as an absolute path, or through a link. */
export class OutsideWorkspace extends Schema.TaggedError<OutsideWorkspace>()("OutsideWorkspace", {
  path: Schema.String,
  /** The same file as seen from this workspace, if there is one. */
  suggestion: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return texts.outsideWorkspace(this.path, this.suggestion)
  }
}

/** The path is inside the workspace but closed to the tools that change files (`.git` by default). */
export class ProtectedPath extends Schema.TaggedError<ProtectedPath>()("ProtectedPath", {
  path: Schema.String,
  name: Schema.String
}) {
  override get message() {
    return texts.protectedPath(this.path, this.name)
  }
}

/** Nothing is at the path. */
export class PathNotFound extends Schema.TaggedError<PathNotFound>()("PathNotFound", {
  path: Schema.String,
  similar: Schema.Array(Schema.String)
}) {
  override get message() {
    return texts.pathNotFound(this.path, this.similar)
  }
}

/** What is at the path is of another kind than the tool needs. */
export class WrongKind extends Schema.TaggedError<WrongKind>()("WrongKind", {
  path: Schema.String,
  kind: Schema.Literals(["folder", "file", "broken-link", "special", "root"]),
  expected: Schema.Literals(["file", "folder", "entry"])
}) {
  override get message() {
    return texts.wrongKind(this.path, this.kind, this.expected)
  }
}

/** The file is not text in UTF-8, so that it cannot be shown or edited as text. `bytes` is its size. */
export class NotText extends Schema.TaggedError<NotText>()("NotText", {
  path: Schema.String,
  bytes: Schema.Natural,
  reason: Schema.Literals(["binary", "encoding"])
}) {
  override get message() {
    return texts.notText(this.path, this.bytes, this.reason)
  }
}

/** The file is too large for the operation. Sizes are in bytes. */
export class FileTooLarge extends Schema.TaggedError<FileTooLarge>()("FileTooLarge", {
  path: Schema.String,
  bytes: Schema.Natural,
  limit: Schema.Natural
}) {
  override get message() {
    return texts.fileTooLarge(this.path, this.bytes, this.limit)
  }
}

/** What was known is not what is on disk: the file changed since it was read or shown, or it was never read. */
export class StaleFile extends Schema.TaggedError<StaleFile>()("StaleFile", {
  path: Schema.String,
  reason: Schema.Literals(["changed", "unread", "shown"])
}) {
  override get message() {
    return texts.staleFile(this.path, this.reason)
  }
}

/** The edit does not say one thing about this file. `lines` are where the text was found, from 1. */
export class EditRefused extends Schema.TaggedError<EditRefused>()("EditRefused", {
  path: Schema.String,
  reason: Schema.Literals(["not-found", "not-unique", "same", "empty", "whitespace"]),
  lines: Schema.Array(Schema.Natural)
}) {
  override get message() {
    return texts.editRefused(this.path, this.reason, this.lines)
  }
}

/** The folder has something in it and the call did not ask for a recursive deletion. */
export class FolderNotEmpty extends Schema.TaggedError<FolderNotEmpty>()("FolderNotEmpty", {
  path: Schema.String,
  entries: Schema.Natural
}) {
  override get message() {
    return texts.folderNotEmpty(this.path, this.entries)
  }
}

/** The pattern of a search is not one. */
export class InvalidPattern extends Schema.TaggedError<InvalidPattern>()("InvalidPattern", {
  pattern: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return texts.invalidPattern(this.pattern, this.detail)
  }
}

/** The search took longer than it may. */
export class SearchTimeout extends Schema.TaggedError<SearchTimeout>()("SearchTimeout", {
  millis: Schema.Natural
}) {
  override get message() {
    return texts.searchTimeout(this.millis)
  }
}

/** The operating system refused. `code` is its name for the reason (`EACCES`, `ENOSPC`). */
export class FileSystemFailure extends Schema.TaggedError<FileSystemFailure>()("FileSystemFailure", {
  path: Schema.String,
  operation: Schema.String,
  code: Schema.String
}) {
  override get message() {
    return texts.fileSystemFailure(this.path, this.operation, this.code)
  }
}

/** Everything that a workspace tool can fail with. */
export const WorkspaceError = Schema.Union([
  OutsideWorkspace,
  ProtectedPath,
  PathNotFound,
  WrongKind,
  NotText,
  FileTooLarge,
  StaleFile,
  EditRefused,
  FolderNotEmpty,
  InvalidPattern,
  SearchTimeout,
  FileSystemFailure,
  Disposed
])
export type WorkspaceError = typeof WorkspaceError.Type

const isWorkspaceError = Schema.is(WorkspaceError)

/** The name that the operating system gives a failure; `undefined` if the value is no such failure. */
export const codeOf = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined

/**
 * Brings what a file operation threw into one typed form. What is neither typed nor from the operating system is a bug
 * and is thrown again.
 */
export const toWorkspaceError = (operation: string, path: string) => (error: unknown): WorkspaceError => {
  if (isWorkspaceError(error)) return error
  const code = codeOf(error)
  if (code === undefined) throw error
  return code === "ENOENT" || code === "ENOTDIR"
    ? new PathNotFound({ path, similar: [] })
    : new FileSystemFailure({ path, operation, code })
}
