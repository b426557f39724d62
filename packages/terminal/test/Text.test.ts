/** Making text safe, measuring, wrapping and formatting it. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { stripVTControlCharacters } from "node:util"
import { diff, duration, markdown, plain, table, timeline } from "../src/Format.ts"
import { safeLine, sanitize } from "../src/Sanitize.ts"
import { makeStyle } from "../src/Style.ts"
import { displayWidth, pad, truncate, wrap, wrapLine } from "../src/Width.ts"

const anyText = fc.string({ unit: "binary", maxLength: 60 })
const nasty = fc.array(
  fc.oneof(
    anyText,
    fc.constantFrom(
      "\u001b[2J",
      "\u001b]8;;x\u0007",
      "\r",
      "\u009b31m",
      "\u202e",
      "\u200d",
      "\ud800",
      "\n",
      "\t",
      "👩‍👩‍👧",
      "é",
      "测"
    )
  ),
  { maxLength: 12 }
).map((parts) => parts.join(""))

describe("sanitize", () => {
  it("escapes what a terminal acts on and what nobody sees, and counts it", () => {
    assert.deepStrictEqual(sanitize("a\u001b[2Jb\rc"), { text: "a<U+001B>[2Jb<U+000D>c", escaped: 2 })
    assert.deepStrictEqual(sanitize("x\u009b1mx\u0000\u007f"), { text: "x<U+009B>1mx<U+0000><U+007F>", escaped: 3 })
    assert.deepStrictEqual(sanitize("r\u200dm \u2066ab\u2069 \ufeff"), {
      text: "r<U+200D>m <U+2066>ab<U+2069> <U+FEFF>",
      escaped: 4
    })
    assert.deepStrictEqual(sanitize("tag \u{e0041} lone \ud800"), { text: "tag <U+E0041> lone <U+D800>", escaped: 2 })
  })
  it("leaves alone what is text: other scripts, emoji and their joiners, line feeds and tabs", () => {
    for (const text of ["测试 émoji 👩‍👩‍👧 ❤️ 1️⃣", "می‌خواهم", "a\tb\nc", "𝒳 日本語", "שלום مرحبا"]) {
      assert.deepStrictEqual(sanitize(text), { text, escaped: 0 })
    }
    assert.deepStrictEqual(sanitize("a\r\nb"), { text: "a\nb", escaped: 0 })
  })
  it("never lets a control character through, and is idempotent", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const once = sanitize(text).text
        assert.notMatch(once.replace(/[\n\t]/g, ""), /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u)
        assert.deepStrictEqual(sanitize(once), { text: once, escaped: 0 })
        assert.notMatch(safeLine(text), /\p{Cc}/u)
      }),
      { numRuns: 2000 }
    )
  })
})

describe("width", () => {
  it("counts columns", () => {
    assert.strictEqual(displayWidth("测试"), 4)
    assert.strictEqual(displayWidth("👩‍👩‍👧"), 2)
    assert.strictEqual(displayWidth("e\u0301"), 1)
    assert.strictEqual(truncate("测试测试", 5), "测试…")
    assert.strictEqual(pad("测", 4, "right"), "  测")
  })
  it("wraps after spaces where there are any", () => {
    assert.deepStrictEqual(wrapLine("one two three", 8), ["one two ", "three"])
    assert.deepStrictEqual(wrapLine("测试测试", 5), ["测试", "测试"])
    assert.deepStrictEqual(wrap("a\tb\nc", 20), ["a       b", "c"])
  })
  it("drops nothing and keeps within the width", () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 2, max: 40 }), (text, width) => {
        const line = sanitize(text).text.replace(/[\n\t]/g, " ")
        const rows = wrapLine(line, width)
        assert.strictEqual(rows.join(""), line)
        for (const row of rows) assert.isTrue(displayWidth(row) <= width, JSON.stringify(row))
      }),
      { numRuns: 1000 }
    )
  })
  it("takes a line of 100 KB in less than a second", () => {
    const start = performance.now()
    assert.strictEqual(wrapLine("测a".repeat(50_000), 80).join("").length, 100_000)
    assert.isBelow(performance.now() - start, 1000)
  })
})

describe("format", () => {
  const style = makeStyle(true)
  it("tells the lines of a diff by the counts of its hunks", () => {
    const text =
      "--- a\n+++ b\n@@ -1,2 +1,2 @@ fn\n same\n--- gone\n+++ here\n@@ -9 +9 @@\n-x\n+y\n\\ No newline at end of file"
    assert.deepStrictEqual(diff(text), text.split("\n"))
    assert.deepStrictEqual(diff(text, { style }).map((row) => /^\p{Cc}\[(\d+)m/u.exec(row)?.[1] ?? "-"), [
      "1",
      "1",
      "36",
      "-",
      "31",
      "32",
      "36",
      "31",
      "32",
      "-"
    ])
  })
  it("keeps every character of markdown", () => {
    const text = "# Plan\n\n```sh\n# not a heading\n```\n> quote\n- item **bold**"
    assert.deepStrictEqual(markdown(text), text.split("\n"))
    const painted = markdown(text, { style })
    assert.strictEqual(painted[3], "\u001b[33m# not a heading\u001b[39m")
    assert.strictEqual(stripVTControlCharacters(painted.join("\n")), text)
  })
  it("never lets an escape sequence of the source through", () => {
    for (const format of [diff, markdown, plain]) assert.notInclude(format("+\u001b[31m").join(""), "\u001b")
  })
  it("aligns tables by columns, numbers to the right", () => {
    assert.deepStrictEqual(table(["model", "tokens"], [["flash", 1200], ["测试", "90"]]), [
      "model  tokens",
      "flash    1200",
      "测试       90"
    ])
    assert.deepStrictEqual(table(["name", "hit"], [["a very long name", "99.1%"]], { columns: 14 }), [
      "name       hit",
      "a very…  99.1%"
    ])
  })
  it("writes timelines and durations", () => {
    assert.deepStrictEqual(
      timeline([{ at: 0, text: "start" }, { at: 12_340, text: "a long way to the end" }], { columns: 22 }),
      [
        " 0.00 s  start",
        "12.34 s  a long way",
        "         to the end"
      ]
    )
    assert.deepStrictEqual([12, 1500, 59_999, 125_000].map(duration), ["12 ms", "1.5 s", "1 min 00 s", "2 min 05 s"])
  })
})
