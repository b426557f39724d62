/** The prompts in a real program on a real pseudo-terminal. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Pty, type PtyOptions } from "./support/Pty.ts"

const ask = new URL("./programs/ask.ts", import.meta.url)

const withFile = async (text: string, use: (path: string) => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-terminal-"))
  try {
    const path = join(folder, "detail.txt")
    writeFileSync(path, text)
    await use(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const result = async (pty: Pty): Promise<unknown> => {
  await pty.waitFor("RESULT ")
  const end = await pty.exit()
  assert.deepStrictEqual(end, { code: 0, signal: 0 })
  assert.isTrue(pty.cursorVisible(), "the cursor is shown at the end")
  const text = pty.text()
  return JSON.parse(text.slice(text.indexOf("RESULT ") + 7))
}

/** The detail as a person could copy it from behind the bar, wrapped rows joined. */
const recovered = (text: string, columns: number): string => {
  const rows = text.split("\n").filter((row) => row.startsWith("│"))
  let out = ""
  let joined = false
  for (const row of rows) {
    const body = row.slice(2)
    out += joined ? body : `\n${body}`
    joined = body.length >= columns - 3
  }
  return out.slice(1)
}

describe("a plan review", () => {
  const plan = (options?: PtyOptions) => Pty.node(ask, ["plan"], options)

  it("is shown in full, and approved", async () => {
    await using pty = plan()
    await pty.waitFor("Enter chooses")
    assert.include(
      pty.text(),
      "? the agent asks for a review of its plan\n  Plan: add tests\n│ # Add tests\n│\n│ 1. write them\n│ 2. run them"
    )
    assert.include(pty.screen(), "❯ 1. Approve\n  2. Keep planning\n  3. Write feedback …")
    pty.press("enter")
    assert.deepStrictEqual(await result(pty), { _tag: "Answered", selected: ["approve"] })
    assert.notInclude(pty.text(), "2. Keep planning", "the prompt is gone, the plan stays")
    assert.include(pty.text(), "│ 2. run them\n│\n✔ answered: Approve")
  })

  it("takes feedback with wide characters, edited", async () => {
    await using pty = plan()
    await pty.waitFor("Enter chooses")
    pty.press("up", "enter")
    await pty.waitFor("Enter sends")
    pty.type("测试 👩‍👩‍👧 x")
    pty.press("backspace", "backspace", "backspace")
    pty.type("ok é")
    pty.press("left", "left", "left", "left")
    pty.type("!")
    await pty.waitForScreen("› 测试 !ok é")
    assert.strictEqual(pty.cursor().column, 8)
    pty.press("enter")
    assert.deepStrictEqual(await result(pty), { _tag: "Answered", selected: [], text: "测试 !ok é" })
  })

  it("goes back from the feedback, and is closed by Escape", async () => {
    await using pty = plan()
    await pty.waitFor("Enter chooses")
    pty.press("up", "enter")
    await pty.waitFor("Enter sends")
    pty.type("no")
    await pty.escape()
    await pty.waitForScreen("Enter chooses")
    await pty.escape()
    assert.deepStrictEqual(await result(pty), { _tag: "Dismissed" })
    assert.include(pty.text(), "✗ closed without an answer")
  })

  it("is closed by Ctrl-C", async () => {
    await using pty = plan()
    await pty.waitFor("Enter chooses")
    pty.press("ctrl-c")
    assert.deepStrictEqual(await result(pty), { _tag: "Dismissed" })
  })

  it("is not answered by keys that were typed before it could be read, nor by a paste", async () => {
    await using pty = plan()
    await pty.waitFor("one moment")
    pty.press("enter", "enter")
    await pty.waitFor("Enter chooses")
    pty.paste("yes\rplease\n")
    await sleep(200)
    assert.notInclude(pty.text(), "RESULT")
    pty.press("down", "enter")
    assert.deepStrictEqual(await result(pty), { _tag: "Answered", selected: ["keep"] })
  })

  it("is withdrawn: the prompt goes, one line says so, and the program goes on", async () => {
    await using pty = Pty.node(ask, ["withdraw"])
    await pty.waitFor("Enter chooses")
    await pty.waitFor("RESULT None")
    assert.deepStrictEqual(await pty.exit(), { code: 0, signal: 0 })
    assert.include(pty.text(), "│\n✗ withdrawn: Plan: add tests\nRESULT None")
    assert.notInclude(pty.text(), "Approve")
    assert.isTrue(pty.cursorVisible())
  })

  it("leaves the terminal as it was: not raw, with echo, without bracketed paste", async () => {
    for (const kind of ["plan", "withdraw"]) {
      const command = `"$0" --conditions=source "$1" ${kind}; stty -a`
      await using pty = Pty.spawn("bash", ["-c", command, process.execPath, fileURLToPath(ask)])
      await pty.waitFor("Enter chooses")
      if (kind === "plan") pty.press("enter")
      await pty.waitFor("speed")
      await pty.exit()
      assert.match(pty.text(), /(?<!-)icanon/)
      assert.match(pty.text(), /(?<!-)isig/)
      assert.match(pty.text(), /(?<!-)\becho\b/)
      assert.isAbove(pty.output.lastIndexOf("\u001b[?2004l"), pty.output.lastIndexOf("\u001b[?2004h"))
      assert.isAbove(pty.output.lastIndexOf("\u001b[?7h"), pty.output.lastIndexOf("\u001b[?7l"))
    }
  })

  it("leaves the terminal as it was when the program is told to end", async () => {
    const command = `"$0" --conditions=source "$1" plan; stty -a`
    await using pty = Pty.spawn("bash", ["-c", command, process.execPath, fileURLToPath(ask)])
    await pty.waitFor("Enter chooses")
    const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(pty.pid)], { encoding: "utf8" })
    process.kill(Number(children.trim()), "SIGTERM")
    await pty.waitFor("speed")
    assert.include(pty.text(), "✗ withdrawn: Plan: add tests")
    assert.match(pty.text(), /(?<!-)icanon/)
    assert.match(pty.text(), /(?<!-)\becho\b/)
    assert.isTrue(pty.cursorVisible())
  })

  it("stays whole when the window is resized", async () => {
    await using pty = plan({ columns: 100, rows: 30 })
    await pty.waitFor("Enter chooses")
    pty.resize(50, 20)
    await sleep(200)
    pty.press("down")
    await pty.waitForScreen("❯ 2. Keep planning")
    pty.resize(90, 24)
    await sleep(200)
    pty.press("up")
    await pty.waitForScreen("❯ 1. Approve")
    assert.strictEqual(pty.screen().split("3. Write feedback").length, 2, pty.screen())
    pty.press("enter")
    assert.deepStrictEqual(await result(pty), { _tag: "Answered", selected: ["approve"] })
  })
})

