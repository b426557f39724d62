import type { ModelPart, TransportError } from "@holdfast/core"
import { deepseek } from "@holdfast/deepseek"
import { assert, describe, it } from "@effect/vitest"
import { Assembly } from "../src/Assembly.ts"
import { callStart, callText, chunk, usage } from "./server.ts"

interface Read {
  readonly parts: Array<ModelPart>
  readonly error: TransportError | undefined
}

const read = (...chunks: ReadonlyArray<unknown>): Read => {
  const assembly = new Assembly({ usage: deepseek.usage, leakedMarkup: "fail", maxTokens: 1000 })
  const parts: Array<ModelPart> = []
  for (const value of chunks) {
    const error = assembly.push(value, parts)
    if (error !== undefined) return { parts, error }
  }
  return { parts, error: assembly.end(parts) }
}

const callsOf = (parts: ReadonlyArray<ModelPart>) =>
  parts.flatMap((part) => part._tag === "ToolCall" ? [[part.id, part.name, part.arguments]] : [])
const finishOf = (parts: ReadonlyArray<ModelPart>) => parts.find((part) => part._tag === "Finish")?.reason
const delta = (...calls: ReadonlyArray<unknown>) => chunk({ tool_calls: calls })
const fn = (name: string | undefined, args: string, more: object = {}) => ({
  ...more,
  function: { ...(name === undefined ? {} : { name }), arguments: args }
})
const toolCalls = chunk({}, "tool_calls")

describe("tool calls", () => {
  it("come together by index, also interleaved", () => {
    const { parts } = read(
      callStart(0, "a"),
      callStart(1, "b"),
      callText(1, "{\"n\":"),
      callText(0, "{}"),
      callText(1, "1}"),
      toolCalls
    )
    assert.deepStrictEqual(callsOf(parts), [["call_00_abc", "a", "{}"], ["call_01_abc", "b", "{\"n\":1}"]])
  })

  it("may start at any index", () => {
    assert.deepStrictEqual(callsOf(read(callStart(3, "a", "x"), callText(3, "{}"), toolCalls).parts), [[
      "x",
      "a",
      "{}"
    ]])
  })

  it("may all have the same index", () => {
    const { parts } = read(
      delta(fn("a", "{\"n\":1}", { index: 0, id: "x" })),
      delta(fn("b", "{\"n\":", { index: 0, id: "y" })),
      delta(fn(undefined, "2}", { index: 0 })),
      delta(fn("c", "{}", { index: 0 })),
      toolCalls
    )
    assert.deepStrictEqual(callsOf(parts), [["x", "a", "{\"n\":1}"], ["y", "b", "{\"n\":2}"], ["", "c", "{}"]])
  })

  it("may have no index", () => {
    const { parts } = read(
      delta(fn("a", "{\"n\":", { id: "x" })),
      delta(fn(undefined, "1}")),
      delta(fn("b", "", { id: "y" })),
      delta(fn(undefined, "{}", { id: "y" })),
      toolCalls
    )
    assert.deepStrictEqual(callsOf(parts), [["x", "a", "{\"n\":1}"], ["y", "b", "{}"]])
  })

  it("may have missing, blank or equal ids, and repeat name and id in every fragment", () => {
    const { parts } = read(
      delta(fn("a", "{", { index: 0, id: " " }), fn("b", "{", { index: 1, id: "same" })),
      delta(fn("a", "}", { index: 0 }), fn("b", "}", { index: 1, id: "same" })),
      delta(fn("c", "{}", { index: 2, id: "same" })),
      toolCalls
    )
    assert.deepStrictEqual(callsOf(parts), [["", "a", "{}"], ["same", "b", "{}"], ["same", "c", "{}"]])
  })

  it("are not begun by fragments with nothing in them", () => {
    const { error, parts } = read(
      chunk({ reasoning_content: "a", tool_calls: [] }),
      delta({ index: 0 }),
      delta({ index: 0, function: {} }, null),
      chunk({ reasoning_content: "b", tool_calls: null }),
      chunk({ content: "hi" }, "stop")
    )
    assert.strictEqual(error, undefined)
    assert.deepStrictEqual(parts.map((part) => part._tag), ["Reasoning", "Reasoning", "Text", "Finish"])
  })

  it("may send arguments as an object", () => {
    const { parts } = read(delta({ index: 0, function: { name: "a", arguments: { n: 1 } } }), toolCalls)
    assert.deepStrictEqual(callsOf(parts), [["", "a", "{\"n\":1}"]])
  })

  it("case 154: a call with broken arguments among three leaves the other two as they are", () => {
    const { error, parts } = read(
      callStart(0, "a"),
      callText(0, "{}"),
      callStart(1, "b"),
      callText(1, "{\"x\": nonsense"),
      callStart(2, "c"),
      callText(2, "{}"),
      toolCalls
    )
    assert.strictEqual(error, undefined)
    assert.deepStrictEqual(callsOf(parts).map((call) => call[2]), ["{}", "{\"x\": nonsense", "{}"])
  })

  it("case 155: arguments of the wrong shape pass as they were written", () => {
    const { parts } = read(callStart(0, "a"), callText(0, "{\"list\": \"[1, 2]\", \"x\": null}"), toolCalls)
    assert.strictEqual(callsOf(parts)[0]![2], "{\"list\": \"[1, 2]\", \"x\": null}")
  })

  it("repairs one brace, and keeps what the model wrote", () => {
    const { parts } = read(callStart(0, "a"), callText(0, "{\"a\": {\"b\": 1}"), toolCalls)
    const call = parts.find((part) => part._tag === "ToolCall")!
    assert.strictEqual(call.arguments, "{\"a\": {\"b\": 1}}")
    assert.strictEqual(call.received, "{\"a\": {\"b\": 1}")
  })

  it("case 152: are not repaired in a reply that reached its limit, whatever reason the server gives", () => {
    const cut = "{\"path\": \"a\""
    const at = (completion_tokens: number) =>
      read(callStart(0, "a"), callText(0, cut), chunk({}, "tool_calls", { completion_tokens })).parts
    assert.strictEqual(callsOf(at(1000))[0]![2], cut)
    assert.strictEqual(callsOf(at(999))[0]![2], cut + "}")
  })

  it("are put together at a cost that is linear in their length", () => {
    const megabyte = (fragments: number) => {
      const assembly = new Assembly({ usage: deepseek.usage, leakedMarkup: "fail", maxTokens: 1000 })
      const parts: Array<ModelPart> = []
      assembly.push(callStart(0, "write_file"), parts)
      assembly.push(callText(0, "{\"text\": \""), parts)
      const fragment = callText(0, "abcd")
      const start = performance.now()
      for (let i = 0; i < fragments; i++) {
        assembly.push(fragment, parts)
        parts.length = 0
      }
      assembly.push(callText(0, "\"}"), parts)
      assembly.push(toolCalls, parts)
      assembly.end(parts)
      const call = parts.find((part) => part._tag === "ToolCall")!
      assert.strictEqual(call.arguments.length, fragments * 4 + 12)
      return performance.now() - start
    }
    megabyte(10_000)
    const small = Math.min(megabyte(65_536), megabyte(65_536))
    const large = Math.min(megabyte(262_144), megabyte(262_144))
    assert.isBelow(large, small * 12 + 20)
  })
})

