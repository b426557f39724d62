import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Scenario } from "../src/index.ts"
import { ask, functionTool, serve, stream, system, user } from "./support.ts"

const weather = functionTool("get_weather")

describe("a chat completion", () => {
  let local: Awaited<ReturnType<typeof serve>>
  beforeAll(async () => {
    local = await serve({
      scenario: Scenario.turns({
        weather: Scenario.steps(
          Scenario.call("get_weather", { city: "Paris", days: [1, 2] }, {
            reasoning: "I need the weather.",
            content: "Let me look."
          }),
          Scenario.text("Sunny.", { reasoning: "It is sunny." })
        ),
        "": Scenario.text("Hello there.", { reasoning: "A greeting." })
      })
    })
  })
  afterAll(() => local.server.close())

  it("streams reasoning, then content, in frames that together are the reply", async () => {
    const reply = await stream(local.client, { messages: [user("hi")] })
    expect(reply.reasoning).toBe("A greeting.")
    expect(reply.content).toBe("Hello there.")
    expect(reply.finish).toBe("stop")
    expect(reply.chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: null, reasoning_content: "" })
    expect(reply.chunks[1]?.choices[0]?.delta).toEqual({ content: null, reasoning_content: "A" })
    expect(reply.chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true)
  })

  it("streams a tool call in fragments and ends it with tool_calls and the usage", async () => {
    const reply = await stream(local.client, { messages: [user("the weather?")], tools: [weather] })
    expect(reply.content).toBe("Let me look.")
    expect(reply.calls).toEqual([
      {
        id: expect.stringMatching(/^call_00_[A-Za-z0-9]{24}$/),
        name: "get_weather",
        arguments: "{\"city\": \"Paris\", \"days\": [1, 2]}"
      }
    ])
    expect(reply.finish).toBe("tool_calls")
    expect(reply.chunks.filter((chunk) => chunk.choices[0]?.delta.tool_calls).length).toBeGreaterThan(6)
    const usage = reply.usage as Record<string, number>
    expect(usage["prompt_tokens"]).toBe(
      (usage["prompt_cache_hit_tokens"] ?? 0) + (usage["prompt_cache_miss_tokens"] ?? 0)
    )
  })

  it("answers without a stream in the same words", async () => {
    const reply = await ask(local.client, { messages: [system("s"), user("hi")] })
    expect(reply.choices[0]?.message).toMatchObject({ content: "Hello there.", reasoning_content: "A greeting." })
    expect(reply.usage).toMatchObject({
      prompt_cache_hit_tokens: 0,
      completion_tokens_details: { reasoning_tokens: 3 }
    })
  })

  it("leaves reasoning out when thinking is off", async () => {
    const reply = await stream(local.client, { messages: [user("hi")], thinking: { type: "disabled" } })
    expect(reply.reasoning).toBe("")
    expect(reply.chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "" })
    expect(reply.usage).not.toHaveProperty("completion_tokens_details")
  })

  it("lists models and the balance, also below /v1 and /beta", async () => {
    const names = (await local.client.models.list()).data.map((model) => model.id)
    expect(names).toEqual(["deepseek-flash", "deepseek-v4-pro"])
    const headers = { authorization: "Bearer sk-local" }
    for (const prefix of ["", "/v1", "/beta"]) {
      const balance = await (await fetch(`${local.server.url}${prefix}/user/balance`, { headers })).json()
      expect(balance).toMatchObject({ is_available: true })
    }
  })
})
