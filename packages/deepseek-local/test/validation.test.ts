import { APIError } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Scenario } from "../src/index.ts"
import { ask, assistant, functionTool, serve, tool, user } from "./support.ts"
import type { Body } from "./support.ts"

const one = { id: "c1", name: "f", arguments: "{}" }
const f = functionTool("f")

const refused: ReadonlyArray<readonly [string, Body, string]> = [
  [
    "an unknown model",
    { model: "gpt-9", messages: [user("x")] },
    "The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed gpt-9."
  ],
  [
    "a call without a result",
    { messages: [user("x"), assistant("", [one]), user("y")] },
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    "(insufficient tool messages following tool_calls message)"
  ],
  [
    "a call without a result at the end",
    { messages: [user("x"), assistant("", [one, { ...one, id: "c2" }]), tool("c1", "")] },
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    "(insufficient tool messages following tool_calls message)"
  ],
  [
    "a result without a call",
    { messages: [user("x"), tool("c1", "")] },
    "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
  ],
  ["two tools of one name", { messages: [user("x")], tools: [f, f] }, "Tool names must be unique."],
  [
    "a bad tool name",
    { messages: [user("x")], tools: [f, functionTool("a.b")] },
    "Invalid 'tools[1].function.name': string does not match pattern. " +
    "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
  ],
  [
    "a forced tool under thinking",
    { messages: [user("x")], tools: [f], tool_choice: "required" },
    "Thinking mode does not support this tool_choice"
  ],
  ["a named tool under thinking", {
    messages: [user("x")],
    tools: [f],
    tool_choice: { type: "function", function: { name: "f" } }
  }, "Thinking mode does not support this tool_choice"],
  [
    "missing reasoning",
    { messages: [user("x"), assistant("a", [], null), user("y")], tools: [f] },
    "The `reasoning_content` in the thinking mode must be passed back to the API."
  ],
  [
    "too many tokens",
    { messages: [user("x")], max_tokens: 500_000 },
    "Invalid max_tokens value, the valid range of max_tokens is [1, 393216]"
  ],
  [
    "a negative number of tokens",
    { messages: [user("x")], max_tokens: -1 },
    "Failed to deserialize the JSON body into the target type: max_tokens: invalid value: integer `-1`, expected u32"
  ],
  [
    "json mode without the word",
    { messages: [user("x")], response_format: { type: "json_object" } },
    "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
  ],
  ["two choices", { messages: [user("x")], n: 2 }, "Invalid n value (currently only n = 1 is supported)"]
]

const failure = async (result: Promise<unknown>): Promise<APIError> => {
  try {
    await result
  } catch (cause) {
    if (cause instanceof APIError) return cause
    throw cause
  }
  throw new Error("expected a failure")
}

describe("a request that the API would refuse", () => {
  let local: Awaited<ReturnType<typeof serve>>
  beforeAll(async () => {
    local = await serve({ scenario: Scenario.steps(Scenario.text("ok")), contextLimit: 5000, apiKeys: ["sk-local"] })
  })
  afterAll(() => local.server.close())

  it.each(refused)("is refused for %s", async (_, body, message) => {
    const error = await failure(ask(local.client, body))
    expect(error.status).toBe(400)
    expect(error.error).toEqual({ message, type: "invalid_request_error", param: null, code: "invalid_request_error" })
  })

  it("is refused when prompt and completion do not fit the context", async () => {
    const error = await failure(ask(local.client, { messages: [user("x".repeat(20_000))], max_tokens: 10 }))
    expect(error.message).toContain("This model's maximum context length is 5000 tokens. However, you requested 51")
    expect(error.message).toContain("10 in the completion")
  })

  it("is refused for an unknown role, a key or a body that is no JSON", async () => {
    const developer = await failure(ask(local.client, { messages: [{ role: "developer", content: "x" }] }))
    expect(developer.message).toContain("unknown variant `developer`")
    const post = (key: string, body: string) =>
      fetch(`${local.server.url}/v1/chat/completions`, {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${key}` }
      })
    const denied = await post("sk-wrong-probe", "{}")
    expect(denied.status).toBe(401)
    expect(await denied.json()).toMatchObject({
      error: { message: "Authentication Fails, Your api key: ****robe is invalid", type: "authentication_error" }
    })
    expect((await post("sk-local", "{")).status).toBe(400)
  })

  it("records what was refused, with its bytes", () => {
    const record = local.server.requests.find((item) => item.error === "Tool names must be unique.")
    expect(record).toMatchObject({ status: 400, outcome: "error", usage: undefined })
    expect(JSON.parse(Buffer.from(record?.body ?? []).toString("utf8"))).toMatchObject({ messages: [user("x")] })
  })
})

describe("a request that the API accepts", () => {
  it.each<readonly [string, Body]>([
    ["a forced tool without thinking", {
      messages: [user("x")],
      tools: [f],
      tool_choice: "required",
      thinking: { type: "disabled" }
    }],
    ["empty reasoning", { messages: [user("x"), assistant("a", [], ""), user("y")], tools: [f] }],
    ["no reasoning without tools", { messages: [user("x"), assistant("a", [], null), user("y")] }],
    ["results in any order", {
      messages: [user("x"), assistant("", [one, { ...one, id: "c2" }]), tool("c2", ""), tool("c1", "")]
    }]
  ])("has %s", async (_, body) => {
    await using local = await serve({ scenario: Scenario.steps(Scenario.text("ok")) })
    expect((await ask(local.client, body)).choices[0]?.message.content).toBe("ok")
  })

  it("may lack reasoning in lenient mode, and may carry broken arguments", async () => {
    const body = {
      messages: [user("x"), assistant("", [{ ...one, arguments: "{\"a\": \"b" }], null), tool("c1", "r")],
      tools: [f]
    }
    await using strict = await serve({ scenario: Scenario.steps(Scenario.text("ok")) })
    expect((await failure(ask(strict.client, body))).status).toBe(400)
    await using lenient = await serve({
      scenario: Scenario.steps(Scenario.text("ok")),
      validation: { mode: "lenient" }
    })
    expect((await ask(lenient.client, body)).choices[0]?.message.content).toBe("ok")
  })
})
