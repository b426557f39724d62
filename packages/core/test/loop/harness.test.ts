import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { choose, Harness, HarnessClosed, type Interaction, isLive, Journal } from "../../src/index.ts"
import { person } from "../support/Person.ts"
import { inOrder, scriptedModel } from "../support/ScriptedModel.ts"

const build = (script: Parameters<typeof scriptedModel>[0], someone: Layer.Layer<Interaction> = person().layer) =>
  Harness.make(
    Harness.layer({ enforcement: "runtime" }).pipe(
      Layer.provide(Layer.mergeAll(Journal.layerMemory, scriptedModel(script).layer, someone))
    )
  )

it("promises: a turn, its events and its usage", async () => {
  await using harness = await build(inOrder({ text: "hello" }))
  await using session = await harness.create()
  const seen: Array<string> = []
  const watching = (async () => {
    for await (const event of session.events()) {
      seen.push(isLive(event) ? event.live : event.type)
      if (!isLive(event) && event.type === "turn/end") break
    }
  })()
  await new Promise((resolve) => setTimeout(resolve, 20))
  const end = await session.prompt("hi")
  await watching
  assert.strictEqual(end.reason, "completed")
  assert.includeMembers(seen, ["text", "tokens", "step/open", "message/assistant", "turn/end"])
  assert.strictEqual(session.usage().requests, 1)
})

it("promises: aborting interrupts the turn, and the next prompt works", async () => {
  await using harness = await build((_, n) => n === 0 ? { text: "thinking", hang: true } : { text: "hello again" })
  const session = await harness.create()
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 20)
  const end = await session.prompt("hi", { signal: controller.signal })
  assert.strictEqual(end.reason, "interrupted")
  assert.strictEqual((await session.prompt("again")).reason, "completed")
})

it("promises: plan mode is the person's to set, and to review", async () => {
  const someone = person()
  await using harness = await build(
    inOrder({ calls: [["exit_plan_mode", { plan: "# Plan" }]] }, { text: "done" }),
    someone.layer
  )
  const session = await harness.create()
  assert.strictEqual(await session.plan.set(true), "queued")
  const turn = session.prompt("plan it")
  await Effect.runPromise(someone.answer(choose("approve")))
  assert.strictEqual((await turn).reason, "completed")
  assert.deepStrictEqual(session.plan.get(), { active: false })
  assert.strictEqual(await session.command("/plan off"), "Plan mode is already off.")
})

it("promises: a closed harness says so", async () => {
  const harness = await build(inOrder({ text: "x" }))
  await harness.close()
  const error = await harness.create().then(() => undefined, (failure: unknown) => failure)
  assert.instanceOf(error, HarnessClosed)
})
