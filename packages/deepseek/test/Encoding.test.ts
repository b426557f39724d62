import { type CallRecord, type Message, type ModelRequest, type RequestHeader, TransportError } from "@holdfast/core"
import { DeepSeek, encode, encoding, type Settings } from "@holdfast/deepseek"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Arbitrary, Schema } from "effect"
import { apiKey, assistant, requestOf, tool, transportAt, user } from "./server.ts"

const settings: Settings = {
  model: "deepseek-flash",
  maxTokens: 1000,
  maxTokensField: "max_tokens",
  thinking: "enabled",
  effort: "high",
  json: false,
  strict: false,
  userId: null,
  reasoning: "with-tools",
  tail: "after-history",
  extra: {}
}

const headerOf = (more: Partial<Settings> = {}, rest: Partial<RequestHeader> = {}): RequestHeader => ({
  system: "You help.",
  tools: [tool],
  settings: { ...settings, ...more },
  ...rest
})

const textOf = (request: Partial<ModelRequest>) =>
  new TextDecoder().decode(encode({ header: headerOf(), messages: [], tail: null, ...request }))
const bodyOf = (request: Partial<ModelRequest>) => JSON.parse(textOf(request))

const call = (id: string, name: string, args: string): CallRecord => ({ id, name, arguments: args })
const result = (id: string, text: string): Message => ({ role: "tool", call: id, name: "read_file", text })

