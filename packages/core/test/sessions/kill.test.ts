import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { beginAttempt } from "../../src/agent/Attempt.ts"
import {
  choose,
  lostCalls,
  openCalls,
  repair,
  type ResumeMode,
  RetryPolicy,
  type SessionEvent,
  type StoredEvent,
  ToolCatalog
} from "../../src/index.ts"
import { inOrder, type Reply, serverError } from "../support/ScriptedModel.ts"
import { type Death, type Storage, storage } from "../support/Storage.ts"
import { call, enter, playOn, playUntilDeath, submit } from "../support/Story.ts"
import { reopen, results, start, type World, world } from "../support/World.ts"
import { summarising, unpaired, viewOf, within } from "./support.ts"

/** A run with parallel calls, approvals, a review, a failed request and a compaction. */
const replies: ReadonlyArray<Reply> = [
  { calls: [call("look", "a"), call("look", "b"), call("change", "c"), call("look", "d"), call("look", "e")] },
  { error: serverError() },
  { calls: [enter, call("look", "f")] },
  { text: "a plan", calls: [submit(), call("look", "g")] },
  { calls: [call("look", "h"), ["nothing", {}], call("look", "i")] },
  { text: "done" }
]

const place = (disk: Storage, script = replies) =>
  world({
    script: summarising(inOrder(...script)),
    journal: disk.layer,
    settings: RetryPolicy.layer({ base: "1 millis" }),
    compaction: { maxPromptTokens: 50, keepTokens: 30 }
  })

/** Answers whatever is asked. */
const agreeable = (w: World) =>
  Effect.forever(Effect.gen(function*() {
    const question = yield* w.person.next
    yield* w.person.answer(choose(question.intent.name === "plan-review" ? "approve" : "once"))
  }))

const run = (w: World) => <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(work, agreeable(w))

/** One undisturbed run. */
const whole = (disk: Storage) => {
  const w = place(disk)
  return Effect.scoped(Effect.provide(Effect.flatMap(start(), (agent) => run(w)(agent.prompt("go"))), w.layer))
}

const exactlyOne = (events: ReadonlyArray<SessionEvent>) => {
  const called = events.flatMap((event) => event.type === "message/assistant" ? event.data.calls.map((c) => c.id) : [])
  // In call order too: results never overtake each other, whoever logged them.
  assert.deepStrictEqual(results(events).map((result) => result.call), called)
}

const truncated = (events: ReadonlyArray<StoredEvent>, length: number): Storage => {
  const disk = storage()
  disk.put(events.slice(0, length))
  return disk
}

/** Prefixes at which a process can have died: a turn begins in one batch with what it is about. */
const prefixes = (events: ReadonlyArray<StoredEvent>): ReadonlyArray<number> =>
  events.flatMap((event, i) => event.type === "turn/start" || event.type === "session/created" ? [] : [i + 1])

for (const mode of ["continue", "close"] as const satisfies ReadonlyArray<ResumeMode>) {
  it.live(
    `case 143: cut at every event and resumed by "${mode}", every call has exactly one result`,
    () =>
      Effect.gen(function*() {
        const original = storage()
        yield* whole(original)
        const stored = original.stored()
        assert.isAbove(stored.length, 40)
        for (const length of prefixes(stored)) {
          const disk = truncated(stored, length)
          const w = place(disk, [{ text: "on" }])
          yield* playOn(w, (agent) =>
            Effect.gen(function*() {
              const started = openCalls(agent.session.view()).filter((item) => item.status === "started")
              yield* run(w)(agent.resume(mode)).pipe(Effect.catchTag("NothingToResume", () => Effect.void))
              yield* run(w)(agent.prompt("next"))
              assert.deepStrictEqual(w.model.requests.flatMap(unpaired), [], `after event ${length - 1}`)
              exactlyOne(disk.events())
              const after = new Map(results(disk.events()).map((result) => [result.call, result.outcome]))
              for (const { record } of started) assert.strictEqual(after.get(record.id), "unknown", record.id)
            }))
        }
      }),
    60_000
  )
}

