import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { ChaosScheduler, type Dice } from "../../../testing/src/ChaosScheduler.ts"
import {
  type AgentHandle,
  choose,
  CompactionProjection,
  Fork,
  OpenAsks,
  RetryPolicy,
  SessionId,
  TransportError,
  TurnProjection
} from "../../src/index.ts"
import { foldsAgree, stepsAreInTurns } from "../support/Checks.ts"
import { wait } from "../support/Life.ts"
import { type Reply, serverError } from "../support/ScriptedModel.ts"
import { storage } from "../support/Storage.ts"
import { allowAll, call, enter, play, submit } from "../support/Story.ts"
import { reopen, results, world } from "../support/World.ts"
import { isSummaryRequest, rebuilt, unpaired } from "./support.ts"

const RUNS = Number(process.env["HOLDFAST_RUNS"] ?? 60)

const tooLong = new TransportError({ reason: "ContextLength", code: "400", detail: "too long", retryable: false })

const randomReply = (dice: Dice): Reply =>
  dice.pick<() => Reply>([
    () => ({ text: "done" }),
    () => ({ text: "done" }),
    () => ({ calls: [call("look", "a"), call("look", "b")] }),
    () => ({ calls: [call("change", "c"), call("look", "d"), call("change", "e")] }),
    () => ({ calls: [enter, call("look", "f")] }),
    () => ({ calls: [submit(), call("look", "g")] }),
    () => ({ error: serverError() }),
    () => ({ error: tooLong }),
    () => ({ text: "never ends", hang: true })
  ])()

const randomSummary = (dice: Dice): Reply =>
  dice.pick<() => Reply>([
    () => ({ text: "summary" }),
    () => ({ text: "summary" }),
    () => ({ text: " " }),
    () => ({ error: serverError() }),
    () => ({ error: tooLong }),
    () => ({ text: "half", hang: true })
  ])()

/** A person at the keyboard who prompts, resumes, compacts, interrupts and forks as the dice say. */
const randomUser = (dice: Dice, agent: AgentHandle, forked: Array<string>) =>
  Effect.gen(function*() {
    const waiting: Array<Fiber.Fiber<unknown, unknown>> = []
    for (let i = 0; i < 12; i++) {
      yield* wait(dice, 39)
      const act = dice.pick<() => Effect.Effect<unknown, unknown, Fork>>([
        () => Effect.forkChild(agent.prompt(`message ${i}`)),
        () => agent.send(`message ${i}`),
        () => Effect.forkChild(agent.compact),
        () => Effect.forkChild(agent.compact),
        () => Effect.forkChild(agent.resume(dice.pick(["continue", "close"]))),
        () => agent.interrupt,
        () => waiting.length === 0 ? Effect.void : Fiber.interrupt(dice.pick(waiting)),
        () => {
          const id = SessionId.make(`fork-${i}`)
          forked.push(id)
          return Fork.use((fork) => fork.fork(agent.session.id, { id }))
        }
      ])
      const result = yield* act()
      if (Fiber.isFiber(result)) waiting.push(result)
    }
    // What was said last may only now begin.
    while (waiting.some((fiber) => fiber.pollUnsafe() === undefined)) {
      yield* agent.interrupt
      yield* Effect.yieldNow
    }
    yield* agent.interrupt
  })

it.live(
  "whatever prompts, resumes, compactions, interruptions and forks meet, every request is whole and every session usable",
  () =>
    ChaosScheduler.explore({ runs: RUNS }, (dice) => {
      const disk = storage()
      let calm = false
      const w = world({
        script: (request) =>
          calm ? { text: "fine" } : isSummaryRequest(request) ? randomSummary(dice) : randomReply(dice),
        journal: disk.layer,
        settings: RetryPolicy.layer({ base: "1 millis" }),
        compaction: { maxPromptTokens: 50, keepTokens: dice.pick([0, 5, 30]) },
        ...allowAll
      })
      return play(w, (agent) =>
        Effect.gen(function*() {
          const forked: Array<string> = []
          const answers = yield* Effect.forkChild(Effect.forever(w.person.answer(choose("approve"))))
          yield* randomUser(dice, agent, forked)
          yield* Fiber.interrupt(answers)
          // Nothing is left over: no question, no wish, no open request.
          const state = agent.session.view().get(CompactionProjection)
          assert.deepStrictEqual([state.open, state.wanted], [undefined, undefined])
          assert.strictEqual(agent.session.view().get(TurnProjection).phase, "idle")
          assert.strictEqual(agent.session.view().get(OpenAsks).size, 0)
          calm = true
          assert.strictEqual((yield* agent.prompt("are you there?")).reason, "completed")
          assert.deepStrictEqual(w.model.requests.flatMap(unpaired), [])
          // A request that was interrupted before it was sent is in the log too; the others are there in their order.
          const logged = rebuilt(disk.events()).map((request) => JSON.stringify(request))
          let at = 0
          for (const [n, request] of w.model.requests.entries()) {
            const found = logged.indexOf(JSON.stringify(request), at)
            assert.isAtLeast(found, 0, `request ${n} can be rebuilt`)
            at = found + 1
          }
          const called = disk.events().flatMap((event) =>
            event.type === "message/assistant" ? event.data.calls.map(({ id }) => id) : []
          )
          assert.deepStrictEqual(results(disk.events()).map((result) => result.call), called)
          foldsAgree(agent.session, disk)
          stepsAreInTurns(disk.events())
          for (const id of forked) {
            const fork = yield* reopen(id)
            assert.strictEqual(fork.session.view().get(OpenAsks).size, 0)
            assert.strictEqual((yield* fork.prompt("and you?")).reason, "completed")
            foldsAgree(fork.session, disk)
          }
          assert.deepStrictEqual(w.model.requests.flatMap(unpaired), [])
        }).pipe(Effect.scoped))
    }),
  120_000
)

it.live("a turn that has only been written down is not taken for one that was cut", () =>
  ChaosScheduler.explore({ runs: RUNS }, (dice) => {
    const disk = storage()
    disk.slowBy(wait(dice, 7))
    const w = world({ script: () => ({ text: "done" }), journal: disk.layer })
    return play(w, (agent) =>
      Effect.gen(function*() {
        const resume = Effect.andThen(
          wait(dice, 7),
          Effect.suspend(() => Effect.exit(agent.resume(dice.pick(["continue", "close"]))))
        )
        const [end] = yield* Effect.all([agent.prompt("go"), resume, resume], { concurrency: "unbounded" })
        assert.strictEqual(end.reason, "completed")
        stepsAreInTurns(disk.events())
      }))
  }))
