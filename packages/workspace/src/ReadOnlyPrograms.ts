/**
 * The programs that `classifyCommand` knows to only read, with the options that it knows of each.
 *
 * What a program may do is a list of what is known to be harmless, never of what is known to harm. On no account does an
 * interpreter, package manager, compiler, test runner or downloader belong here, nor a program that runs others, nor an
 * option that names a file to write, a program to run or a link to follow. The names of options are those of the GNU
 * programs; on other systems some do not exist, and none of them writes.
 */

/** What is known of one program, or of one command of a program. */
export interface ProgramRules {
  /** Short options without a value, as letters. */
  readonly flags?: string
  /** Short options with a value, as letters. */
  readonly values?: string
  /** Long options, without dashes; a value is only understood after `=`. */
  readonly long?: ReadonlyArray<string>
  /** Whole words that start with a single dash (`find -name`); with `true`, the next word is the value. */
  readonly words?: { readonly [word: string]: boolean }
  /** `-5` stands for a number of lines. */
  readonly number?: boolean
  /** Words that are no options, at most. Default: any number. */
  readonly operands?: number
  /** The first operand has to be one of these. */
  readonly first?: ReadonlyArray<string>
}

const CHECKSUM: ProgramRules = { flags: "bt", long: ["tag", "binary", "text"] }

