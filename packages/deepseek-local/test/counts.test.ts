import { describe, expect, it } from "vitest"
import {
  byteEstimate,
  loadDeepSeekTokenizer,
  renderPrompt,
  renderReply,
  Scenario,
  v4,
  v41,
  validateRequest
} from "../src/index.ts"
import type { ChatRequest } from "../src/index.ts"
import { ask, assistant, functionTool, serve, system, tool, user } from "./support.ts"
import type { Body } from "./support.ts"

const tokenizer = await loadDeepSeekTokenizer()
if (tokenizer === undefined) throw new Error("the optional tokenizer is a dev dependency of the repository")

const parse = (body: Body): ChatRequest => {
  const result = validateRequest({ model: "deepseek-flash", ...body })
  if (!result.ok) throw new Error(result.error.message)
  return result.request
}

const count = (body: Body, template = v4): number => tokenizer.tokenise(renderPrompt(parse(body), template)).length
const textOf = (body: Body): string =>
  renderPrompt(parse(body)).map((part) => "text" in part ? part.text : `[${part.fixed}]`).join("")

const calls = system("You are a test assistant. Call tools exactly as asked.")
const weather = functionTool("get_weather", undefined, "Get the weather of a city")

describe("prompt tokens that the live API reported in August 2026", () => {
  it.each([
    ["a greeting", { messages: [calls, user("Reply with exactly: PONG")] }, 101],
    ["a shorter one", { messages: [calls, user("Say OK.")] }, 98],
    [
      "a shorter system text",
      { messages: [system("You are a test assistant."), user("Reply with exactly: PONG")] },
      95
    ],
    [
      "a long message",
      {
        messages: [
          calls,
          user(`${"The quick brown fox jumps over the lazy dog. ".repeat(120)}\n\nReply with exactly: ONE`)
        ]
      },
      1301
    ],
    ["a tool", { messages: [calls, user("What is the weather in Paris? Use the tool.")], tools: [weather] }, 375]
  ])("%s", (_, body, expected) => {
    expect(count(body)).toBe(expected)
  })
})

describe("completion tokens that the live API reported", () => {
  it.each([
    ["one word", { content: "PONG" }, 3],
    [
      "a call after a thought",
      {
        reasoning: "The user asks for weather in Paris. I need to call get_weather with city=Paris.",
        toolCalls: [{ name: "get_weather", arguments: "{\"city\": \"Paris\"}" }]
      },
      65
    ]
  ])("%s", (_, reply, expected) => {
    expect(tokenizer.tokenise(renderReply(reply, true)).length).toBe(expected)
  })

  it("counts what the recorded call stream counted: 375 in, 65 out, 20 of them thought", async () => {
    await using local = await serve({
      tokens: "exact",
      scenario: Scenario.steps(Scenario.call("get_weather", { city: "Paris" }, {
        reasoning: "The user asks for weather in Paris. I need to call get_weather with city=Paris."
      }))
    })
    const body = { messages: [calls, user("What is the weather in Paris? Use the tool.")], tools: [weather] }
    await ask(local.client, body)
    expect((await ask(local.client, body)).usage).toEqual({
      prompt_tokens: 375,
      completion_tokens: 65,
      total_tokens: 440,
      prompt_tokens_details: { cached_tokens: 256 },
      completion_tokens_details: { reasoning_tokens: 20 },
      prompt_cache_hit_tokens: 256,
      prompt_cache_miss_tokens: 119
    })
  })
})

describe("the rendered prompt", () => {
  const history = [
    system("S"),
    user("go"),
    assistant("a", [{ id: "c1", name: "f", arguments: "{\"n\":[1,2],\"s\":\"x\"}" }, {
      id: "c2",
      name: "f",
      arguments: "{}"
    }], "why"),
    tool("c2", "two"),
    tool("c1", "one"),
    user("and now?")
  ]

  it("puts the tools between the system text and the history, results in the order of the calls", () => {
    expect(textOf({ messages: history, tools: [functionTool("f", {})] })).toBe(
      "<｜begin▁of▁sentence｜>[effort-v4-high]S\n\n## Tools\n\n[instructions-v4]" +
        "{\"name\": \"f\", \"description\": \"The tool f\", \"parameters\": {}}\n\n[tools-after]" +
        "<｜User｜>go<｜Assistant｜><think>why</think>a\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n" +
        "<｜DSML｜parameter name=\"n\" string=\"false\">[1, 2]</｜DSML｜parameter>\n" +
        "<｜DSML｜parameter name=\"s\" string=\"true\">x</｜DSML｜parameter>\n</｜DSML｜invoke>\n" +
        "<｜DSML｜invoke name=\"f\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls><｜end▁of▁sentence｜>" +
        "<｜User｜><tool_result>one</tool_result>\n\n<tool_result>two</tool_result>\n\nand now?<｜Assistant｜><think>"
    )
  })

  it("drops earlier reasoning when the request has no tools, and the effort when thinking is off", () => {
    expect(textOf({ messages: history })).not.toContain("why")
    expect(textOf({ messages: history })).toContain("go<｜Assistant｜></think>a")
    expect(textOf({ messages: [user("hi")], thinking: { type: "disabled" } })).toBe(
      "<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜></think>"
    )
  })

  it("does not contain what DeepSeek leaves out: ids, whitespace of arguments, tools with tool_choice none", () => {
    const other = history.map((message) =>
      JSON.stringify(message).replaceAll("c1", "id9").replaceAll(":[1,2]", ": [1, 2]")
    )
      .map((text) => JSON.parse(text))
    const tools = [functionTool("f", {})]
    expect(textOf({ messages: other, tools })).toBe(textOf({ messages: history, tools }))
    expect(textOf({ messages: [user("hi")], tools, tool_choice: "none" })).toBe(textOf({ messages: [user("hi")] }))
  })

  it("starts with another effort text for each effort, and is shorter in V4.1", () => {
    const body = { messages: [user("hi")] }
    const low = count({ ...body, reasoning_effort: "low" })
    expect(count(body) - low).toBe(79)
    expect(count({ ...body, reasoning_effort: "max" }) - low).toBe(92)
    expect(count({ ...body, reasoning_effort: "xhigh" })).toBe(count(body))
    expect(count(body, v41) - low).toBe(26)
  })
})

describe("tokenizers", () => {
  const texts = ["const a = 1\n", "Grüße, 世界! 👩‍👩‍👧 \t\n\n  x", "", "a".repeat(50)]

  it.each([byteEstimate, tokenizer])("$name cuts text into pieces that are the text again", (subject) => {
    for (const text of texts) expect(subject.pieces(text).join("")).toBe(text)
  })

  it("estimates four bytes a token", () => {
    expect(byteEstimate.tokenise([{ text: "x".repeat(512) }]).length).toBe(128)
    expect(byteEstimate.tokenise([{ text: "äöü" }]).length).toBe(2)
    expect(byteEstimate.tokenise([{ text: "ab" }, { text: "cd" }])).toEqual(byteEstimate.tokenise([{ text: "abcd" }]))
  })

  it("gives equal prompts equal ids, and different fixed passages different ones", () => {
    const ids = (name: string) => [...tokenizer.tokenise([{ fixed: name, tokens: 3, bytes: 9 }])]
    expect(ids("a")).toEqual(ids("a"))
    expect(ids("a")).not.toEqual(ids("b"))
  })
})
