import { APIError } from "openai"
import { describe, expect, it } from "vitest"
import type { Fault, Reply } from "../src/index.ts"
import { Scenario } from "../src/index.ts"
import { ask, assemble, functionTool, open, serve, stream, user } from "./support.ts"
import type { Chunk } from "./support.ts"

const reply: Reply = {
  reasoning: "one two three four five",
  content: "I will call it now",
  toolCalls: [{ name: "f", arguments: { a: "x", list: [1, 2], b: "y" } }, { name: "f", arguments: { a: "z" } }]
}
const tools = [functionTool("f", {
  type: "object",
  properties: { a: { type: "string" }, b: { type: "string" }, list: { type: "array" }, extra: { type: "string" } },
  required: ["a"]
})]
const body = { messages: [user("go")], tools }

const failing = (...faults: ReadonlyArray<Fault>) => serve({ scenario: () => Scenario.withFaults(reply, ...faults) })

/** Everything that arrived until the stream ended or broke, and how it broke. */
const observe = async (fault: Fault, abortAfter?: number) => {
  await using local = await failing(fault)
  const chunks: Array<Chunk> = []
  let error: unknown
  const abort = new AbortController()
  const timer = abortAfter === undefined ? undefined : setTimeout(() => abort.abort(), abortAfter)
  try {
    for await (const chunk of await open(local.client, body, abort.signal)) chunks.push(chunk as unknown as Chunk)
  } catch (cause) {
    error = cause
  } finally {
    clearTimeout(timer)
  }
  await expect.poll(() => local.server.requests[0]?.outcome).toBeDefined()
  return { ...assemble(chunks), error, outcome: local.server.requests[0]?.outcome }
}