/** Programs by name. */
export const readOnlyPrograms: { readonly [program: string]: ProgramRules } = {
  ls: {
    flags: "aAbBcCdfFghGHiklLmnNopqQrRsStuUvwxXZ1",
    long: [
      "all",
      "almost-all",
      "human-readable",
      "recursive",
      "reverse",
      "size",
      "directory",
      "classify",
      "color",
      "inode",
      "no-group",
      "numeric-uid-gid",
      "sort",
      "time",
      "time-style",
      "full-time",
      "group-directories-first",
      "si"
    ]
  },
  cat: {
    flags: "AbeEnstTuv",
    long: ["show-all", "number", "number-nonblank", "squeeze-blank", "show-ends", "show-tabs", "show-nonprinting"]
  },
  head: { flags: "qvz", values: "nc", long: ["lines", "bytes", "quiet", "verbose"], number: true },
  // Without -f and -F, which never end.
  tail: { flags: "qvz", values: "nc", long: ["lines", "bytes", "quiet", "verbose"], number: true },
  wc: { flags: "clLmw", long: ["lines", "words", "bytes", "chars", "max-line-length"] },
  nl: { flags: "p", values: "bdfhilnsvw" },
  pwd: { flags: "LP", operands: 0 },
  stat: { flags: "Lft", values: "c", long: ["format", "printf", "terse", "dereference", "file-system"] },
  // Without -C, which writes a file of magic numbers, and -z, which runs programs that unpack.
  file: { flags: "biLhkr", long: ["brief", "mime", "mime-type", "mime-encoding", "dereference", "no-dereference"] },
  du: {
    flags: "abchkmsSx",
    values: "d",
    long: ["all", "apparent-size", "bytes", "total", "human-readable", "summarize", "max-depth", "exclude", "si"]
  },
  basename: { flags: "az", values: "s", long: ["multiple", "suffix"] },
  dirname: { flags: "z" },
  realpath: { flags: "emLPsqz", long: ["canonicalize-existing", "canonicalize-missing", "strip", "relative-to"] },
  readlink: { flags: "femnqsvz", long: ["canonicalize", "canonicalize-existing", "canonicalize-missing"] },
  // Without -o, which writes.
  tree: { flags: "adfhipsugDFLCnqQrtUvNx", values: "LIP", long: ["noreport", "dirsfirst", "prune", "du", "si"] },
  // Without -exec, -ok, -delete, -fprint and their kin, and without those that follow links.
  find: {
    words: {
      "-name": true,
      "-iname": true,
      "-path": true,
      "-ipath": true,
      "-regex": true,
      "-iregex": true,
      "-type": true,
      "-maxdepth": true,
      "-mindepth": true,
      "-size": true,
      "-mtime": true,
      "-mmin": true,
      "-atime": true,
      "-ctime": true,
      "-newer": true,
      "-user": true,
      "-group": true,
      "-perm": true,
      "-empty": false,
      "-not": false,
      "-a": false,
      "-and": false,
      "-o": false,
      "-or": false,
      "-print": false,
      "-print0": false,
      "-prune": false,
      "-xdev": false,
      "-depth": false,
      "-true": false,
      "-false": false
    }
  },
  // Without -R, which follows links out of the folder, and -f, which is of no use here.
  grep: {
    flags: "abcEFGhHilLnoqrsTvwxyzIP",
    values: "ABCem",
    long: [
      "recursive",
      "ignore-case",
      "line-number",
      "files-with-matches",
      "files-without-match",
      "count",
      "invert-match",
      "word-regexp",
      "line-regexp",
      "extended-regexp",
      "fixed-strings",
      "basic-regexp",
      "perl-regexp",
      "only-matching",
      "no-filename",
      "with-filename",
      "quiet",
      "silent",
      "no-messages",
      "include",
      "exclude",
      "exclude-dir",
      "color",
      "colour",
      "max-count",
      "after-context",
      "before-context",
      "context",
      "regexp",
      "binary-files",
      "text"
    ],
    number: true
  },
  // Without -o and --output, which write, --compress-program, which runs, and -T.
  sort: {
    flags: "bcCdfghimMnrRsuVz",
    values: "kt",
    long: [
      "reverse",
      "numeric-sort",
      "unique",
      "key",
      "field-separator",
      "ignore-case",
      "human-numeric-sort",
      "version-sort",
      "stable",
      "check",
      "zero-terminated",
      "general-numeric-sort",
      "month-sort"
    ]
  },
  // A second operand would be a file to write.
  uniq: { flags: "cdDiuz", values: "fsw", long: ["count", "repeated", "unique", "ignore-case"], operands: 1 },
  cut: {
    flags: "sz",
    values: "bcdf",
    long: ["bytes", "characters", "delimiter", "fields", "only-delimited", "complement"]
  },
  comm: { flags: "123z", long: ["nocheck-order", "check-order"], operands: 2 },
  cmp: { flags: "bls", values: "in", long: ["print-bytes", "silent", "quiet", "verbose", "bytes"], operands: 2 },
  // Without -r, which follows links, and -l, which runs another program.
  diff: {
    flags: "abBcdeEinNpqstTuwyZ",
    values: "CUW",
    long: [
      "brief",
      "unified",
      "context",
      "side-by-side",
      "ignore-all-space",
      "ignore-blank-lines",
      "ignore-case",
      "ignore-space-change",
      "new-file",
      "report-identical-files",
      "text",
      "color",
      "width"
    ],
    operands: 2
  },
  md5sum: CHECKSUM,
  sha1sum: CHECKSUM,
  sha256sum: CHECKSUM,
  sha512sum: CHECKSUM,
  cksum: { operands: 20 },
  uname: { flags: "asnrvmpio", long: ["all"], operands: 0 },
  whoami: { operands: 0 },
  id: { flags: "ugGnrz", operands: 1 },
  df: { flags: "ahHiklmPT", long: ["human-readable", "all", "inodes", "print-type", "si"] },
  strings: { flags: "af", values: "nt", long: ["all", "bytes", "radix"] }
}

/** Options of git that show a history or a difference. None writes a file (`--output`) or runs a program (`--ext-diff`). */
const SHOW: ProgramRules = {
  flags: "abcgimpqrstuwzBCMRW",
  values: "nGSULlO",
  long: [
    "oneline",
    "graph",
    "all",
    "decorate",
    "stat",
    "shortstat",
    "numstat",
    "dirstat",
    "summary",
    "name-only",
    "name-status",
    "patch",
    "no-patch",
    "raw",
    "since",
    "until",
    "after",
    "before",
    "author",
    "committer",
    "grep",
    "format",
    "pretty",
    "abbrev",
    "abbrev-commit",
    "no-abbrev-commit",
    "no-color",
    "color",
    "no-merges",
    "merges",
    "reverse",
    "follow",
    "first-parent",
    "max-count",
    "skip",
    "date",
    "date-order",
    "topo-order",
    "cached",
    "staged",
    "unified",
    "word-diff",
    "word-diff-regex",
    "check",
    "no-ext-diff",
    "no-textconv",
    "no-renames",
    "find-renames",
    "find-copies",
    "diff-filter",
    "ignore-all-space",
    "ignore-space-change",
    "ignore-space-at-eol",
    "ignore-blank-lines",
    "function-context",
    "text",
    "full-index",
    "binary",
    "exit-code",
    "quiet",
    "branches",
    "tags",
    "remotes",
    "left-right",
    "cherry-pick",
    "merge-base",
    "patience",
    "histogram",
    "minimal",
    "compact-summary",
    "relative",
    "no-prefix",
    "regexp-ignore-case",
    "no-notes",
    "no-decorate",
    "simplify-by-decoration",
    "ancestry-path",
    "source",
    "parents",
    "children"
  ],
  number: true
}