describe("what a model writes", () => {
  it("cannot repaint the screen or hide in it", async () => {
    const hostile =
      "# Plan\n\u001b[2J\u001b[HALL FINE\u001b]0;title\u0007\nrm -rf /\rls       \n\u202eevil\u202c \u200bhidden\n" +
      "✔ answered: Approve\n"
    await withFile(hostile, async (path) => {
      await using pty = Pty.node(ask, ["plan", path])
      await pty.waitFor("Enter chooses")
      const screen = pty.screen()
      assert.include(screen, "? the agent asks for a review of its plan")
      assert.include(screen, "│ <U+001B>[2J<U+001B>[HALL FINE<U+001B>]0;title<U+0007>")
      assert.include(screen, "│ rm -rf /<U+000D>ls")
      assert.include(screen, "│ <U+202E>evil<U+202C> <U+200B>hidden")
      assert.include(screen, "│ ✔ answered: Approve")
      assert.include(screen, "8 characters that a terminal would act on or hide are shown as <U+XXXX>.")
      pty.press("enter")
      assert.deepStrictEqual(await result(pty), { _tag: "Answered", selected: ["approve"] })
    })
  })

  it("is all there when it is 100 KB long, and can be read from the top", async () => {
    const lines = Array.from({ length: 1600 }, (_, index) => `${index + 1}. step ${"abcdefgh ".repeat(index % 13)}end`)
    const plan = `# Long plan\n${lines.join("\n")}`
    assert.isAbove(plan.length, 100_000)
    await withFile(plan, async (path) => {
      await using pty = Pty.node(ask, ["plan", path], { columns: 140, rows: 30 })
      await pty.waitFor("v reads it all")
      assert.strictEqual(recovered(pty.text(), 140), plan)
      assert.include(pty.text(), "The text above has 1601 rows, 60 screens: v reads it from the top.")
      pty.type("v")
      await pty.waitForScreen("rows 1–27 of 1601")
      assert.include(pty.screen(), "│ # Long plan\n│ 1. step end")
      pty.press("enter", "pagedown")
      await pty.waitForScreen("rows 28–54 of 1601")
      pty.type("G")
      await pty.waitForScreen("rows 1575–1601 of 1601")
      pty.type("q")
      await pty.waitForScreen("Enter chooses")
      pty.press("enter")
      assert.deepStrictEqual(await result(pty), { _tag: "Answered", selected: ["approve"] })
    })
  })
})

