import { repairArguments } from "@holdfast/deepseek"
import { assert, describe, it } from "@effect/vitest"
import { makeScanner } from "../src/Markup.ts"

const scan = (...fragments: ReadonlyArray<string>): string | undefined => {
  const scanner = makeScanner()
  let out = ""
  for (const fragment of fragments) {
    const text = scanner.push(fragment)
    if (text === undefined) return undefined
    out += text
  }
  return out + scanner.rest()
}

const splits = (text: string) =>
  Array.from({ length: text.length + 1 }, (_, i) => [text.slice(0, i), text.slice(i)] as const)

describe("the markup scanner", () => {
  it("case 161: knows every spelling, cut anywhere, one character at a time too", () => {
    const markers = [
      "<｜DSML｜tool_calls>",
      "<｜｜DSML｜｜ calls>",
      "<‖DSML‖invoke name=\"x\">",
      "<|DSML|parameter name=\"x\">",
      "<||DSML||tool_calls>",
      "</｜DSML｜tool_calls>",
      "< ｜DSML｜ invoke>",
      "<｜tool▁calls▁begin｜>",
      "<｜tool_call_begin｜>"
    ]
    for (const marker of markers) {
      const text = `Some text. ${marker} more`
      for (const [a, b] of splits(text)) assert.strictEqual(scan(a, b), undefined, `${a}~${b}`)
      assert.strictEqual(scan(...text), undefined)
    }
  })

  it("passes everything else unchanged, cut anywhere", () => {
    const texts = [
      "if (a < b || c <| d) <div> <|im_start|> <｜end｜> <DSML> <｜DSM｜ x",
      "a <｜tool box｜> and <｜tools｜>",
      "DSML without brackets ｜DSML｜",
      "ends with <",
      "ends with <｜｜",
      "quoted `<｜DSML｜invoke>` in prose",
      "<<<｜x",
      ""
    ]
    for (const text of texts) {
      for (const [a, b] of splits(text)) assert.strictEqual(scan(a, b), text)
      assert.strictEqual(scan(...text), text)
    }
  })

  it("holds back no more than the beginning of a marker", () => {
    const scanner = makeScanner()
    assert.strictEqual(scanner.push("text <｜"), "text ")
    assert.strictEqual(scanner.push("other> and on"), "<｜other> and on")
  })
})

describe("repairArguments", () => {
  it("leaves good arguments alone", () => {
    for (const text of ["{}", "{\"a\": 1}", " {\"a\": {\"b\": []}} \n"]) assert.strictEqual(repairArguments(text), text)
  })

  it("adds one brace or takes one away", () => {
    assert.strictEqual(repairArguments("{\"a\": {\"b\": \"c\"}"), "{\"a\": {\"b\": \"c\"}}")
    assert.strictEqual(repairArguments("{\"a\": \"b\""), "{\"a\": \"b\"}")
    assert.strictEqual(repairArguments("{\"a\": [1]\n"), "{\"a\": [1]}")
    assert.strictEqual(repairArguments("{\"a\": 1}}"), "{\"a\": 1}")
  })

  it("case 152: refuses everything that could mean something else", () => {
    for (
      const text of [
        "",
        "null",
        "[1]",
        "\"text\"",
        "{\"a\": 1",
        "{\"a\": tru",
        "{\"a\": \"cut",
        "{\"a\": 1}}}",
        "{\"a\": {\"b\": {\"c\": 1}",
        "{\"a\": 1}, \"b\": 2}",
        "{\"a\": 1} extra",
        "{'a': 1}"
      ]
    ) {
      assert.strictEqual(repairArguments(text), undefined, text)
    }
  })

  it("case 152: repairs a cut text only where the whole text has just that brace missing", () => {
    const text = "{\"path\": \"/tmp/a\", \"edits\": [{\"old\": \"x\", \"new\": \"y\"}]}"
    for (let cut = 0; cut < text.length - 1; cut++) {
      const repaired = repairArguments(text.slice(0, cut))
      // A cut that ends at a value of the outer object cannot be told from a missing brace; nothing else is touched.
      if (repaired !== undefined) assert.strictEqual(repaired, text.slice(0, cut) + "}")
    }
    assert.strictEqual(repairArguments(text.slice(0, -1)), text)
  })
})