const raw = async (fault: Fault, streaming = true): Promise<string> => {
  await using local = await failing(fault)
  const response = await fetch(`${local.server.url}/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer k" },
    body: JSON.stringify({ model: "deepseek-flash", ...body, stream: streaming })
  })
  return await response.text()
}

describe("faults of the connection", () => {
  it.each([[429, "Rate Limit Reached"], [500, "Server Error"], [503, "Server Overloaded"], [
    402,
    "Insufficient Balance"
  ]])(
    "answers %i with the documented error",
    async (status, message) => {
      const { error } = await observe({ type: "http", status, retryAfter: 3 })
      expect(error).toBeInstanceOf(APIError)
      expect(error).toMatchObject({ status, error: { message } })
      expect((error as APIError).headers?.get("retry-after")).toBe("3")
    }
  )

  it("resets before the headers", async () => {
    const { chunks, error, outcome } = await observe({ type: "reset" })
    expect(chunks).toEqual([])
    expect(String(error)).toContain("Connection error")
    expect(outcome).toBe("reset")
  })

  it("resets in the middle of a stream, after exactly the frames asked for", async () => {
    const { chunks, error } = await observe({ type: "reset", afterFrames: 4 })
    expect(chunks).toHaveLength(4)
    expect(error).toBeInstanceOf(TypeError)
  })

  it("resets or stalls after the last frame when set beyond it", async () => {
    expect(await observe({ type: "reset", afterFrames: 1000 })).toMatchObject({
      finish: "tool_calls",
      outcome: "reset"
    })
    expect(await observe({ type: "stall", afterFrames: 1000 }, 80)).toMatchObject({
      finish: "tool_calls",
      outcome: "stalled"
    })
  })

  it("ends without [DONE] and without a finish reason", async () => {
    const result = await observe({ type: "eof", afterFrames: 4 })
    expect(result).toMatchObject({ error: undefined, finish: null, outcome: "cut" })
    expect(result.chunks).toHaveLength(4)
    expect(await raw({ type: "eof" })).not.toContain("[DONE]")
  })

  it("stalls with an open connection until the client gives up", async () => {
    const { chunks, outcome } = await observe({ type: "stall", afterFrames: 3 }, 80)
    expect(chunks).toHaveLength(3)
    expect(outcome).toBe("stalled")
  })

  it("goes on after a stall that has an end", async () => {
    expect(await observe({ type: "stall", afterFrames: 3, for: 30, keepAliveEvery: 10 })).toMatchObject({
      finish: "tool_calls",
      outcome: "completed"
    })
    expect(await raw({ type: "stall", afterFrames: 3, for: 30, keepAliveEvery: 10 })).toMatch(
      /\n\n: keep-alive\n\ndata/
    )
  })

  it("sends an error object in the middle", async () => {
    const { chunks, error } = await observe({ type: "error-object", afterFrames: 2, message: "Server Overloaded" })
    expect(chunks).toHaveLength(2)
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ error: { message: "Server Overloaded" } })
  })

  it("cuts a frame, or sends one that is no JSON", async () => {
    expect((await raw({ type: "cut-frame", afterFrames: 2 })).endsWith("\n\n")).toBe(false)
    expect((await observe({ type: "malformed-frame", afterFrames: 2 })).error).toBeInstanceOf(SyntaxError)
  })

  it("sends comments first, which no client sees", async () => {
    expect(await raw({ type: "keep-alive", count: 6 })).toMatch(/^(: keep-alive\n\n){6}data: /)
    expect(await raw({ type: "keep-alive", count: 2 }, false)).toMatch(/^\n\n\{/)
    expect((await observe({ type: "keep-alive", count: 6 })).finish).toBe("tool_calls")
  })

  it("moves the usage to a frame of its own, or leaves it or the finish reason out", async () => {
    const trailing = await observe({ type: "trailing-usage" })
    expect(trailing.chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: expect.any(Number) } })
    expect(trailing.chunks.at(-2)).toMatchObject({ usage: null })
    expect((await observe({ type: "no-usage" })).usage).toBe(null)
    expect(await observe({ type: "no-finish" })).toMatchObject({ finish: null, outcome: "completed" })
  })

  it("answers 200 without choices", async () => {
    expect(JSON.parse(await raw({ type: "no-choices" }))).not.toHaveProperty("choices")
  })
})

describe("faults of the model", () => {
  it.each(
    [["v4", "<｜DSML｜tool_calls>"], ["v4.1", "<｜｜DSML｜｜ calls>"], ["double-bar", "<‖DSML‖tool_calls>"], [
      "plain-bar",
      "<|DSML|"
    ]] as const
  )(
    "leaks its markup into the content (%s)",
    async (variant, expected) => {
      const result = await observe({ type: "markup-leak", variant })
      expect(result.content).toContain(expected)
      expect(result.calls).toEqual([])
      expect(result.finish).toBe("stop")
    }
  )

  it.each<readonly [Fault, string]>([
    [{ type: "brace-missing" }, "{\"a\": \"x\", \"list\": [1, 2], \"b\": \"y\""],
    [{ type: "brace-extra" }, "{\"a\": \"x\", \"list\": [1, 2], \"b\": \"y\"}}"],
    [{ type: "brace-early" }, "{\"a\": \"x\"}, \"list\": [1, 2], \"b\": \"y\"}"],
    [{ type: "arguments-cut", at: 9 }, "{\"a\": \"x\""],
    [{ type: "arrays-as-strings" }, "{\"a\": \"x\", \"list\": \"[1, 2]\", \"b\": \"y\"}"],
    [{ type: "placeholders", value: "" }, "{\"b\": \"y\", \"list\": [1, 2], \"extra\": \"\", \"a\": \"x\"}"]
  ])("writes wrong arguments and still says tool_calls: %o", async (fault, expected) => {
    const result = await observe(fault)
    expect(result.calls[0]?.arguments).toBe(expected)
    expect(result.finish).toBe("tool_calls")
  })

  it("gets ids and indices wrong", async () => {
    const parts = async (
      type: "id-empty" | "id-blank" | "id-missing" | "id-repeated" | "index-missing" | "index-shifted" | "index-reused"
    ) =>
      (await observe({ type })).chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
        .filter((part) => part.function?.name !== undefined)
    expect((await parts("id-empty")).map((part) => part.id)).toEqual(["", ""])
    expect((await parts("id-blank")).map((part) => part.id)).toEqual([" ", " "])
    expect((await parts("id-missing")).map((part) => part.id)).toEqual([undefined, undefined])
    expect(new Set((await parts("id-repeated")).map((part) => part.id)).size).toBe(1)
    expect((await parts("index-missing")).map((part) => part.index)).toEqual([undefined, undefined])
    expect((await parts("index-shifted")).map((part) => part.index)).toEqual([1, 2])
    expect((await parts("index-reused")).map((part) => part.index)).toEqual([0, 0])
  })

  it("loses text, or everything but the reasoning, or everything", async () => {
    expect((await observe({ type: "text-lost" })).content).toBe("I will call it")
    expect(await observe({ type: "reasoning-only" })).toMatchObject({
      content: "",
      calls: [],
      finish: "stop",
      reasoning: reply.reasoning
    })
    expect(await observe({ type: "empty" })).toMatchObject({ content: "", reasoning: "", calls: [], finish: "stop" })
  })

  it("splits its reasoning with empty lists of calls", async () => {
    const result = await observe({ type: "reasoning-split" })
    expect(result.reasoning).toBe(reply.reasoning)
    expect(result.chunks.some((chunk) => chunk.choices[0]?.delta.tool_calls?.length === 0)).toBe(true)
  })
})

describe("max_tokens", () => {
  it("starves the answer when the thought uses it up", async () => {
    await using local = await failing()
    expect(await stream(local.client, { ...body, max_tokens: 4 })).toMatchObject({
      content: "",
      calls: [],
      finish: "length"
    })
  })

  it("cuts exactly there with the tokenizer", async () => {
    await using local = await serve({ tokens: "exact", scenario: Scenario.steps(Scenario.text("a b c d e f g h i j")) })
    const result = await stream(local.client, { messages: [user("x")], max_tokens: 6, thinking: { type: "disabled" } })
    expect(result).toMatchObject({ content: "a b c d e f", finish: "length", usage: { completion_tokens: 6 } })
  })
})

describe("attempts", () => {
  it("spoils as many attempts at the same request as it says, one fault after the other", async () => {
    await using local = await failing(
      { type: "http", status: 429, times: 1 },
      { type: "reset", afterFrames: 3, times: 2 },
      { type: "http", status: 503, times: 1 }
    )
    const outcomes: Array<string | number> = []
    for (let attempt = 0; attempt < 6; attempt++) {
      await stream(local.client, body).catch(() => undefined)
      const record = local.server.requests.at(-1)
      outcomes.push(record?.outcome === "error" ? record.status : record?.outcome ?? "none")
    }
    expect(outcomes).toEqual([429, "reset", "reset", 503, "completed", "completed"])
    expect(local.server.requests.map((request) => request.attempt)).toEqual([1, 2, 3, 4, 5, 6])
  })

  it("counts per request body, or under a name over all requests", async () => {
    for (const [key, expected] of [[undefined, [429, 429]], ["once", [429, 200]]] as const) {
      await using local = await failing({ type: "http", status: 429, times: 1, ...(key === undefined ? {} : { key }) })
      await ask(local.client, { messages: [user("a")] }).catch(() => undefined)
      await ask(local.client, { messages: [user("b")] }).catch(() => undefined)
      expect(local.server.requests.map((request) => request.status)).toEqual(expected)
    }
  })

  it("is what the client's own retries meet", async () => {
    await using local = await serve({
      scenario: () => Scenario.fail(503, { times: 2, otherwise: Scenario.text("at last") })
    })
    const client = local.client.withOptions({ maxRetries: 3 })
    expect((await ask(client, { messages: [user("a")] })).choices[0]?.message.content).toBe("at last")
    expect(local.server.requests.map((request) => request.status)).toEqual([503, 503, 200])
  })
})
