import { describe, expect, it } from "vitest"
import { loadDeepSeekTokenizer, manualClock, PrefixCache, Scenario } from "../src/index.ts"
import type { PrefixCacheOptions } from "../src/index.ts"
import { ask, assistant, functionTool, hitOf, serve, system, user } from "./support.ts"
import type { Body, Message } from "./support.ts"

/** Ids that are all different, from a starting point, so that two ranges share nothing by accident. */
const range = (from: number, length: number): ReadonlyArray<number> =>
  Array.from({ length }, (_, index) => from + index)
const ids = (...parts: ReadonlyArray<ReadonlyArray<number>>): Int32Array => Int32Array.from(parts.flat())

const play = (options: PrefixCacheOptions) => {
  const cache = new PrefixCache(options)
  let now = 0
  return {
    cache,
    at: (time: number) => {
      now = time
    },
    send: (prompt: Int32Array, output: Int32Array = ids(), space = "k//m"): number => {
      const hit = cache.hit(space, prompt, now)
      cache.persist(space, prompt, now, "input")
      if (output.length > 0) cache.persist(space, ids([...prompt], [...output]), now, "output", prompt.length)
      return hit
    }
  }
}

describe("the prefix cache in blocks", () => {
  it.each([[434, 384], [574, 512], [966, 896], [1750, 1664], [3150, 3072], [609, 512], [3893, 3840], [2410, 2304]])(
    "serves %i tokens sent again from %i, as measured in 2026",
    (prompt, expected) => {
      const { send } = play({})
      expect(send(ids(range(0, prompt)))).toBe(0)
      expect(send(ids(range(0, prompt)))).toBe(expected)
    }
  )

  it("gives partial credit at once when only the end differs", () => {
    const { send } = play({})
    send(ids(range(0, 3893)))
    expect(send(ids(range(0, 3850), range(50_000, 60)))).toBe(3840)
  })

  it("serves the reply of a turn in the next one", () => {
    const { send } = play({})
    send(ids(range(0, 1000)), ids(range(1000, 300)))
    expect(send(ids(range(0, 1400)))).toBe(1280)
  })

  it("uses blocks of 64 tokens for V3.2", () => {
    const { send } = play({ block: 64 })
    send(ids(range(0, 339)))
    expect(send(ids(range(0, 339)))).toBe(320)
  })

  it("keeps accounts, users and models apart", () => {
    const { send } = play({})
    send(ids(range(0, 500)), ids(), "a//m")
    expect(send(ids(range(0, 500)), ids(), "b//m")).toBe(0)
    expect(send(ids(range(0, 500)), ids(), "a//m")).toBe(384)
  })

  it("serves a write only after its lag", () => {
    const { at, send } = play({ inputLag: 2000, outputLag: 6000 })
    send(ids(range(0, 700)), ids(range(700, 700)))
    const next = ids(range(0, 1500))
    expect(send(next)).toBe(0)
    at(2000)
    expect(send(next)).toBe(1408)
  })

  it("makes input usable before output", () => {
    const { at, cache, send } = play({ inputLag: 2000, outputLag: 6000 })
    send(ids(range(0, 700)), ids(range(700, 700)))
    at(2500)
    expect(cache.hit("k//m", ids(range(0, 1500)), 2500)).toBe(640)
    expect(cache.hit("k//m", ids(range(0, 1500)), 6000)).toBe(1280)
  })

  it("forgets what nobody used for its time to live, and keeps what is used", () => {
    const { at, send } = play({ ttl: 1000 })
    send(ids(range(0, 300)))
    at(900)
    expect(send(ids(range(0, 300)))).toBe(256)
    at(1800)
    expect(send(ids(range(0, 300)))).toBe(256)
    at(2801)
    expect(send(ids(range(0, 300)))).toBe(0)
  })

  it("drops writes at its rate, the same ones in every run with the same seed", () => {
    const run = (seed: number) => {
      const { cache } = play({ dropRate: 0.3, seed })
      return range(0, 200).map((index) => {
        const prompt = ids(range(index * 1000, 128))
        cache.persist("k//m", prompt, 0, "input")
        return cache.hit("k//m", prompt, 1) === 0 ? "dropped" : "kept"
      })
    }
    const dropped = run(1).filter((outcome) => outcome === "dropped").length
    expect(dropped).toBeGreaterThan(40)
    expect(dropped).toBeLessThan(80)
    expect(run(1)).toEqual(run(1))
    expect(run(1)).not.toEqual(run(2))
  })

  it("stays within its size", () => {
    const { at, send } = play({ maximumBlocks: 10 })
    range(0, 20).forEach((index) => {
      at(index)
      send(ids(range(index * 1000, 128)))
    })
    expect(send(ids(range(0, 128)))).toBe(0)
    expect(send(ids(range(19_000, 128)))).toBe(128)
  })
})

