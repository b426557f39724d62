/** The turn of the example, interrupted at any of its events, with real requests, a real database and real processes. */
import { Agent, Attention, Interaction, SessionId, Sessions, TurnProjection } from "@holdfast/core"
import { DeepSeekLocal } from "@holdfast/deepseek-local"
import { JournalSql } from "@holdfast/journal-sql"
import { makeScriptedPerson } from "@holdfast/terminal"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Metric, Stream } from "effect"
import * as fc from "fast-check"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { app, overLocal } from "../src/App.ts"
import { scriptedAnswer } from "../src/Person.ts"
import { defaultTask, makeProject, sourcePath, testPath } from "../src/Project.ts"
import { story } from "../src/Story.ts"

/** Counts the fibers that live, wherever they were forked. */
const fiberCount = () => {
  let alive = 0
  const layer = Layer.succeed(Metric.FiberRuntimeMetrics, {
    recordFiberStart: () => void alive++,
    recordFiberEnd: () => void alive--
  })
  return { layer, alive: () => alive }
}

const held = () =>
  process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap" || name === "Timeout").length

/** Waits until Node has closed what has ended: no more processes and timers are held than `before`. */
const released = (before: number) =>
  Effect.promise(async () => {
    for (let tries = 0; held() > before && tries < 100; tries++) await setTimeout(10)
    assert.isAtMost(held(), before, process.getActiveResourcesInfo().join())
  })

/** Answers as the example's script does, but takes a moment over it. */
const person = () => {
  const script = makeScriptedPerson(scriptedAnswer, () => Effect.void)
  let shown = 0
  const layer = Layer.succeed(Interaction, {
    ...script,
    ask: (question) =>
      Effect.acquireUseRelease(
        Effect.sync(() => void shown++),
        () => Effect.andThen(Effect.sleep("5 millis"), script.ask(question)),
        () => Effect.sync(() => void shown--)
      )
  })
  return { layer, shown: () => shown }
}

/** How a run went that was interrupted at its `point`-th event, live ones included; never, if there is none. */
const interruptedAt = async (point: number) => {
  const before = held()
  const root = await Effect.runPromise(makeProject)
  const fibers = fiberCount()
  const someone = person()
  const program = Effect.gen(function*() {
    const sessions = yield* Sessions
    const attention = yield* Attention
    const session = yield* sessions.create({ id: SessionId.make("s"), cwd: root })
    const agent = yield* (yield* Agent).open(session)
    const reached = yield* Deferred.make<void>()
    let events = 0
    yield* Effect.forkScoped(
      Stream.runForEach(
        agent.events,
        () => Effect.suspend(() => events++ === point ? Deferred.succeed(reached, undefined) : Effect.void)
      ),
      { startImmediately: true }
    )
    yield* Effect.yieldNow
    const resting = fibers.alive()
    yield* agent.send(defaultTask)
    yield* Effect.raceFirst(Deferred.await(reached), agent.idle)
    yield* agent.interrupt
    // The journal's group commit tells its waiters a tick before its own fiber ends.
    yield* Effect.yieldNow
    assert.deepStrictEqual({ fibers: fibers.alive(), shown: someone.shown(), asked: attention.open() }, {
      fibers: resting,
      shown: 0,
      asked: []
    })
    yield* released(before)
    const { end } = session.view().get(TurnProjection)
    const last = end?.reason === "completed" ? end : yield* agent.prompt("Go on with the task.")
    assert.strictEqual(last.reason, "completed")
    return { events }
  })
  const result = await Effect.runPromise(program.pipe(
    Effect.scoped,
    Effect.provide(
      app({ root, artifacts: `${root}.artifacts` }).pipe(
        Layer.provide(someone.layer),
        Layer.provide(overLocal),
        Layer.provide(JournalSql.layerSqlite({ filename: ":memory:" })),
        Layer.provide(
          DeepSeekLocal.layer({ scenario: story, latency: { firstByteMs: 5, outputTokensPerSecond: 5000, burst: 3 } })
        )
      )
    ),
    Effect.provide(fibers.layer)
  ))
  assert.strictEqual(
    await readFile(join(root, sourcePath), "utf8").then((text) => text.split("fields.push(field)").length),
    3
  )
  assert.include(await readFile(join(root, testPath), "utf8"), "an empty line is one empty field")
  assert.strictEqual(fibers.alive(), 0)
  await Effect.runPromise(released(before))
  await rm(root, { recursive: true })
  return result
}

it(
  "interrupted anywhere, the turn leaves no fiber, process, timer or question, and the next prompt finishes the task",
  async () => {
    const { events } = await interruptedAt(Number.POSITIVE_INFINITY)
    await fc.assert(fc.asyncProperty(fc.nat(events - 1), async (point) => void await interruptedAt(point)), {
      numRuns: 12
    })
  },
  300_000
)