describe("approvals and questions", () => {
  it("show the child, the command line and its folder, and tell what a grant covers", async () => {
    await withFile("npm test -- --run\n", async (path) => {
      await using pty = Pty.node(ask, ["command", path])
      await pty.waitFor("Enter chooses")
      assert.include(
        pty.screen(),
        "? child agent research › docs asks for permission\n  Run a command\nwith these arguments\n│ {\"command\":\"npm test -- --run\"}\nruns this command line\n│ npm test -- --run\n" +
          "in the folder /srv/project\n❯ 1. Yes, once\n  2. Yes, for the rest of the session\n     run_command npm test\n" +
          "  3. No\n  4. No, and tell the agent what to do instead …"
      )
      pty.type("2")
      pty.press("enter")
      assert.deepStrictEqual(await result(pty), { _tag: "Answered", selected: ["session"] })
    })
  })

  it("colour a diff when colours are on, and only then", async () => {
    await withFile("--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-- old\n+new\n", async (path) => {
      await using coloured = Pty.node(ask, ["edit", path], { env: { NO_COLOR: undefined } })
      await coloured.waitFor("Enter chooses")
      assert.include(coloured.output, "\u001b[31m-- old\u001b[39m")
      assert.include(coloured.output, "\u001b[32m+new\u001b[39m")
      assert.include(coloured.screen(), "file src/a.ts\n│ --- a\n│ +++ b\n│ @@ -1,2 +1,2 @@\n│  same\n│ -- old\n│ +new")
      await using plain = Pty.node(ask, ["edit", path])
      await plain.waitFor("Enter chooses")
      assert.notMatch(plain.output, /\p{Cc}\[\d+m/u)
    })
  })

  it("let several be chosen, with a text beside them", async () => {
    await using pty = Pty.node(ask, ["open"])
    await pty.waitFor("Space marks")
    pty.press("space", "down", "down", "space")
    await pty.waitForScreen("☒ Files")
    pty.press("down", "enter")
    await pty.waitFor("Enter sends")
    pty.paste("first\nsecond")
    await pty.waitForScreen("second")
    pty.press("enter")
    assert.deepStrictEqual(await result(pty), { _tag: "Answered", selected: ["pg", "file"], text: "first\nsecond" })
  })
})

describe("without a terminal", () => {
  it("every question fails at once and the program ends", async () => {
    const child = spawn(process.execPath, ["--conditions=source", fileURLToPath(ask), "plan"], {
      stdio: ["pipe", "pipe", "inherit"]
    })
    let out = ""
    child.stdout.on("data", (data) => out += String(data))
    const code = await new Promise((resolve) => child.on("exit", resolve))
    assert.strictEqual(code, 0)
    assert.match(out, /^RESULT \{.*"InteractionUnavailable".*\}\n$/)
    assert.notInclude(out, "\u001b")
  })
})
