import { assert, it } from "@effect/vitest"
import { Layer } from "effect"
import { Harness, Journal } from "../../src/index.ts"
import { person } from "../support/Person.ts"
import { inOrder, scriptedModel } from "../support/ScriptedModel.ts"
import { isSummaryRequest, summarising } from "./support.ts"

const build = (compaction?: { readonly maxPromptTokens: number; readonly keepTokens: number }) => {
  const model = scriptedModel(summarising(inOrder({ text: "hello" })))
  const layer = Harness.layer({ enforcement: "runtime", ...(compaction === undefined ? {} : { compaction }) }).pipe(
    Layer.provide(Layer.mergeAll(Journal.layerMemory, model.layer, person().layer))
  )
  return { model, harness: Harness.make(layer) }
}

it("promises: compact, fork, and what cannot be forked rejects with its tagged error", async () => {
  const { harness: making, model } = build()
  await using harness = await making
  const session = await harness.create({ id: "s" })
  assert.deepStrictEqual(await session.compact(), { outcome: "nothing-to-replace" })
  await session.prompt("hi")
  assert.deepInclude(await session.compact(), { outcome: "compacted" })
  const fork = await harness.fork("s", { id: "f" })
  assert.strictEqual(fork.id, "f")
  assert.deepStrictEqual(fork.usage(), session.usage())
  assert.strictEqual((await fork.prompt("and you")).reason, "completed")
  assert.strictEqual(model.requests.filter(isSummaryRequest).length, 1)
  const error = await harness.fork("s", { at: 9999 }).catch((cause: unknown) => cause)
  assert.deepInclude(error, { _tag: "ForkOutOfRange", session: "s", at: 9999 })
})

it("promises: /compact is there when compaction is composed, and only then", async () => {
  const { harness: making } = build({ maxPromptTokens: 1000, keepTokens: 0 })
  await using harness = await making
  const session = await harness.create()
  assert.strictEqual(await session.command("/compact"), "There is nothing to compact yet.")
  await session.prompt("hi")
  assert.strictEqual(await session.command("/compact"), "A summary has taken the place of 2 messages.")
  await using without = await build().harness
  const error = await (await without.create()).command("/compact").catch((cause: unknown) => cause)
  assert.deepInclude(error, { _tag: "UnknownCommand", name: "compact" })
})