describe("the prefix cache in units, as documented", () => {
  const a = range(0, 640)
  const b = range(10_000, 300)
  const c = range(20_000, 300)
  const d = range(30_000, 300)

  it("hits when a prompt extends an earlier one (A+B, then A+B+C)", () => {
    const { send } = play({ mode: "units" })
    send(ids(a, b))
    expect(send(ids(a, b, c))).toBe(896)
  })

  it("misses on the first divergence and stores the common part (A+B, A+C, A+D)", () => {
    const { send } = play({ mode: "units" })
    send(ids(a, b))
    expect(send(ids(a, c))).toBe(0)
    expect(send(ids(a, d))).toBe(640)
  })

  it("agrees with blocks on a loop that only extends", () => {
    const units = play({ mode: "units" })
    const blocks = play({})
    let history = range(0, 500)
    for (let round = 0; round < 10; round++) {
      const output = range(100_000 * (round + 1), 150)
      expect(units.send(ids(history), ids(output))).toBe(blocks.send(ids(history), ids(output)))
      history = [...history, ...output, ...range(100_000 * (round + 1) + 5000, 90)]
    }
  })

  it("can store at fixed intervals", () => {
    const { send } = play({ mode: "units", interval: 256 })
    send(ids(a, b))
    expect(send(ids(a, c))).toBe(512)
  })
})

describe("the cache of a server", () => {
  const names = Array.from({ length: 26 }, (_, index) => `tool_${String.fromCharCode(97 + index)}`)
  const words = (seed: number, length: number) =>
    Array.from({ length }, (_, index) => `w${(seed * 7919 + index * 104_729) % 9973}`).join(" ")
  const tools = names.map((name, index) => functionTool(name, { type: "object", properties: {} }, words(index, 60)))
  const history: Array<Message> = [system(words(99, 700))]
  for (let turn = 0; turn < 40; turn++) {
    history.push(user(words(200 + turn, 100)), assistant(words(300 + turn, 100), [], "r"))
  }
  history.push(user("go on"))

  const rate = async (tokens: "estimate" | "exact", change: (body: Body) => Body): Promise<number> => {
    await using local = await serve({ tokens, scenario: Scenario.steps(Scenario.text("ok")) })
    const body = { messages: history, tools }
    await ask(local.client, body)
    const usage = (await ask(local.client, change(body))).usage
    return hitOf(usage) / (usage?.prompt_tokens ?? 1)
  }

  it.each(["estimate", "exact"] as const)("loses what stands behind a change of the head (%s)", async (tokens) => {
    expect(await rate(tokens, (body) => body)).toBeGreaterThan(0.98)
    const trimmed = await rate(tokens, (body) => ({ ...body, tools: tools.slice(3) }))
    const appended = await rate(tokens, (body) => ({ ...body, tools: [...tools, functionTool("zz")] }))
    expect(trimmed).toBeGreaterThan(0.05)
    expect(trimmed).toBeLessThan(0.25)
    expect(appended).toBeGreaterThan(trimmed)
    expect(appended).toBeLessThan(0.5)
  })

  it("keeps the shares that a replica of a real coding agent's head gives (system 2211 tokens, tools 5102, history 31000)", async () => {
    const tokenizer = await loadDeepSeekTokenizer()
    const sized = (seed: number, tokens: number): string => {
      const all = tokenizer?.pieces(words(seed, tokens)) ?? []
      return all.slice(0, tokens).join("")
    }
    const table = names.map((name, index) => functionTool(name, { type: "object", properties: {} }, sized(index, 165)))
    const messages: Array<Message> = [system(sized(99, 2211))]
    for (let turn = 0; turn < 31; turn++) messages.push(user(sized(200 + turn, 500)), assistant(sized(300 + turn, 490)))
    messages.push(user("go on"))
    const share = async (tools: Body["tools"]): Promise<number> => {
      await using local = await serve({ tokens: "exact", scenario: Scenario.steps(Scenario.text("ok")) })
      await ask(local.client, { messages, tools: table })
      const usage = (await ask(local.client, { messages, ...(tools === undefined ? {} : { tools }) })).usage
      return Math.round(1000 * hitOf(usage) / (usage?.prompt_tokens ?? 1)) / 10
    }
    expect(await share(table)).toBeGreaterThan(99.4)
    expect(await share(table.slice(3))).toBeCloseTo(6.3, 0)
    expect(await share(table.toReversed())).toBeCloseTo(6, 0)
    expect(await share([...table, functionTool("zz")])).toBeCloseTo(18.8, -0.3)
  })

  it("is reset by another effort, by thinking off and by tool_choice none, which all move the head", async () => {
    expect(await rate("estimate", (body) => ({ ...body, reasoning_effort: "max" }))).toBe(0)
    expect(await rate("estimate", (body) => ({ ...body, thinking: { type: "disabled" } }))).toBe(0)
    expect(await rate("estimate", (body) => ({ ...body, tool_choice: "none" }))).toBeLessThan(0.25)
  })

  it("is not shared between users", async () => {
    expect(await rate("estimate", (body) => ({ ...body, user_id: "somebody" }))).toBe(0)
  })

  it("lags by the injected clock", async () => {
    const clock = manualClock()
    await using local = await serve({ clock, cache: { inputLag: 2000 }, scenario: Scenario.steps(Scenario.text("ok")) })
    const body = { messages: history }
    await ask(local.client, body)
    expect(hitOf((await ask(local.client, body)).usage)).toBe(0)
    clock.advance(2000)
    expect(hitOf((await ask(local.client, body)).usage)).toBeGreaterThan(0)
    clock.advance(7 * 3_600_000)
    expect(hitOf((await ask(local.client, body)).usage)).toBe(0)
  })
})
