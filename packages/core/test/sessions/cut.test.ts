import { assert, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { estimateTokens, findCut, type Message, type ModelRequest, summarySource, units } from "../../src/index.ts"
import { unpaired } from "./support.ts"

const user = (text: string, summary = false): Message => ({
  role: "user",
  text,
  source: summary ? summarySource : { kind: "user" }
})

/** One reply with its calls and their results. */
const unit = (n: number, calls: number, size: number): ReadonlyArray<Message> => {
  const ids = Array.from({ length: calls }, (_, i) => `call_${n}_${i}`)
  return [
    {
      role: "assistant",
      text: "t".repeat(size),
      reasoning: "",
      calls: ids.map((id) => ({ id, name: "look", arguments: "{}" }))
    },
    ...ids.map((call): Message => ({ role: "tool", call, name: "look", text: "r".repeat(size) }))
  ]
}

/** A history: what was said, with how many calls, how large; perhaps with an earlier summary before it. */
const Shape = Schema.Struct({
  summary: Schema.Boolean,
  rounds: Schema.Array(Schema.Struct({
    said: Schema.Boolean,
    calls: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
    size: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))
  })),
  waiting: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
  keep: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1500 })),
  halvings: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
})

const history = (shape: typeof Shape.Type): ReadonlyArray<Message> => [
  ...(shape.summary ? [user("before", true)] : []),
  ...shape.rounds.flatMap(({ calls, said, size }, n) => [...(said ? [user(`u${n}`)] : []), ...unit(n, calls, size)]),
  ...Array.from({ length: shape.waiting }, (_, i) => user(`waiting ${i}`))
]

const request = (messages: ReadonlyArray<Message>): ModelRequest => ({
  header: { system: "", tools: [], settings: {} },
  messages,
  tail: null
})

it.effect.prop(
  "case 147: no cut parts a call from its result, on either side",
  [Arbitrary.schema(Shape)],
  ([shape]) =>
    Effect.sync(() => {
      const messages = history(shape)
      const cut = findCut(messages, { keepTokens: shape.keep, keepShare: 1, halvings: shape.halvings, worth: 0 })
      if (cut === undefined) return
      assert.isTrue(units(messages).includes(cut) || cut === messages.length)
      assert.deepStrictEqual(unpaired(request(messages.slice(0, cut))), [])
      assert.deepStrictEqual(unpaired(request([user("summary", true), ...messages.slice(cut)])), [])
      // Messages that nobody has answered stay, and what is replaced is more than an earlier summary.
      assert.isAtMost(cut, messages.length - shape.waiting)
      assert.isAbove(cut, shape.summary ? 1 : 0)
    }),
  { arbitrary: { runs: 500 } }
)

it.effect.prop(
  "what stays has at most the tokens that may stay",
  [Arbitrary.schema(Shape)],
  ([shape]) =>
    Effect.sync(() => {
      const messages = history({ ...shape, waiting: 0 })
      const cut = findCut(messages, { keepTokens: shape.keep, keepShare: 1, halvings: 0, worth: 0 })
      if (cut === undefined) return
      const kept = messages.slice(cut).reduce((sum, message) => sum + estimateTokens(message), 0)
      assert.isAtMost(kept, shape.keep)
    })
)

it("a request that was too long is tried with half as much, and half of that", () => {
  const messages = Array.from({ length: 8 }, (_, n) => unit(n, 1, 400)).flat()
  const cuts = [0, 1, 2, 3].map((halvings) => findCut(messages, { keepTokens: 0, keepShare: 1, halvings, worth: 0 }))
  assert.deepStrictEqual(cuts, [16, 8, 4, 2])
})

it("a history shorter than what may stay is cut in the middle when it must be", () => {
  const messages = Array.from({ length: 8 }, (_, n) => unit(n, 1, 400)).flat()
  const options = { keepTokens: 1_000_000, halvings: 0, worth: 0 }
  assert.strictEqual(findCut(messages, { ...options, keepShare: 1 }), undefined)
  assert.strictEqual(findCut(messages, { ...options, keepShare: 0.5 }), 8)
})

it("there is nothing to cut before the first reply, and an earlier summary alone is not worth it", () => {
  const keep = { keepTokens: 0, keepShare: 1, halvings: 0, worth: 0 }
  assert.strictEqual(findCut([], keep), undefined)
  assert.strictEqual(findCut([user("a"), user("b")], keep), undefined)
  assert.strictEqual(findCut([user("s", true), user("b")], keep), undefined)
  assert.strictEqual(findCut([user("s", true), ...unit(1, 0, 400)], { ...keep, worth: 101 }), undefined)
  assert.strictEqual(findCut([user("s", true), ...unit(1, 0, 400)], { ...keep, worth: 100 }), 2)
})
