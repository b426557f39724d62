/** Every text that a model reads from this package, in one place. */

const quoted = (path: string): string => JSON.stringify(path)

const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

const list = (paths: ReadonlyArray<string>): string => paths.map(quoted).join(", ")

/** The descriptions of the tools. They stand in the header of every request and never change with state. */
export const descriptions = {
  readFile:
    "Reads a text file in the workspace. Lines are shown as they are, without numbers unless line_numbers is true. Long " +
    "files are shown in part; the result says how many lines remain. Read a file before you edit or overwrite it.",
  listDir: "Lists the entries of a folder in the workspace. Folders end in \"/\", links in \"@\".",
  glob:
    "Finds files by name, for example \"src/**/*.ts\". A pattern without a slash matches file names in any folder. Files " +
    "that .gitignore names, .git and node_modules are left out.",
  grep:
    "Searches file contents line by line with a JavaScript regular expression. Files that .gitignore names, .git, " +
    "node_modules and binary files are left out.",
  writeFile:
    "Writes a whole file, creating it and the folders above it if needed. A file that exists has to be read first. " +
    "Prefer edit_file for changing part of a file.",
  editFile:
    "Replaces old_string with new_string in a file. old_string has to match the file exactly, with its white space, and " +
    "occur once, unless replace_all is true. Read the file first.",
  deletePath: "Deletes a file, a link or an empty folder; a folder with everything in it only if recursive is true.",
  runCommand:
    "Runs a shell command line in the workspace folder and returns its output (standard output and error together) and " +
    "exit code. Standard input is empty and there is no terminal, so use non-interactive options. Each call is a new " +
    "shell. Background processes end with the call."
} as const

/** The descriptions of the tools' parameters. */
export const parameters = {
  path: "Path from the workspace folder.",
  folder: "Folder to look in, from the workspace folder. Default: the workspace folder.",
  searchBase: "File or folder to search, from the workspace folder. Default: the workspace folder.",
  offset: "First line to show, from 1. Default: 1.",
  lineLimit: "How many lines to show at most. Default: 2000.",
  lineNumbers: "Show each line with its number and a tab before it. Default: false.",
  globPattern: "Glob pattern, with / between folders.",
  grepPattern: "JavaScript regular expression, without slashes.",
  grepGlob: "Only search files that match this glob pattern.",
  ignoreCase: "Do not tell upper from lower case. Default: false.",
  context: "Lines to show before and after each match. Default: 0.",
  output:
    "\"lines\" shows matching lines, \"files\" only the paths, \"count\" how many lines match in each file. Default: lines.",
  results: "How many results to show at most. Default: 200.",
  includeIgnored: "Look into files that .gitignore names and node_modules too. Default: false.",
  content: "The whole new content of the file.",
  oldString: "The text to replace, exactly as it is in the file.",
  newString: "The text to put in its place.",
  replaceAll: "Replace every occurrence. Default: false.",
  recursive: "Delete a folder with everything in it. Default: false.",
  command: "The command line.",
  timeout: "Seconds after which the command is ended. Default: 120, at most 600."
} as const