describe("a reply cut at its limit", () => {
  it("case 152: with `length` the call that was being written is dropped, whatever it looks like", () => {
    const text = "{\"path\": \"a\"}"
    for (let cut = 0; cut <= text.length; cut++) {
      const { error, parts } = read(callStart(0, "a"), callText(0, text.slice(0, cut)), chunk({}, "length", usage))
      assert.strictEqual(error, undefined)
      assert.deepStrictEqual(callsOf(parts), [])
      assert.strictEqual(finishOf(parts), "length")
    }
  })

  it("case 152: a call before it stays only if its text is complete, and is never repaired", () => {
    const { parts } = read(
      callStart(0, "a"),
      callText(0, "{\"n\": 1}"),
      callStart(1, "b"),
      callText(1, "{\"n\": {\"m\": 1}"),
      callStart(2, "c"),
      callText(2, "{}"),
      chunk({}, "length")
    )
    assert.deepStrictEqual(callsOf(parts).map((call) => call[1]), ["a"])
  })

  it("case 153: arguments cut in the middle never become an empty object", () => {
    const { parts } = read(callStart(0, "a"), callText(0, "{\"path\": \"/et"), toolCalls)
    assert.strictEqual(callsOf(parts)[0]![2], "{\"path\": \"/et")
  })

  it("is a finish even if nothing of the answer was written", () => {
    const { error, parts } = read(chunk({ reasoning_content: "thinking" }), chunk({}, "length", usage))
    assert.strictEqual(error, undefined)
    assert.deepStrictEqual(parts.map((part) => part._tag), ["Reasoning", "Usage", "Finish"])
  })
})

