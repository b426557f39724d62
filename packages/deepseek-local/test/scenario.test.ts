import { Effect, Exit } from "effect"
import OpenAI from "openai"
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, it } from "vitest"
import { decodeScenarioFile, DeepSeekLocal, fromFile, manualClock, Scenario, startServer } from "../src/index.ts"
import { ask, assistant, functionTool, serve, stream, system, tool, user } from "./support.ts"
import type { Message } from "./support.ts"

const write = { id: "c1", name: "write_file", arguments: "{\"path\": \"a\"}" }
const content = async (client: OpenAI, messages: Array<Message>) => {
  const message = (await ask(client, { messages })).choices[0]?.message
  const called = message?.tool_calls?.[0]
  return called?.type === "function" ? called.function.name : message?.content
}

describe("a scenario", () => {
  const plan = Scenario.firstMatch(
    Scenario.when(
      (request) => request.conversation.resultContains("refused", "write_file"),
      Scenario.call("exit_plan_mode")
    ),
    Scenario.when(
      (request) => request.conversation.resultContains("outcome unknown"),
      Scenario.text("I will check first.")
    ),
    Scenario.when((request) => request.conversation.step === 0, Scenario.call("write_file", { path: "a" })),
    Scenario.when((request) => request.conversation.results("write_file").length === 1, Scenario.text("written"))
  )

  it("branches over what the messages say, not over how often it was asked", async () => {
    await using local = await serve({ scenario: plan })
    const start = [user("go")]
    const after = (result: string) => [...start, assistant("", [write]), tool("c1", result)]
    // In any order, any number of times, as a resumed or forked session would.
    expect(await content(local.client, after("ok"))).toBe("written")
    expect(await content(local.client, start)).toBe("write_file")
    expect(await content(local.client, after("refused: planning"))).toBe("exit_plan_mode")
    expect(await content(local.client, start)).toBe("write_file")
    expect(await content(local.client, after("outcome unknown, verify"))).toBe("I will check first.")
  })

  it("answers with a 400 that names the last message when nothing matches", async () => {
    await using local = await serve({ scenario: plan })
    const messages = [user("go"), assistant("hm")]
    await expect(ask(local.client, { messages })).rejects.toThrow(
      "no branch matches (step 1, last message: assistant \"hm\")"
    )
  })

  it("plays the steps of a turn by the assistant messages in it", async () => {
    await using local = await serve({
      scenario: Scenario.steps(Scenario.call("f"), Scenario.call("g"), Scenario.text("end"))
    })
    const step = (count: number) => Array.from({ length: count }, () => assistant("x"))
    expect(await content(local.client, [user("a"), ...step(1)])).toBe("g")
    expect(await content(local.client, [user("a"), ...step(7)])).toBe("end")
    expect(await content(local.client, [user("a"), ...step(7), user("b")])).toBe("f")
  })

  it("looks past messages that a harness adds", async () => {
    const scenario = Scenario.ignoring(
      (_, text) => text.startsWith("[plan mode]"),
      Scenario.steps(Scenario.call("f"), Scenario.text("end"))
    )
    await using local = await serve({ scenario })
    const messages = [user("a"), assistant("x"), user("[plan mode] guidance")]
    expect(await content(local.client, messages)).toBe("end")
  })

  it("sees the whole conversation and the turn apart", () => {
    const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } } as const
    const view = Scenario.conversation([
      { role: "system", content: "s" },
      { role: "user", content: [{ type: "text", text: "first" }] },
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "r1" },
      { role: "user", content: "second" },
      { role: "assistant", content: "t" }
    ])
    expect(view).toMatchObject({
      systemText: "s",
      userText: "second",
      userTexts: ["first", "second"],
      step: 1,
      steps: 2,
      lastText: "t"
    })
    expect(view.results()).toEqual([])
    expect(view.allResults("f")).toEqual([{ tool: "f", arguments: "{}", content: "r1" }])
    expect(view.contains("r1")).toBe(true)
  })
})

describe("a server with the same seed and clock", () => {
  it("answers the same bytes", async () => {
    const run = async (seed: number) => {
      const scenario = Scenario.steps(Scenario.call("f", { a: 1 }))
      const server = await startServer({ scenario, seed, clock: manualClock() })
      const response = await fetch(`${server.url}/chat/completions`, {
        method: "POST",
        headers: { authorization: "Bearer k" },
        body: JSON.stringify({ model: "deepseek-flash", stream: true, messages: [user("x")] })
      })
      const text = await response.text()
      await server.close()
      return text
    }
    expect(await run(1)).toBe(await run(1))
    expect(await run(1)).not.toBe(await run(2))
  })

  it("waits as its latency profile says", async () => {
    await using local = await serve({
      scenario: Scenario.steps(Scenario.text("a b c d e f g h i j")),
      latency: { firstByteMs: 50, prefillTokensPerSecond: 1000, outputTokensPerSecond: 200, burst: 2, keepAliveMs: 20 }
    })
    const start = performance.now()
    const reply = await stream(local.client, { messages: [user("x")] })
    // About 120 tokens of prompt at 1000 a second, 12 frames at 200 a second.
    expect(performance.now() - start).toBeGreaterThan(200)
    expect(reply.content).toBe("a b c d e f g h i j")
  })

  it("refuses more requests at a time than it allows", async () => {
    await using local = await serve({
      scenario: () => Scenario.text("x", { latency: { firstByteMs: 100 } }),
      concurrency: 1
    })
    const both = await Promise.allSettled([1, 2].map(() => ask(local.client, { messages: [user("x")] })))
    expect(both.map((result) => result.status).sort()).toEqual(["fulfilled", "rejected"])
  })
})