/** Why a tool did not do what it was asked. */
export const texts = {
  outsideWorkspace: (path: string, suggestion: string | undefined): string =>
    `${quoted(path)} is outside the workspace. Nothing was read or changed. Use a path inside the workspace folder` +
    (suggestion === undefined ? "." : `; the file there is ${quoted(suggestion)}.`),
  protectedPath: (path: string, name: string): string =>
    `${quoted(path)} was not changed: file tools do not change anything in ${quoted(name)}.`,
  pathNotFound: (path: string, similar: ReadonlyArray<string>): string =>
    `${quoted(path)} does not exist.` + (similar.length === 0 ? "" : ` Did you mean ${list(similar)}?`),
  wrongKind: (path: string, kind: string, expected: string): string => {
    if (kind === "root") return `${quoted(path)} is the workspace folder itself, which cannot be deleted.`
    if (kind === "broken-link") return `${quoted(path)} is a link to something that does not exist.`
    if (kind === "special") return `${quoted(path)} is not a regular file (a device, pipe or socket).`
    return kind === "folder"
      ? `${quoted(path)} is a folder, not a file. Use list_dir to see what is in it.`
      : `${quoted(path)} is a file, not a ${expected}.`
  },
  notText: (path: string, bytes: number, reason: string): string =>
    reason === "binary"
      ? `${quoted(path)} is a binary file of ${plural(bytes, "byte")} and cannot be shown or changed as text.`
      : `${quoted(path)} is not in UTF-8 and cannot be edited without damaging it.`,
  fileTooLarge: (path: string, bytes: number, limit: number): string =>
    `${quoted(path)} has ${plural(bytes, "byte")}; files of more than ${limit} bytes cannot be changed with this tool.`,
  staleFile: (path: string, reason: string): string =>
    reason === "shown"
      ? `${quoted(path)} has changed since the person was asked about it. Nothing was deleted. Call again to ask again.`
      : reason === "changed"
      ? `${
        quoted(path)
      } has changed since you last read it. Nothing was written. Read it again, then repeat the change ` +
        "on what is there now."
      : `${quoted(path)} exists and you have not read it. Nothing was written. Read it first, then repeat the change.`,
  editRefused: (path: string, reason: string, lines: ReadonlyArray<number>): string => {
    switch (reason) {
      case "empty":
        return "old_string is empty. To create or replace a whole file, use write_file."
      case "same":
        return "old_string and new_string are the same. Nothing was changed."
      case "not-unique": {
        const shown = lines.slice(0, 10).join(", ") + (lines.length > 10 ? ", ..." : "")
        return `old_string occurs ${lines.length} times in ${
          quoted(path)
        } (lines ${shown}). Nothing was changed. Add ` +
          "lines around it until it occurs once, or set replace_all."
      }
      case "whitespace":
        return `old_string does not occur in ${quoted(path)}, but it does if white space is left aside. Nothing was ` +
          "changed. Copy the text with its exact spaces, tabs and line ends."
      default:
        return `old_string does not occur in ${quoted(path)}. Nothing was changed. Read the file again and copy the ` +
          "text exactly."
    }
  },
  folderNotEmpty: (path: string, entries: number): string =>
    `The folder ${quoted(path)} has ${plural(entries, "entry", "entries")} in it. Nothing was deleted. Set recursive ` +
    "to delete it with everything in it.",
  invalidPattern: (pattern: string, detail: string): string => `The pattern ${quoted(pattern)} is not valid: ${detail}`,
  searchTimeout: (millis: number): string =>
    `The search was stopped after ${Math.round(millis / 1000)} s. Use a simpler pattern or a smaller folder.`,
  fileSystemFailure: (path: string, operation: string, code: string): string =>
    `Could not ${operation} ${quoted(path)}: ${reasons[code] ?? "the system refused"} (${code}).`
} as const

const reasons: { readonly [code: string]: string } = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left on the disk",
  EDQUOT: "the disk quota is used up",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "there are too many links on the way",
  EEXIST: "a file is in the way",
  ENOTEMPTY: "the folder is not empty",
  EBUSY: "it is in use",
  EAGAIN: "the system has no room for another process"
}