describe("the end of a reply", () => {
  const codeOf = (...chunks: ReadonlyArray<unknown>) => {
    const { error } = read(...chunks)
    return error === undefined ? undefined : [error.reason, error.code, error.retryable]
  }

  it("is no end without a finish reason", () => {
    assert.deepStrictEqual(codeOf(chunk({ content: "half" })), ["NetworkError", "truncated", true])
    assert.deepStrictEqual(codeOf(), ["NetworkError", "truncated", true])
    assert.deepStrictEqual(codeOf(callStart(0, "a"), callText(0, "{}")), ["NetworkError", "truncated", true])
  })

  it("is an error if there is nothing in it", () => {
    const empty = ["InvalidOutputError", "empty", true]
    assert.deepStrictEqual(codeOf(chunk({ content: "" }, "stop")), empty)
    assert.deepStrictEqual(codeOf(chunk({ reasoning_content: "only thoughts" }), chunk({}, "stop")), empty)
    assert.deepStrictEqual(codeOf(chunk({ content: " \n\n" }, "stop")), empty)
    assert.deepStrictEqual(codeOf(chunk({ content: "text" }, "tool_calls")), [
      "InvalidOutputError",
      "missing-calls",
      true
    ])
    assert.deepStrictEqual(codeOf({ usage }), ["InvalidOutputError", "no-choices", true])
  })

  it("tells its usage even then", () => {
    assert.deepStrictEqual(read(chunk({}, "stop", usage)).parts.map((part) => part._tag), ["Usage"])
  })

  it("names the server's reasons", () => {
    assert.deepStrictEqual(codeOf(chunk({ content: "a" }, "insufficient_system_resource")), [
      "InternalProviderError",
      "insufficient-system-resource",
      true
    ])
    assert.strictEqual(finishOf(read(chunk({ content: "a" }, "content_filter")).parts), "content-filter")
    assert.deepStrictEqual(callsOf(read(callStart(0, "a"), callText(0, "{}"), chunk({}, "content_filter")).parts), [])
    assert.deepStrictEqual(codeOf(chunk({ content: "a" }, "tired")), ["InvalidOutputError", "finish-reason", false])
  })

  it("is `tool-calls` whenever there are calls", () => {
    assert.strictEqual(finishOf(read(callStart(0, "a"), callText(0, "{}"), chunk({}, "stop")).parts), "tool-calls")
  })

  it("may be followed by a chunk with nothing but usage", () => {
    const { parts } = read(chunk({ content: "a" }, "stop"), { choices: [], usage })
    assert.deepStrictEqual(parts.at(-2), {
      _tag: "Usage",
      usage: { prompt: 300, hit: 256, miss: 44, completion: 12, reasoning: 5 }
    })
  })

  it("counts usage under the names of other servers, and never more hits than prompt", () => {
    const other = { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 20 }, completion_tokens: 3 }
    assert.deepStrictEqual(read(chunk({ content: "a" }, "stop", other)).parts.at(-2), {
      _tag: "Usage",
      usage: { prompt: 10, hit: 10, miss: 0, completion: 3, reasoning: 0 }
    })
  })

  it("does not depend on chunks that make no sense", () => {
    const { error, parts } = read(
      null,
      "text",
      42,
      { choices: null },
      { choices: [null, 3, { delta: null }, { index: 1, delta: { content: "second choice" } }] },
      chunk({ content: 5, reasoning_content: {}, tool_calls: {} }),
      chunk({ content: "fine" }, "stop")
    )
    assert.strictEqual(error, undefined)
    assert.deepStrictEqual(parts, [{ _tag: "Text", text: "fine" }, { _tag: "Finish", reason: "stop" }])
  })

  it("reads reasoning under its other name", () => {
    assert.deepStrictEqual(read(chunk({ reasoning: "r" }), chunk({ content: "a" }, "stop")).parts[0], {
      _tag: "Reasoning",
      text: "r"
    })
  })
})

describe("leaked markup", () => {
  const markup = "<｜｜DSML｜｜ calls>\n<｜｜DSML｜｜ invoke name=\"read_file\">"

  it("case 161: fails the reply and is never shown as text", () => {
    for (let cut = 0; cut <= markup.length; cut++) {
      const { error, parts } = read(
        chunk({ content: "Let me look.\n\n" + markup.slice(0, cut) }),
        chunk({ content: markup.slice(cut) }),
        chunk({}, "stop")
      )
      assert.deepStrictEqual([error?.reason, error?.code, error?.retryable], [
        "InvalidOutputError",
        "leaked-tool-markup",
        true
      ])
      assert.isTrue("Let me look.\n\n".startsWith(parts.map((part) => part._tag === "Text" ? part.text : "").join("")))
    }
  })

  it("case 162: also beside a call with empty arguments, which is then not run", () => {
    const { error, parts } = read(
      callStart(0, "read_file"),
      callText(0, "{}"),
      chunk({ content: markup }),
      chunk({}, "tool_calls")
    )
    assert.strictEqual(error?.code, "leaked-tool-markup")
    assert.deepStrictEqual(callsOf(parts), [])
  })

  it("gives back what only looked like its beginning", () => {
    const { error, parts } = read(chunk({ content: "a <" }), chunk({ content: "| b <｜DS" }), chunk({}, "stop"))
    assert.strictEqual(error, undefined)
    assert.strictEqual(parts.map((part) => part._tag === "Text" ? part.text : "").join(""), "a <| b <｜DS")
  })
})