/** Commands of git. */
export const readOnlyGit: { readonly [command: string]: ProgramRules } = {
  status: {
    flags: "sbvzu",
    long: [
      "short",
      "branch",
      "porcelain",
      "long",
      "verbose",
      "untracked-files",
      "ignored",
      "show-stash",
      "ahead-behind",
      "no-ahead-behind",
      "renames",
      "no-renames",
      "column",
      "no-column"
    ]
  },
  log: SHOW,
  show: SHOW,
  diff: SHOW,
  // Without operands, which would make, move or delete branches and tags.
  branch: {
    flags: "arvl",
    long: ["all", "remotes", "list", "show-current", "verbose", "no-color", "color", "sort", "format", "column"],
    operands: 0
  },
  tag: { flags: "l", long: ["list", "sort", "format", "column", "no-color"], operands: 0 },
  remote: { flags: "v", long: ["verbose"], operands: 0 },
  stash: { first: ["list"], operands: 1 },
  worktree: { first: ["list"], long: ["porcelain"], operands: 1 },
  "rev-parse": {
    flags: "q",
    long: [
      "show-toplevel",
      "abbrev-ref",
      "short",
      "verify",
      "git-dir",
      "is-inside-work-tree",
      "symbolic-full-name",
      "show-prefix",
      "quiet",
      "is-bare-repository",
      "absolute-git-dir",
      "show-cdup"
    ]
  },
  "ls-files": {
    flags: "cdkmostuvz",
    values: "x",
    long: [
      "cached",
      "deleted",
      "modified",
      "others",
      "ignored",
      "stage",
      "unmerged",
      "exclude-standard",
      "exclude",
      "error-unmatch",
      "full-name",
      "abbrev",
      "directory"
    ]
  },
  "ls-tree": {
    flags: "dlrtz",
    long: ["name-only", "name-status", "full-name", "full-tree", "long", "abbrev", "object-only"]
  },
  blame: {
    flags: "bcefklMnpswtC",
    values: "LS",
    long: [
      "porcelain",
      "line-porcelain",
      "show-email",
      "show-name",
      "show-number",
      "date",
      "abbrev",
      "root",
      "incremental"
    ]
  },
  describe: {
    long: ["tags", "all", "always", "long", "abbrev", "dirty", "match", "exact-match", "contains", "first-parent"]
  },
  "merge-base": { flags: "a", long: ["all", "is-ancestor", "fork-point", "octopus", "independent"] },
  "rev-list": SHOW,
  // Not --textconv, --filters or --batch.
  "cat-file": { flags: "epst" },
  // Not -O, which opens a pager.
  grep: {
    flags: "acEFGhHiIlLnPqrvwWpz",
    values: "ABCem",
    long: [
      "ignore-case",
      "line-number",
      "files-with-matches",
      "name-only",
      "files-without-match",
      "count",
      "invert-match",
      "word-regexp",
      "extended-regexp",
      "fixed-strings",
      "perl-regexp",
      "cached",
      "untracked",
      "no-color",
      "color",
      "heading",
      "break",
      "context",
      "after-context",
      "before-context",
      "max-depth",
      "and",
      "or",
      "not",
      "all-match",
      "show-function",
      "function-context",
      "full-name"
    ],
    number: true
  }
}
