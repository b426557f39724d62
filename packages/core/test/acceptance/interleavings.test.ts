/** The rows marked with ∀: S11, B10, E20, G11 over generated lives, each under an interleaving of its own. */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { ChaosScheduler, type Dice } from "../../../testing/src/ChaosScheduler.ts"
import { type AgentHandle, foldPlanMode, PlanProjection } from "../../src/index.ts"
import { foldsAgree, logIsSound, requestsFollow } from "../support/Checks.ts"
import { type Life, life, randomUser } from "../support/Life.ts"
import { type Storage, storage } from "../support/Storage.ts"
import { play, playOn, playUntilDeath, startChild } from "../support/Story.ts"
import { ofType } from "../support/World.ts"

const RUNS = Number(process.env["HOLDFAST_RUNS"] ?? 60)

const isFine = (l: Life) => {
  assert.deepStrictEqual(l.faults, [])
  assert.isAtMost(l.shown.most, 1, "one question at a time")
}

/** After all the noise the session does what it is told, and nothing is left over. */
const isUsable = (l: Life, agent: AgentHandle, disk: Storage) =>
  Effect.gen(function*() {
    yield* agent.interrupt
    l.calm()
    disk.mend()
    const requests = l.world.model.requests.length
    const end = yield* agent.prompt("root: are you there?")
    assert.strictEqual(end.reason, "completed")
    assert.isAbove(l.world.model.requests.length, requests)
    assert.strictEqual(l.shown.now, 0, "no question is shown any more")
    foldsAgree(agent.session, disk)
    logIsSound(disk.events())
    assert.deepStrictEqual(foldPlanMode(disk.events()), agent.session.view().get(PlanProjection).state)
  })

const onOneSession = (dice: Dice, diskFailures?: number) => {
  const disk = storage()
  const l = life(dice, disk, diskFailures === undefined ? {} : { diskFailures })
  return play(l.world, (agent) =>
    Effect.gen(function*() {
      yield* l.watch(agent)
      yield* randomUser(dice, agent, 12)
      yield* isUsable(l, agent, disk)
      isFine(l)
      requestsFollow(disk.events(), l.world.model)
    }))
}

it.live(
  "PM B10, E20, G11: any life of a session keeps plan mode's promises (case 11)",
  () => ChaosScheduler.explore({ runs: RUNS }, (dice) => onOneSession(dice)),
  120_000
)

it.live(
  "PM S11, E20, G11: the same while the disk fails",
  () => ChaosScheduler.explore({ runs: RUNS, from: 10_001 }, (dice) => onOneSession(dice, 0.08)),
  120_000
)

it.live(
  "PM G11: nothing that changes the world starts while the gate is closed on it or above it",
  () =>
    ChaosScheduler.explore({ runs: RUNS, from: 20_001 }, (dice) => {
      const disk = storage()
      const l = life(dice, disk)
      return play(l.world, (root) =>
        Effect.gen(function*() {
          yield* l.watch(root)
          const child = yield* startChild(root, "child")
          yield* l.watch(child)
          const below = yield* Effect.forkChild(randomUser(dice, child, 10, "child"))
          yield* randomUser(dice, root, 10)
          yield* Fiber.join(below)
          yield* child.interrupt
          yield* isUsable(l, root, disk)
          isFine(l)
          logIsSound(disk.events("child"))
          const plan = disk.events("child").filter((event) => event.type.startsWith("plan/"))
          assert.isTrue(plan.every((event) => event.type !== "plan/selected" || event.data.by === "user"))
        }))
    }),
  120_000
)

it.live(
  "PM S11, E12, E13: death at any append, then another process: nothing is lost, repeated or run twice (cases 46, 89)",
  () =>
    ChaosScheduler.explore({ runs: RUNS, from: 30_001 }, (dice) => {
      const disk = storage()
      const first = life(dice, disk)
      const at = 3 + dice.int(40)
      const moment = dice.pick(["before", "after"] as const)
      disk.dieWhen((_, n) => n === at ? moment : undefined)
      return Effect.gen(function*() {
        const lived = yield* Effect.exit(playUntilDeath(first.world, disk, (agent) =>
          Effect.gen(function*() {
            yield* first.watch(agent)
            yield* Effect.forever(randomUser(dice, agent, 5))
          })))
        assert.isTrue(Exit.isSuccess(lived), String(lived))
        isFine(first)
        logIsSound(disk.events(), false)
        const before = disk.events()
        const reborn = disk.reborn()
        const second = life(dice, reborn)
        yield* playOn(second.world, (agent) =>
          Effect.gen(function*() {
            foldsAgree(agent.session, reborn)
            yield* second.watch(agent)
            if (dice.chance(0.6)) {
              const going = yield* Effect.forkChild(Effect.exit(agent.resume(dice.pick(["continue", "close"]))))
              yield* randomUser(dice, agent, 4)
              yield* Fiber.interrupt(going)
            }
            yield* isUsable(second, agent, reborn)
            isFine(second)
            // What had started before the death is never started again.
            const started = new Set(ofType(before, "tool/started").map((event) => event.data.call))
            const again = ofType(reborn.events(), "tool/started").slice(started.size).map((event) => event.data.call)
            assert.deepStrictEqual(again.filter((id) => started.has(id)), [])
            assert.deepStrictEqual(reborn.events().slice(0, before.length), before)
          }))
      })
    }),
  120_000
)
