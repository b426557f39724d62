import { describe, expect, it } from "vitest"
import { makeTokenizer, Scenario } from "../src/index.ts"
import type { Tokenizer, Usage } from "../src/index.ts"
import { ask, assistant, functionTool, serve, stream, system, tool, user } from "./support.ts"
import type { Message } from "./support.ts"

const tools = [functionTool("read_file", { type: "object", properties: { path: { type: "string" } } })]

/** An agent's loop: every reply and its result go back into the next request. */
const session = async (rounds: number, tokens: "estimate" | "exact" | Tokenizer, tail?: string) => {
  await using local = await serve({
    tokens,
    scenario: Scenario.ignoring(
      (_, text) => text === tail,
      ({ conversation: { step } }) =>
        Scenario.call("read_file", { path: `src/file${step}.ts`, lines: [step, step + 40] }, {
          reasoning: `File ${step} should say how the request is put together, so I read it next.`,
          content: step % 3 === 0 ? `Reading file number ${step}.` : ""
        })
    )
  })
  const messages: Array<Message> = [
    system("You are a coding agent. ".repeat(40)),
    user("Find the cause of the failure.")
  ]
  const usages: Array<Usage> = []
  for (let round = 0; round < rounds; round++) {
    const sent = tail === undefined ? messages : [...messages, user(tail)]
    const reply = await stream(local.client, { messages: sent, tools })
    usages.push(reply.usage as unknown as Usage)
    const id = reply.calls[0]?.id ?? ""
    messages.push(
      assistant(reply.content, reply.calls, reply.reasoning),
      tool(id, `export const value${round} = compute(${round})\n`.repeat(12))
    )
  }
  return usages
}

const floor = (tokens: number): number => Math.floor(tokens / 128) * 128

describe("a session that only appends", () => {
  it("hits everything up to the end of the last reply, to the block", async () => {
    const usages = await session(12, "exact")
    for (const [index, usage] of usages.entries()) {
      const before = usages[index - 1]
      const expected = before === undefined ? 0 : floor(before.prompt_tokens + before.completion_tokens)
      expect(usage.prompt_cache_hit_tokens).toBe(expected)
    }
  })

  it("reads only the last reply again when a tail stood between it and the history", async () => {
    const usages = await session(12, "exact", "Plan mode is on: do not change anything. ".repeat(30))
    for (const [index, usage] of usages.entries()) {
      const before = usages[index - 1]
      if (before === undefined) continue
      expect(usage.prompt_cache_hit_tokens).toBeLessThan(floor(before.prompt_tokens))
      // The tail has about 300 tokens; what stood before it is hit, to the block.
      expect(usage.prompt_cache_hit_tokens).toBeGreaterThan(before.prompt_tokens - 320 - 128)
    }
  })

  it("has nearly the same hit rate by the byte estimate", async () => {
    const rate = (usages: ReadonlyArray<Usage>) =>
      usages.reduce((sum, usage) => sum + usage.prompt_cache_hit_tokens, 0) /
      usages.reduce((sum, usage) => sum + usage.prompt_tokens, 0)
    const exact = rate(await session(40, "exact"))
    const estimate = rate(await session(40, "estimate"))
    expect(exact).toBeGreaterThan(0.9)
    expect(Math.abs(exact - estimate)).toBeLessThan(0.02)
  })

  it("encodes each message once, however long the session gets", async () => {
    let encoded = 0
    const characters = makeTokenizer("characters", {
      encode: (text) => {
        encoded += text.length
        return Array.from(text, (character) => character.codePointAt(0) ?? 0)
      },
      decode: (ids) => String.fromCodePoint(...ids)
    })
    const usages = await session(100, characters)
    const total = (usages.at(-1)?.prompt_tokens ?? 0) + (usages.at(-1)?.completion_tokens ?? 0)
    // Replies are encoded as a whole, and their parts again as the pieces of the stream.
    expect(encoded).toBeLessThan(total * 1.5)
  })
})

describe("a long reply", () => {
  it("streams 100000 tokens in large writes when nothing paces it", async () => {
    const text = "the quick brown fox jumps over the lazy dog. ".repeat(10_000)
    await using local = await serve({ tokens: "exact", scenario: Scenario.steps(Scenario.text(text)) })
    const response = await fetch(`${local.server.url}/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer k" },
      body: JSON.stringify({ model: "deepseek-flash", stream: true, messages: [user("x")] })
    })
    let reads = 0
    let frames = 0
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      reads += 1
      frames += decoder.decode(chunk, { stream: true }).split("\n\n").length - 1
    }
    expect(frames).toBeGreaterThan(100_000)
    expect(reads).toBeLessThan(2000)
  })

  it("is recorded with its usage and its summary", async () => {
    await using local = await serve({ scenario: Scenario.steps(Scenario.text("short")) })
    await ask(local.client, { messages: [user("x")] })
    local.server.play(Scenario.steps(Scenario.text("other")))
    await ask(local.client, { messages: [user("x")] })
    expect(local.server.requests.map((request) => [request.index, request.attempt, request.reply?.content])).toEqual([
      [0, 1, "short"],
      [1, 2, "other"]
    ])
    expect(local.server.requests[0]?.bodyHash).toBe(local.server.requests[1]?.bodyHash)
    local.server.reset()
    expect(local.server.requests).toEqual([])
  })
})
