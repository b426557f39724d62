import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import {
  Attention,
  choose,
  dismiss,
  Interaction,
  InteractionFailed,
  type Question,
  SessionId
} from "../../src/index.ts"

const FIBERS = 1000
const EACH = 10
const CAPACITY = 3

/** A small generator with a seed, so that a failure can be played again. */
const dice = (seed: number) => () => {
  seed = (seed * 1_664_525 + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

const question = (id: string): Question => ({
  id,
  asker: { session: SessionId.make("s"), path: [] },
  intent: { name: "question" },
  title: id,
  detail: id,
  options: [{ id: "yes", label: "Yes" }],
  allowText: true
})

it.effect(
  "10,000 questions from 1,000 fibers: in order, never more than can be shown, one outcome each, all permits back",
  () => {
    const random = dice(20_261_201)
    const asked: Array<string> = []
    const shown: Array<string> = []
    let now = 0
    let most = 0
    const provider = Layer.succeed(Interaction, {
      name: "busy",
      capacity: CAPACITY,
      ask: (asking) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            shown.push(asking.id)
            most = Math.max(most, ++now)
          }),
          () => {
            const fate = random()
            if (fate < 0.05) return Effect.fail(new InteractionFailed({ provider: "busy", detail: "lost" }))
            if (fate < 0.1) return Effect.die("broken")
            if (fate < 0.15) return Effect.never
            if (fate < 0.2) return Effect.as(Effect.yieldNow, dismiss)
            return Effect.as(fate < 0.6 ? Effect.void : Effect.yieldNow, choose("yes"))
          },
          () => Effect.sync(() => void now--)
        )
    })
    return Effect.gen(function*() {
      const attention = yield* Attention
      const outcomes = new Map<string, number>()
      const interrupted = new Set<string>()
      const one = (id: string) =>
        Effect.suspend(() => {
          asked.push(id)
          // Some questions are settled by a grant that came while they waited; some have a deadline; some askers go away.
          const granted = random() < 0.1
          return attention.ask<"granted">(question(id), {
            deadline: "1 minute",
            reconsider: () => granted ? "granted" : undefined
          })
        }).pipe(Effect.onExit((exit) =>
          Effect.sync(() => {
            outcomes.set(id, (outcomes.get(id) ?? 0) + 1)
            if (Exit.hasInterrupts(exit)) interrupted.add(id)
          })
        ))
      const fibers = yield* Effect.forEach(
        Array.from({ length: FIBERS }, (_, i) => i),
        (i) =>
          Effect.forkChild(
            Effect.gen(function*() {
              for (let k = 0; k < EACH; k++) {
                const asking = yield* Effect.forkChild(one(`${i}-${k}`), { startImmediately: true })
                if (random() < 0.15) {
                  for (let n = 0; n < random() * 20; n++) yield* Effect.yieldNow
                  yield* Fiber.interrupt(asking)
                }
                yield* Fiber.await(asking)
              }
            })
          )
      )
      const all = yield* Effect.forkChild(Effect.forEach(fibers, Fiber.await, { discard: true }))
      while (all.pollUnsafe() === undefined) {
        for (let n = 0; n < 200; n++) yield* Effect.yieldNow
        yield* TestClock.adjust("1 minute")
      }
      yield* Fiber.join(all)

      assert.strictEqual(asked.length, FIBERS * EACH)
      assert.isAtMost(most, CAPACITY)
      assert.isTrue([...outcomes.values()].every((count) => count === 1) && outcomes.size === asked.length)
      // First come, first served: those that were shown were shown in the order of asking.
      const place = new Map(asked.map((id, i) => [id, i]))
      assert.isTrue(
        shown.every((id, i) => i === 0 || place.get(shown[i - 1]!)! < place.get(id)!),
        "in the order of asking"
      )
      assert.isAbove(interrupted.size, 100)
      assert.deepStrictEqual(attention.open(), [])
      // All permits are back: as many can be shown at once as before.
      const last = yield* Effect.forEach(
        [1, 2, 3],
        (i) =>
          attention.ask(question(`last-${i}`), { deadline: "1 minute" }).pipe(
            Effect.forkChild({ startImmediately: true })
          )
      )
      yield* TestClock.adjust("1 minute")
      yield* Effect.forEach(last, Fiber.join)
      assert.strictEqual(now, 0)
    }).pipe(Effect.provide(Attention.layer().pipe(Layer.provide(provider))), Effect.scoped)
  },
  60_000
)