/** What a tool answers when it did what it was asked. */
export const results = {
  emptyFile: "(The file is empty.)",
  beyondEnd: (offset: number, total: number): string =>
    `(The file has ${plural(total, "line")}; there is no line ${offset}.)`,
  remaining: (first: number, last: number, total: number): string =>
    `(Lines ${first} to ${last} of ${total}; ${plural(total - last, "line remains", "lines remain")}. Continue with ` +
    `offset ${last + 1}.)`,
  part: (first: number, last: number, total: number): string => `(Lines ${first} to ${last} of ${total}.)`,
  cutLines: (lines: ReadonlyArray<number>, max: number): string =>
    `(Cut after ${max} characters: ${lines.length === 1 ? "line" : "lines"} ${lines.slice(0, 10).join(", ")}` +
    `${lines.length > 10 ? ", ..." : ""}.)`,
  notUtf8: "(The file is not valid UTF-8: unreadable bytes are shown as \uFFFD, and it cannot be edited as text.)",
  emptyFolder: "(The folder is empty.)",
  moreEntries: (count: number): string => `(${plural(count, "more entry", "more entries")} not shown.)`,
  nothingFound: "(No matches.)",
  noMatchingFiles: "(No files match.)",
  moreResults: "(More results are not shown. Use a narrower pattern or folder, or a higher limit.)",
  moreFiles: (count: number): string => `(The search stopped after ${count} files. Use a narrower folder.)`,
  skippedLarge: (count: number, bytes: number): string =>
    `(${plural(count, "file")} of more than ${bytes} bytes not searched.)`,
  created: (path: string, lines: number): string => `Created ${quoted(path)} (${plural(lines, "line")}).`,
  replaced: (path: string, lines: number): string => `Replaced ${quoted(path)} (${plural(lines, "line")}).`,
  unchanged: (path: string): string => `${quoted(path)} already has exactly this content. Nothing was written.`,
  edited: (path: string, lines: ReadonlyArray<number>): string =>
    lines.length === 1
      ? `Edited ${quoted(path)} at line ${lines[0]}.`
      : `Edited ${quoted(path)}: ${lines.length} replacements.`,
  deletedFile: (path: string): string => `Deleted ${quoted(path)}.`,
  deletedLink: (path: string): string => `Deleted the link ${quoted(path)}; what it led to is still there.`,
  deletedFolder: (path: string, files: number): string =>
    `Deleted the folder ${quoted(path)} with ${plural(files, "file")} in it.`
} as const

/** What the model reads about a process. */
export const processTexts = {
  noOutput: "(No output.)",
  cut: (characters: number): string => `\n\n[... ${characters} characters cut ...]\n\n`,
  kept: (where: string): string => `(The whole output is in ${where}.)`,
  keptInPart: (where: string): string =>
    `(A larger part of the output is in ${where}; its middle was too long to keep.)`,
  exit: (code: number, duration: string): string => `(Exit code ${code}, ${duration}.)`,
  signal: (signal: string, duration: string): string => `(Ended by signal ${signal}, ${duration}.)`,
  timedOut: (seconds: number): string =>
    `(Timed out: the command was ended after ${plural(seconds, "second")} with everything it had started.)`,
  backgroundEnded:
    "(A background process was still running when the shell ended. It was ended too; its output may be " +
    "incomplete.)",
  backgroundKept: "(A background process is still running; its output may be incomplete.)",
  survivors: (count: number): string => `(${plural(count, "process", "processes")} could not be ended.)`,
  /** Coarse on purpose: a call that fails in the same way twice must give the same text twice. */
  duration: (millis: number): string =>
    millis < 1000 ? "in under a second" : millis < 120_000
      ? `in ${plural(Math.round(millis / 1000), "second")}`
      : `in ${plural(Math.round(millis / 60_000), "minute")}`
} as const

/** What a person reads before they decide about a call. */
export const previewTexts = {
  editsIn: (folder: string): string =>
    folder === "." ? "edits of files directly in the workspace folder" : `edits of files directly in ${folder}`,
  exactCommand: "exactly this command line",
  deletesFile: (path: string, bytes: number): string => `Deletes the file ${path} (${plural(bytes, "byte")}).`,
  deletesLink: (path: string): string => `Deletes the link ${path}; what it leads to stays.`,
  deletesFolder: (path: string, files: number, folders: number, complete: boolean): string =>
    files + folders === 0
      ? `Deletes the empty folder ${path}.`
      : `Deletes the folder ${path} with ${complete ? "" : "more than "}${plural(files, "file")} and ` +
        `${plural(folders, "folder")} in it:`,
  moreNotShown: (count: number): string => `... and ${count} more`
} as const
