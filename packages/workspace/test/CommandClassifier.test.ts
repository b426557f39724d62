import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { CurrentCall, ToolCatalog } from "@holdfast/core"
import { execFileSync } from "node:child_process"
import { existsSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { classifyCommand, CommandTools, Workspace } from "../src/index.ts"
import { type ProgramRules, readOnlyGit, readOnlyPrograms } from "../src/ReadOnlyPrograms.ts"
import { call, caller, put, temporaryFolder, tools } from "./support.ts"

const all = (lines: ReadonlyArray<string>, expected: "read" | "danger") => {
  for (const line of lines) assert.strictEqual(classifyCommand(line), expected, line)
}

describe("classifyCommand", () => {
  it("case 5: plain reading commands pass", () =>
    all([
      "ls",
      "ls -la src",
      "cat f",
      "cat -n src/a.ts",
      "head -5 f",
      "head -n 20 f",
      "tail -n 3 f",
      "wc -l f",
      "pwd",
      "git status",
      "git status --short -b",
      "git log --oneline -10",
      "git diff",
      "git diff --stat HEAD~1 -- src/a.ts",
      "git show HEAD:src/a.ts",
      "git branch -a",
      "git --no-pager log -n 3 --format=%h",
      "git rev-parse --abbrev-ref HEAD",
      "git log main..HEAD",
      "git grep -n needle",
      "git ls-files -o --exclude-standard",
      "git blame -L 1,5 f",
      "git stash list",
      "git remote -v",
      "find . -name '*.ts' -type f",
      "find src -maxdepth 2 -not -empty",
      "grep -rn needle src",
      "grep -n -e 'two words' f",
      "grep --include='*.ts' -r x .",
      "sort -rn f",
      "sort -k 2 -t , f",
      "uniq -c f",
      "diff a b",
      "du -sh .",
      "stat f",
      "file f",
      "tree -L 2",
      "sha256sum f",
      "cat \u00fcbung.txt"
    ], "read"))

  it("case 5: nothing that joins, redirects or substitutes passes, in quotes or not", () =>
    all([
      "echo x > f",
      "cat a > b",
      "cat a >> b",
      "ls 2> f",
      "ls >| f",
      "ls &> f",
      "cat < f",
      "ls ; rm f",
      "ls;rm f",
      "ls && rm f",
      "ls || rm f",
      "ls & rm f",
      "ls &",
      "ls | tee f",
      "ls |& tee f",
      "ls\nrm f",
      "ls\r\nrm f",
      "cat `rm f`",
      "cat $(rm f)",
      "cat ${x}",
      "cat $x",
      "cat <(rm f)",
      "cat <<EOF\nx\nEOF",
      "cat <<< x",
      "(ls)",
      "{ ls; }",
      "ls # comment",
      "ls \\\n-la",
      "grep 'a;b' f",
      "grep \"a|b\" f",
      "cat 'a$b'",
      "ls {a,b}",
      "ls !x",
      "! ls",
      "cat a\\ b"
    ], "danger"))

  it("case 6: tails that write, in POSIX and in PowerShell", () =>
    all([
      "cat f | tee g",
      "cat f | xargs rm",
      "find . -name x | xargs rm",
      "git diff | patch -R",
      "cat f | sh",
      "Get-Content f | Set-Content g",
      "Get-Content f | Out-File g",
      "Set-Content g x",
      "Add-Content g x",
      "Remove-Item g",
      "ls | ForEach-Object { rm $_ }",
      "Out-File -FilePath g",
      "gc f > g",
      "New-Item g",
      "Copy-Item a b",
      "sc g x",
      "cat f |Set-Content g",
      "ls; Remove-Item -Recurse .",
      "iex x",
      "Invoke-Expression x",
      "cmd /c del f",
      "del f"
    ], "danger"))

  it("case 8: what is not fully understood is refused", () =>
    all([
      "",
      "   ",
      "cd other && git status",
      "cd other",
      "git -C other status",
      "cat <<EOF\nx\nEOF\nrm f",
      "FOO=1 ls",
      "PATH=. ls",
      "env ls",
      "command ls",
      "exec ls",
      "eval ls",
      "time ls",
      "nohup ls",
      "sudo ls",
      "xargs ls",
      "builtin ls",
      "./ls",
      "/bin/ls",
      "bin/ls",
      "cat 'open",
      "cat \"open",
      "ls --unknown",
      "ls \u00a0f",
      "ls \u2028rm",
      "cat f\u0000",
      "ls\u001b",
      "cat *",
      "cat src/*.ts",
      "sort *",
      "sort *\"x\"",
      "sort \"\"*",
      "ls [a]",
      "ls ?",
      "=ls",
      "constructor",
      "toString",
      "__proto__",
      "git constructor",
      "ls ^a"
    ], "danger"))

  it("options that write, run or follow", () =>
    all([
      "find . -delete",
      "find . -exec rm x +",
      "find . -execdir rm x +",
      "find . -ok rm x",
      "find . -fprint f",
      "find . -fls f",
      "find -L . -name x",
      "find . -name",
      "git -c core.pager=x log",
      "git log --output=f",
      "git diff --output f",
      "git diff --ext-diff",
      "git log --textconv",
      "git grep -O needle",
      "git grep --open-files-in-pager x",
      "git --exec-path=. status",
      "git --git-dir=x status",
      "git -p log",
      "git --paginate log",
      "git --config-env=a=b log",
      "git branch new",
      "git branch -d x",
      "git branch -D x",
      "git tag v1",
      "git tag -d v1",
      "git remote add a b",
      "git remote show origin",
      "git stash",
      "git stash pop",
      "git stash drop",
      "git worktree add x",
      "git config user.name x",
      "git checkout .",
      "git reset --hard",
      "git clean -fd",
      "git fetch",
      "git pull",
      "git log --format=%GG",
      "git log --pretty=format:%G?",
      "git log --show-signature",
      "git reflog expire --all",
      "git",
      "git --no-pager",
      "sort -o f g",
      "sort -of g",
      "sort --output=f g",
      "sort --output f g",
      "sort -no f g",
      "sort --compress-program=x f",
      "sort -T x f",
      "uniq a b",
      "uniq -c a b",
      "uniq -f 1 a b",
      "tree -o f",
      "tree -R",
      "tail -f f",
      "tail -F f",
      "tail --follow f",
      "file -C -m f",
      "file -z f",
      "diff -l a b",
      "sed -i s/a/b/ f",
      "sed -n 1p f",
      "tar -xf f",
      "tar cf a b",
      "awk 1 f",
      "grep -R x .",
      "ls --hyperlink",
      "date -s x",
      "hostname x",
      "xxd -r a b",
      "cp a b",
      "mv a b",
      "rm f",
      "touch f",
      "mkdir d",
      "ln -s a b",
      "chmod +x f",
      "dd of=f",
      "tee f",
      "truncate -s 0 f",
      "install a b",
      "rg --pre x y",
      "less f",
      "more f",
      "vi f",
      "curl x",
      "wget x",
      "make",
      "npm test",
      "node x",
      "python x",
      "sh x",
      "bash -c ls"
    ], "danger"))

  it("paths that lead out of the folder", () =>
    all([
      "cat /etc/passwd",
      "cat ../f",
      "cat src/../../f",
      "ls ~",
      "cat ~/.ssh/id_rsa",
      "cat ~root/x",
      "ls ..",
      "find / -name x",
      "grep --include=/etc/x y",
      "grep --exclude-dir=../x y",
      "git diff -- ../x",
      "git show HEAD:../x",
      "cat '/etc/passwd'",
      "cat \"../f\""
    ], "danger"))

  it("case 9: the list has no interpreter, package manager, compiler, test runner or downloader", () => {
    const excluded = new Set((
      "sh bash dash zsh fish ksh csh tcsh pwsh powershell cmd busybox toybox python python2 python3 pypy node nodejs deno bun " +
      "ruby irb perl php lua luajit Rscript R julia java kotlin scala groovy clojure clj erl elixir iex ghci runghc ocaml " +
      "racket guile tclsh expect awk gawk mawk nawk sed jq yq bc dc m4 ed ex vi vim nvim emacs nano less more man " +
      "npm npx pnpm yarn corepack pip pip3 pipx poetry uv uvx conda mamba gem bundle rake cargo rustup go gofmt composer " +
      "brew apt apt-get dpkg yum dnf rpm apk pacman snap nix nix-shell guix dotnet nuget mvn gradle sbt lein mix rebar3 " +
      "gcc g++ cc c++ clang clang++ rustc javac tsc swc esbuild ld as make cmake ninja meson bazel buck scons ant just task " +
      "jest vitest mocha ava tap pytest tox nose phpunit rspec ctest karma cypress playwright eslint prettier " +
      "curl wget aria2c fetch http https ftp sftp scp rsync ssh nc ncat socat telnet " +
      "env xargs parallel find-exec watch time timeout nohup nice ionice setsid script screen tmux sudo su doas chroot " +
      "docker podman kubectl git-shell tar zip unzip gzip gunzip zcat bzip2 xz cpio dd tee cp mv rm ln mkdir rmdir touch " +
      "chmod chown install truncate split csplit patch xxd rg ag ack fd eval exec source command builtin"
    ).split(" "))
    for (const program of Object.keys(readOnlyPrograms)) assert.isFalse(excluded.has(program), program)
    for (const command of Object.keys(readOnlyGit)) {
      assert.notInclude([
        "commit",
        "push",
        "pull",
        "fetch",
        "clone",
        "config",
        "checkout",
        "switch",
        "reset",
        "clean",
        "apply",
        "am",
        "rebase",
        "merge",
        "bisect",
        "submodule",
        "filter-branch",
        "gc",
        "init",
        "add",
        "rm",
        "mv",
        "restore",
        "difftool",
        "mergetool",
        "daemon",
        "archive",
        "bundle",
        "format-patch",
        "notes",
        "update-ref",
        "reflog"
      ], command)
    }
  })

  it("case 9: no rule has an option that writes, runs or follows", () => {
    const names =
      /^(output|exec|pre$|pager|open|ext-diff|textconv|filters|compress|in-place|write|delete$|files0|follow-links|upload|receive|config)/
    const check = (name: string, rules: ProgramRules) => {
      for (const option of rules.long ?? []) assert.notMatch(option, names, `${name} --${option}`)
    }
    for (const [name, rules] of Object.entries(readOnlyPrograms)) check(name, rules)
    for (const [name, rules] of Object.entries(readOnlyGit)) check(`git ${name}`, rules)
    for (const word of Object.keys(readOnlyPrograms["find"]!.words!)) {
      assert.notMatch(word, /exec|ok|delete|fprint|fls|follow/)
    }
  })

  it.prop("adding anything that a shell gives a meaning to makes a command dangerous", {
    at: Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 30 }))),
    mark: Schema.Literals([
      ";",
      "|",
      "&",
      ">",
      "<",
      "`",
      "$",
      "(",
      ")",
      "{",
      "}",
      "\\",
      "\n",
      "\r",
      "#",
      "!",
      "^",
      "\0"
    ])
  }, ({ at, mark }) => {
    for (const line of ["git log --oneline -n 5 -- src", "find . -name 'a b' -type f", "cat -n \"a b\" f"]) {
      assert.strictEqual(classifyCommand(line.slice(0, at) + mark + line.slice(at)), "danger")
    }
  })
})