for (const death of ["before", "after"] as const satisfies ReadonlyArray<Death>) {
  it.live(
    `case 143: killed ${death} every append, and again during the resume, it comes to a good end`,
    () =>
      Effect.gen(function*() {
        const original = storage()
        yield* whole(original)
        for (let n = 1; n < original.appends(); n++) {
          const disk = storage()
          disk.dieWhen((_, append) => append === n ? death : undefined)
          const first = place(disk)
          yield* playUntilDeath(first, disk, (agent) => run(first)(agent.prompt("go")))
          const disk2 = disk.reborn()
          disk2.dieWhen((_, append) => append === 1 ? death : undefined)
          const second = place(disk2, [{ calls: [call("look", "x"), call("look", "y")] }, { text: "on" }])
          const { stored } = disk
          const survived = stored().length
          // It may also end before it dies: then it is the process after it that has nothing to resume.
          yield* playUntilDeath(second, disk2, (agent) => run(second)(agent.resume("continue")), reopen()).pipe(
            Effect.catchDefect(() => Effect.void)
          )
          const third = place(disk2.reborn(), [{ text: "on" }])
          yield* playOn(third, (agent) =>
            Effect.gen(function*() {
              yield* run(third)(agent.resume("continue")).pipe(Effect.catchTag("NothingToResume", () => Effect.void))
              yield* run(third)(agent.prompt("next"))
              assert.deepStrictEqual([...second.model.requests, ...third.model.requests].flatMap(unpaired), [])
              exactlyOne(disk.events())
              assert.isAbove(stored().length, survived)
              // What changes something ran at most once, in whatever process.
              const changed = [...first.ran, ...second.ran, ...third.ran].filter((what) => what === "change:c")
              assert.isAtMost(changed.length, 1)
            }))
        }
      }),
    60_000
  )
}

it.live("case 142: repairing what is repaired changes nothing, at any point of a run", () =>
  Effect.gen(function*() {
    const disk = storage()
    const w = place(disk)
    yield* whole(disk)
    const events = disk.events()
    yield* within(
      w,
      Effect.gen(function*() {
        const catalog = yield* ToolCatalog
        for (let length = 1; length <= events.length; length++) {
          const view = viewOf(events.slice(0, length))
          for (const mode of ["continue", "close"] as const) {
            const repaired = view.after(repair(view, catalog, mode))
            assert.deepStrictEqual(repair(repaired, catalog, mode), [], `${mode} after event ${length - 1}`)
            // What is left waits behind a call that runs first: the runner logs it in its turn.
            const [open] = openCalls(repaired)
            assert.isFalse(open !== undefined && lostCalls(repaired, catalog).has(open.record.id))
          }
          const closed = view.after(repair(view, catalog, "close"))
          assert.deepStrictEqual(openCalls(closed), [])
        }
      })
    )
  }))

it.live("case 144: a repair is on the disk, and the request after a second resume is the same", () =>
  Effect.gen(function*() {
    const disk = storage()
    const first = place(disk)
    disk.dieWhen((batch) => batch.some((event) => event.type === "tool/result") ? "before" : undefined)
    yield* playUntilDeath(first, disk, (agent) => agent.prompt("go"))
    const copy = storage()
    copy.put(disk.stored())
    const bodies: Array<string> = []
    for (const [source, death] of [[copy, false], [disk.reborn(), true]] as const) {
      let current = source
      if (death) {
        // This process resumes, is killed when the next request is opened, and another one resumes again.
        current.dieWhen((batch) => batch.some((event) => event.type === "step/open") ? "before" : undefined)
        const dying = place(current, [{ text: "on" }])
        yield* playUntilDeath(dying, current, (agent) => run(dying)(agent.resume("continue")), reopen())
        assert.isAbove(results(current.events()).length, 4, "the results are stored")
        current = current.reborn()
      }
      const w = place(current, [{ text: "on" }])
      yield* playOn(w, (agent) => run(w)(agent.resume("continue")))
      bodies.push(w.model.bodies[0]!)
    }
    assert.strictEqual(bodies[0], bodies[1])
  }))

it("case 146: calls with one id, an empty one or none that is new get ids of the harness's own", () => {
  const attempt = beginAttempt(7)
  const sent = ["same", "same", "", "", "call_7_0"]
  attempt.take(sent.map((id) => ({ _tag: "ToolCall", id, name: "look", arguments: "{}" })))
  attempt.take([{ _tag: "Finish", reason: "tool-calls" }])
  const reply = attempt.complete()
  if (!("calls" in reply)) return assert.fail("there is a reply")
  assert.deepStrictEqual(reply.calls.map(({ id }) => id), sent.map((_, i) => `call_7_${i}`))
  assert.deepStrictEqual(reply.calls.map(({ received }) => received?.id), sent)
})