describe("the layer", () => {
  it("serves for its scope and records what was asked", async () => {
    const program = Effect.gen(function*() {
      const deepseek = yield* DeepSeekLocal
      const client = new OpenAI({ baseURL: deepseek.url, apiKey: "k", maxRetries: 0 })
      yield* Effect.promise(() => stream(client, { messages: [system("s"), user("x")] }))
      return { url: deepseek.url, requests: [...deepseek.requests] }
    })
    const { requests, url } = await Effect.runPromise(
      Effect.provide(program, DeepSeekLocal.layer({ scenario: Scenario.steps(Scenario.text("hello")) }))
    )
    expect(requests).toMatchObject([{
      status: 200,
      attempt: 1,
      outcome: "completed",
      reply: { content: "hello", finishReason: "stop" },
      usage: { prompt_cache_hit_tokens: 0 }
    }])
    await expect(fetch(`${url}/models`)).rejects.toThrow()
  })

  it("closes while an answer is on its way", async () => {
    const program = Effect.gen(function*() {
      const deepseek = yield* DeepSeekLocal
      const client = new OpenAI({ baseURL: deepseek.url, apiKey: "k", maxRetries: 0 })
      yield* Effect.forkDetach(Effect.promise(() => stream(client, { messages: [user("x")] }).catch(() => undefined)))
      yield* Effect.sleep("50 millis")
    })
    const scenario = () => Scenario.withFaults(Scenario.text("x"), { type: "stall", afterFrames: 1 })
    await Effect.runPromise(Effect.provide(program, DeepSeekLocal.layer({ scenario })))
  })

  it("fails with a typed error when the port is taken", async () => {
    const server = await startServer({ scenario: Scenario.steps(Scenario.text("x")) })
    const layer = DeepSeekLocal.layer({ scenario: Scenario.steps(Scenario.text("x")), port: server.port })
    const exit = await Effect.runPromiseExit(Effect.provide(DeepSeekLocal.use(Effect.succeed), layer))
    expect(Exit.isFailure(exit) && String(exit.cause)).toContain("DeepSeekLocalError")
    await server.close()
  })
})

const file = {
  ignore: ["[tail]"],
  rules: [
    { when: { result: { tool: "write_file", contains: "refused" } }, reply: { content: "Understood." } },
    { when: { last: "tool", step: { atLeast: 1 } }, reply: { content: "Done." } },
    {
      when: { userContains: "write", offers: "write_file", not: { contains: "never" } },
      reply: { toolCalls: [{ name: "write_file", arguments: { path: "a" } }] },
      fault: { type: "http", status: 429, retryAfter: 0, times: 1 }
    },
    { reply: { content: "Hello." } }
  ]
}

describe("a scenario file", () => {
  let folder: string | undefined
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true })
  })

  it("is a list of rules of which the first that holds answers", async () => {
    await using local = await serve({ scenario: fromFile(decodeScenarioFile(file)) })
    const tools = [functionTool("write_file")]
    const done = [user("write it"), assistant("", [write]), tool("c1", "ok"), user("[tail] guidance")]
    const refusal = [user("write it"), assistant("", [write]), tool("c1", "refused")]
    expect(await content(local.client, [user("hi")])).toBe("Hello.")
    expect(await content(local.client, done)).toBe("Done.")
    expect(await content(local.client, refusal)).toBe("Understood.")
    const write1 = { messages: [user("write it")], tools }
    await expect(stream(local.client, write1)).rejects.toThrow("Rate Limit Reached")
    expect((await stream(local.client, write1)).calls[0]?.name).toBe("write_file")
  })

  it("fails on a misspelt key, naming it", () => {
    expect(() => decodeScenarioFile({ rules: [{ when: { lst: "user" }, reply: {} }] })).toThrow("lst")
    expect(() => decodeScenarioFile({ rules: [{ reply: {}, fault: { type: "explode" } }] })).toThrow("type")
  })

  it("runs as a command", async () => {
    folder = await mkdtemp(join(tmpdir(), "deepseek-local-"))
    const path = join(folder, "scenario.json")
    await writeFile(path, JSON.stringify(file))
    const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url))
    const child = execFile(process.execPath, ["--conditions=source", bin, path, "--tokens", "estimate"])
    const lines: Array<string> = []
    child.stdout?.on("data", (chunk: string) => lines.push(chunk))
    child.stderr?.on("data", (chunk: string) => lines.push(chunk))
    await expect.poll(() => lines.join(""), { timeout: 10_000 }).toContain("http://127.0.0.1:")
    const url = /http:\S+/.exec(lines.join(""))?.[0] ?? ""
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k" })
    expect(await content(client, [user("hi")])).toBe("Hello.")
    const exited = new Promise((resolve) => child.once("exit", resolve))
    await expect.poll(() => lines.join("")).toContain("#0 200 completed prompt")
    child.kill("SIGTERM")
    expect(await exited).toBe(0)
  })
})