describe("readOnlyCommands", () => {
  const open = (root: string, readOnlyCommands: boolean) =>
    tools(CommandTools.layer({ readOnlyCommands })).pipe(Layer.provide(Workspace.layer({ root })))

  const judge = (command: string, from = caller()) =>
    Effect.gen(function*() {
      const tool = (yield* ToolCatalog).get("run_command")!
      const classify = tool.traits.classify
      const context = from.context("judged", new Map())
      return classify === undefined
        ? tool.safety
        : (yield* Effect.provideService(classify({ command }, context), CurrentCall, context)).safety
    })

  it.live("is off unless asked for", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      assert.strictEqual(yield* judge("ls").pipe(Effect.provide(open(root, false))), "danger")
      assert.strictEqual(yield* judge("ls").pipe(Effect.provide(open(root, true))), "read")
    }))

  it.live("a link out of the workspace is not read unasked", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      yield* put(folder, { "root/f": "", "out/secret": "" })
      const root = join(folder, "root")
      symlinkSync(join(folder, "out"), join(root, "link"))
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* judge("cat f"), "read")
        assert.strictEqual(yield* judge("cat link/secret"), "danger")
        assert.strictEqual(yield* judge("find link -name x"), "danger")
      }).pipe(Effect.provide(open(root, true)))
    }))

  it.live("nor is one in the folder of a session that has its own", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      yield* put(folder, { "root/f": "", "child/f": "mine", "out/secret": "secret" })
      symlinkSync(join(folder, "out"), join(folder, "child/link"))
      yield* Effect.gen(function*() {
        const child = caller({ cwd: join(folder, "child") })
        // There is no such link in the root; the call is judged by the folder that it runs in.
        assert.strictEqual(yield* judge("cat link/secret"), "read")
        assert.strictEqual(yield* judge("cat link/secret", child), "danger")
        assert.match((yield* call(child, "run_command", { command: "cat f" })).text, /^mine/)
      }).pipe(Effect.provide(open(join(folder, "root"), true)))
    }))

  it.live("what runs unasked does not run a program of the workspace", () =>
    Effect.gen(function*() {
      const root = yield* temporaryFolder
      yield* put(root, { "bin/ls": "#!/bin/sh\ntouch ran\n", f: "" })
      execFileSync("chmod", ["+x", join(root, "bin/ls")])
      execFileSync("git", ["init", "-q", "."], { cwd: root })
      execFileSync("git", ["config", "core.fsmonitor", "touch ran; echo"], { cwd: root })
      const path = process.env["PATH"]
      process.env["PATH"] = `${join(root, "bin")}:${path}`
      yield* Effect.addFinalizer(() => Effect.sync(() => void (process.env["PATH"] = path)))
      yield* Effect.gen(function*() {
        assert.match((yield* call(caller(), "run_command", { command: "ls" })).text, /\bf\n/)
        assert.match((yield* call(caller(), "run_command", { command: "git status --short" })).text, /\?\? f\n/)
        assert.isFalse(existsSync(join(root, "ran")))
      }).pipe(Effect.provide(open(root, true)))
    }))
})