describe("encode", () => {
  it("writes exactly these bytes in version deepseek-chat/1", () => {
    assert.strictEqual(encoding, "deepseek-chat/1")
    assert.strictEqual(
      textOf({
        messages: [
          user("Read ä"),
          assistant("", { reasoning: "think", calls: [call("c1", "read_file", "{\"path\": \"ä\"}")] }),
          result("c1", "text")
        ],
        tail: "Plan first."
      }),
      "{\"model\":\"deepseek-flash\",\"max_tokens\":1000,\"stream\":true,\"stream_options\":{\"include_usage\":true}," +
        "\"thinking\":{\"type\":\"enabled\"},\"reasoning_effort\":\"high\"," +
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"description\":\"Reads a file.\"," +
        "\"parameters\":{\"properties\":{},\"type\":\"object\"}}}]," +
        "\"messages\":[{\"role\":\"system\",\"content\":\"You help.\"},{\"role\":\"user\",\"content\":\"Read ä\"}," +
        "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"think\",\"tool_calls\":[{\"id\":\"c1\"," +
        "\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\": \\\"ä\\\"}\"}}]}," +
        "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"text\"},{\"role\":\"user\",\"content\":\"Plan first.\"}]}"
    )
  })

  it("case 150: with thinking and tools every assistant message carries its reasoning, also an empty one", () => {
    const messages = [
      user("a"),
      assistant("", { reasoning: "  two\n\nlines 思考 ", calls: [call("c1", "read_file", "{}")] }),
      result("c1", "x"),
      assistant("", { calls: [call("c2", "read_file", "{}")] }),
      result("c2", "x"),
      assistant("done")
    ]
    const sent = bodyOf({ messages }).messages.filter((m: { role: string }) => m.role === "assistant")
    assert.deepStrictEqual(sent.map((m: { reasoning_content: string }) => m.reasoning_content), [
      "  two\n\nlines 思考 ",
      "",
      ""
    ])
  })

  it("case 150: without tools or without thinking no message carries reasoning", () => {
    const messages = [user("a"), assistant("b", { reasoning: "r" })]
    for (const header of [headerOf({}, { tools: [] }), headerOf({ thinking: "disabled", effort: null })]) {
      assert.notInclude(textOf({ header, messages }), "reasoning_content")
    }
    assert.include(textOf({ header: headerOf({ reasoning: "always" }, { tools: [] }), messages }), "reasoning_content")
    assert.notInclude(textOf({ header: headerOf({ reasoning: "never" }), messages }), "reasoning_content")
  })

  it("never sends null content, and arguments that no server could parse as an empty object", () => {
    const messages = [
      assistant("", { calls: [call("c", "read_file", "{\"a\": \"cut"), call("d", "read_file", "[1]")] })
    ]
    const [, sent] = bodyOf({ messages }).messages
    assert.strictEqual(sent.content, "")
    assert.deepStrictEqual(sent.tool_calls.map((c: { function: { arguments: string } }) => c.function.arguments), [
      "{}",
      "{}"
    ])
  })

  it("keeps messages last in the body, so that a longer history only adds bytes at the end", () => {
    const header = headerOf()
    const messages = [user("a"), assistant("b"), user("c")]
    const short = textOf({ header, messages: messages.slice(0, 2) })
    const long = textOf({ header, messages })
    assert.isTrue(long.startsWith(short.slice(0, -2)))
  })

  it("puts the tail where the profile says", () => {
    const inLast = headerOf({ tail: "in-last-message" })
    const read = [user("a"), assistant("", { calls: [call("c", "read_file", "{}")] }), result("c", "text")]
    assert.deepStrictEqual(bodyOf({ header: inLast, messages: read, tail: "T" }).messages.at(-1), {
      role: "tool",
      tool_call_id: "c",
      content: "text\n\nT"
    })
    assert.strictEqual(bodyOf({ header: inLast, messages: read }).messages.at(-1).content, "text")
    assert.deepStrictEqual(
      bodyOf({ header: inLast, messages: [user("a"), assistant("b")], tail: "T" }).messages.at(-1),
      {
        role: "user",
        content: "T"
      }
    )
    assert.strictEqual(bodyOf({ header: inLast, messages: [], tail: "T" }).messages.length, 2)
  })

  it("leaves out what is not set: system text, tools, user id", () => {
    const header = headerOf({ thinking: null, effort: null }, { system: "", tools: [] })
    assert.strictEqual(
      textOf({ header, messages: [user("a"), user("b")] }),
      "{\"model\":\"deepseek-flash\",\"max_tokens\":1000,\"stream\":true,\"stream_options\":{\"include_usage\":true}," +
        "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]}"
    )
    assert.strictEqual(JSON.parse(textOf({ header, messages: [], tail: "t" })).messages.length, 1)
  })

  it("writes JSON mode, user id and further fields", () => {
    const body = bodyOf({ header: headerOf({ json: true, userId: "team", extra: { top_p: 0.95, stop: ["x"] } }) })
    assert.deepStrictEqual(body.response_format, { type: "json_object" })
    assert.strictEqual(body.user_id, "team")
    assert.strictEqual(body.top_p, 0.95)
    assert.deepStrictEqual(Object.keys(body).at(-1), "messages")
  })

  it("marks as strict only the tools whose schema the strict mode takes", () => {
    const closed = {
      type: "object",
      properties: { path: { type: "string" }, lines: { type: "array", items: { type: "integer" } } },
      required: ["path", "lines"],
      additionalProperties: false
    }
    const { required: _, ...open } = closed
    const bounded = { ...closed, properties: { ...closed.properties, path: { type: "string", maxLength: 3 } } }
    const tools = [closed, open, bounded, { ...closed, additionalProperties: true }].map((parameters, i) => ({
      name: `t${i}`,
      description: "",
      parameters
    }))
    const sent = bodyOf({ header: headerOf({ strict: true }, { tools }) }).tools
    assert.deepStrictEqual(sent.map((t: { function: { strict?: boolean } }) => t.function.strict), [
      true,
      undefined,
      undefined,
      undefined
    ])
  })

  it("writes a tool's schema with sorted keys, however a journal gave it back", () => {
    const parameters = { type: "object", properties: { b: { type: "string" }, a: { type: "string" } } }
    const turned = { properties: { a: { type: "string" }, b: { type: "string" } }, type: "object" }
    const of = (p: Schema.Json) =>
      textOf({ header: headerOf({}, { tools: [{ name: "t", description: "", parameters: p }] }) })
    assert.strictEqual(of(parameters), of(turned))
  })

  it("survives lone surrogates and text of any script", () => {
    const text = "\ud800 思 🚀 é \u2028 \0"
    assert.strictEqual(bodyOf({ messages: [user(text)] }).messages[1].content, text)
  })

  it("refuses a header that another transport wrote", () => {
    const header = headerOf()
    try {
      encode({ header: { ...header, settings: { model: "other" } }, messages: [], tail: null })
      assert.fail("should have thrown")
    } catch (error) {
      assert.instanceOf(error, TransportError)
      assert.strictEqual(error.code, "settings")
    }
  })

  const Walk = Schema.Array(
    Schema.Struct({ keep: Schema.Natural, add: Schema.Array(Schema.String), tail: Schema.Boolean })
  )
  it.effect.prop(
    "gives the same bytes whatever it was asked before",
    [Arbitrary.schema(Walk)],
    ([walk]) =>
      Effect.sync(() => {
        const header = headerOf()
        let history: Array<Message> = []
        for (const { add, keep, tail } of walk) {
          history = [
            ...history.slice(0, keep % (history.length + 1)),
            ...add.map((text, i) => i % 2 === 0 ? user(text) : assistant(text, { reasoning: text }))
          ]
          const request = { messages: history, tail: tail ? "tail" : null }
          const fresh = { header: headerOf(), messages: structuredClone(history), tail: request.tail }
          assert.deepStrictEqual(encode({ header, ...request }), encode(fresh))
        }
      })
  )

  it.effect("keeps the settings of the transport in every header, so that a journal can make the body again", () =>
    Effect.gen(function*() {
      const transport = yield* transportAt("http://127.0.0.1:1", { model: "m", effort: "ultra", userId: "u" })
      const request = requestOf(transport)
      const again = JSON.parse(JSON.stringify(request)) as ModelRequest
      assert.deepStrictEqual(transport.encode(request), encode(again))
      assert.strictEqual(JSON.parse(new TextDecoder().decode(encode(again))).reasoning_effort, "max")
    }))

  it("costs less at 800 rounds than JSON.stringify of the body", () => {
    const header = headerOf()
    const messages: Array<Message> = []
    for (let i = 0; i < 800; i++) {
      messages.push(
        user(`question ${i} ${"q".repeat(100)}`),
        assistant("x".repeat(200), {
          reasoning: "r".repeat(400),
          calls: [call(`c${i}`, "read_file", "{\"path\":\"a\"}")]
        }),
        result(`c${i}`, "line of a file, \"quoted\"\n".repeat(60))
      )
    }
    const bodies = JSON.parse(textOf({ header, messages }))
    const time = (run: (i: number) => void) => {
      for (let i = 0; i < 3; i++) run(i)
      const start = performance.now()
      for (let i = 0; i < 20; i++) run(i)
      return performance.now() - start
    }
    const whole = time(() => void Buffer.from(JSON.stringify(bodies)))
    const extended = time((i) => {
      messages.push(user(`more ${i}`))
      encode({ header, messages, tail: "tail" })
    })
    assert.isBelow(extended, whole)
  })
})

describe("the layer", () => {
  it.effect("offers its settings as JSON", () =>
    Effect.gen(function*() {
      const transport = yield* transportAt("http://127.0.0.1:1")
      assert.deepStrictEqual(transport.settings, {
        model: "deepseek-flash",
        maxTokens: 131_072,
        maxTokensField: "max_tokens",
        thinking: "enabled",
        effort: "high",
        json: false,
        strict: false,
        userId: null,
        reasoning: "with-tools",
        tail: "after-history",
        extra: {}
      })
      assert.strictEqual(transport.name, "deepseek")
      yield* Layer.build(DeepSeek.layer({ apiKey: Redacted.make(apiKey) }))
    }))
})
