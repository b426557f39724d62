import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  type Answer,
  choose,
  type EventData,
  OpenAsks,
  type ResumeMode,
  say,
  type StoredEvent,
  ToolCatalog,
  TurnProjection
} from "../../src/index.ts"
import { inOrder, type Reply } from "../support/ScriptedModel.ts"
import { type Death, holds, storage } from "../support/Storage.ts"
import { call, playOn, playUntilDeath, submit } from "../support/Story.ts"
import { log, ofType, results, start, types, world } from "../support/World.ts"
import { unpaired } from "./support.ts"

const Again = Toolkit.make(
  Tool.make("again", { success: Schema.String }).annotate(Tool.Readonly, true).annotate(Tool.Idempotent, true)
)

type Batch = ReadonlyArray<StoredEvent>

interface Row {
  readonly cut: string
  readonly reply: Reply
  readonly die: (batch: Batch) => Death | undefined
  /** What the person answers before the process dies, and after it was resumed. */
  readonly before?: ReadonlyArray<Answer>
  readonly after?: ReadonlyArray<Answer>
  /** Outcomes of the calls, and what ran in the second process. */
  readonly continues: { readonly outcomes: ReadonlyArray<string>; readonly ran: ReadonlyArray<string> }
  readonly closes: ReadonlyArray<string>
}

const at = (type: string, death: Death, where?: (data: never) => boolean) => (batch: Batch) =>
  holds(type, where)(batch) ? death : undefined

const isCall = (id: string) => (data: EventData<"tool/started">) => data.call === id

const rows: ReadonlyArray<Row> = [
  {
    cut: "before the request",
    reply: { calls: [call("look", "a")] },
    die: at("input/received", "after"),
    continues: { outcomes: [], ran: [] },
    closes: []
  },
  {
    cut: "in the middle of the reply",
    reply: { text: "half", calls: [call("look", "a")] },
    die: at("message/assistant", "before"),
    continues: { outcomes: [], ran: [] },
    closes: []
  },
  {
    cut: "after the reply, before a call started",
    reply: { calls: [call("change", "a"), call("look", "b")] },
    die: at("message/assistant", "after"),
    after: [choose("once")],
    continues: { outcomes: ["ok", "ok"], ran: ["change:a", "look:b"] },
    closes: ["not-started", "not-started"]
  },
  {
    cut: "between two calls",
    reply: { calls: [call("change", "a"), call("change", "b")] },
    before: [choose("once")],
    die: at("approval/asked", "before", (data: EventData<"approval/asked">) => data.call === "call_1_1"),
    after: [choose("once")],
    continues: { outcomes: ["unknown", "ok"], ran: ["change:b"] },
    closes: ["unknown", "not-started"]
  },
  {
    cut: "during a call",
    reply: { calls: [call("look", "a"), call("change", "b"), call("look", "c")] },
    before: [choose("once")],
    die: at("tool/started", "after", isCall("call_1_1")),
    continues: { outcomes: ["ok", "unknown", "ok"], ran: ["look:c"] },
    closes: ["ok", "unknown", "not-started"]
  },
  {
    cut: "during calls that run together",
    reply: { calls: [call("look", "a"), call("look", "b")] },
    die: at("tool/result", "before"),
    continues: { outcomes: ["unknown", "unknown"], ran: [] },
    closes: ["unknown", "unknown"]
  },
  {
    cut: "during a call that may run twice",
    reply: { calls: [["again", {}]] },
    die: at("tool/result", "before"),
    continues: { outcomes: ["ok"], ran: ["again"] },
    closes: ["unknown"]
  },
  {
    cut: "during calls of which one may run twice",
    reply: { calls: [["again", {}], call("look", "b"), ["again", {}]] },
    die: at("tool/result", "before"),
    continues: { outcomes: ["ok", "unknown", "ok"], ran: ["again", "again"] },
    closes: ["unknown", "unknown", "unknown"]
  },
  {
    cut: "during a review",
    reply: { calls: [submit()] },
    die: at("review/asked", "after"),
    after: [choose("approve")],
    continues: { outcomes: ["ok"], ran: [] },
    closes: ["refused"]
  },
  {
    cut: "after the answer to a review",
    reply: { calls: [submit(), call("look", "b")] },
    before: [choose("approve")],
    die: at("review/answered", "after"),
    continues: { outcomes: ["ok", "ok"], ran: ["look:b"] },
    closes: ["ok", "not-started"]
  },
  {
    cut: "during an approval",
    reply: { calls: [call("change", "a")] },
    die: at("approval/asked", "after"),
    after: [choose("no")],
    continues: { outcomes: ["refused"], ran: [] },
    closes: ["not-started"]
  },
  {
    cut: "after an approval was given",
    reply: { calls: [call("change", "a")] },
    before: [choose("once")],
    die: at("approval/answered", "after"),
    continues: { outcomes: ["ok"], ran: ["change:a"] },
    closes: ["not-started"]
  },
  {
    cut: "after an approval was refused",
    reply: { calls: [call("change", "a")] },
    before: [say("use the other file")],
    die: at("approval/answered", "after"),
    continues: { outcomes: ["refused"], ran: [] },
    closes: ["not-started"]
  },
  {
    cut: "during a question",
    reply: { calls: [["ask_user", { question: "Which?" }]] },
    die: at("question/asked", "after"),
    after: [say("the second")],
    continues: { outcomes: ["ok"], ran: [] },
    closes: ["refused"]
  },
  {
    cut: "after the answer to a question",
    reply: { calls: [["ask_user", { question: "Which?" }]] },
    before: [say("the first")],
    die: at("question/answered", "after"),
    continues: { outcomes: ["ok"], ran: [] },
    closes: ["ok"]
  },
  {
    cut: "after the results, before the next request",
    reply: { calls: [call("look", "a")] },
    die: at("tool/result", "after"),
    continues: { outcomes: ["ok"], ran: [] },
    closes: ["ok"]
  }
]

const place = (disk: ReturnType<typeof storage>, ...replies: ReadonlyArray<Reply>) => {
  const ran: Array<string> = []
  const extra = ToolCatalog.add(Again).pipe(
    Layer.provide(Again.toLayer({ again: () => Effect.sync(() => (ran.push("again"), "again done")) }))
  )
  const w = world({ script: inOrder(...replies), journal: disk.layer, extra })
  return { ...w, all: () => [...ran, ...w.ran] }
}

for (const row of rows) {
  for (const mode of ["continue", "close"] as const satisfies ReadonlyArray<ResumeMode>) {
    it.live(`resume("${mode}") of a turn that was cut ${row.cut}`, () => {
      const disk = storage()
      const first = place(disk, row.reply)
      const next = disk.reborn()
      const second = place(next, { text: "done" })
      disk.dieWhen(row.die)
      return Effect.gen(function*() {
        yield* playUntilDeath(first, disk, (agent) =>
          Effect.gen(function*() {
            const turn = yield* Effect.forkChild(agent.prompt("go"))
            for (const answer of row.before ?? []) yield* first.person.answer(answer)
            return yield* Fiber.join(turn)
          }))
        yield* playOn(second, (agent) =>
          Effect.gen(function*() {
            const turn = yield* Effect.forkChild(agent.resume(mode))
            if (mode === "continue") { for (const answer of row.after ?? []) yield* second.person.answer(answer) }
            const end = yield* Fiber.join(turn)
            const events = yield* log(agent.session)
            const expected = mode === "continue" ? row.continues : { outcomes: row.closes, ran: [] }
            assert.strictEqual(end.reason, mode === "continue" ? "completed" : "closed")
            assert.deepStrictEqual(results(events).map((result) => result.outcome), expected.outcomes)
            assert.deepStrictEqual(
              results(events).map((result) => result.call),
              expected.outcomes.map((_, i) => `call_1_${i}`)
            )
            assert.deepStrictEqual(second.all(), expected.ran)
            assert.strictEqual(second.person.seen.length, mode === "continue" ? row.after?.length ?? 0 : 0)
            assert.strictEqual(agent.session.view().get(OpenAsks).size, 0)
            assert.strictEqual(agent.session.view().get(TurnProjection).phase, "idle")
            // Nobody is asked twice under one id.
            const ids = [...first.person.seen, ...second.person.seen].map((question) => question.id)
            assert.strictEqual(new Set(ids).size, ids.length)
            yield* agent.prompt("and now")
            assert.deepStrictEqual(second.model.requests.flatMap(unpaired), [])
          }))
      })
    })
  }
}

it.live("what was asked and answered reaches the model word for word, whoever carries the turn on", () => {
  const disk = storage()
  const first = place(disk, { calls: [["ask_user", { question: "Which?" }], call("change", "a")] })
  const second = place(disk.reborn(), { text: "done" })
  disk.dieWhen(at("question/answered", "after"))
  return Effect.gen(function*() {
    yield* playUntilDeath(first, disk, (agent) =>
      Effect.gen(function*() {
        const turn = yield* Effect.forkChild(agent.prompt("go"))
        yield* first.person.answer(say("the FIRST one"))
        return yield* Fiber.join(turn)
      }))
    yield* playOn(second, (agent) =>
      Effect.gen(function*() {
        // Nobody resumes: the next prompt closes what was cut.
        yield* agent.prompt("something else")
        const events = yield* log(agent.session)
        assert.deepStrictEqual(results(events).map((result) => result.outcome), ["ok", "not-started"])
        assert.strictEqual(results(events)[0]!.content, "the FIRST one")
        assert.deepStrictEqual(ofType(events, "turn/end").map((event) => event.data.reason), ["closed", "completed"])
        assert.notInclude(types(events).slice(-3), "review/asked")
      }))
  })
})

it.live("a session without an open turn has nothing to resume", () => {
  const disk = storage()
  const w = place(disk, { text: "done" })
  return Effect.gen(function*() {
    yield* Effect.scoped(Effect.provide(Effect.flatMap(start(), (agent) => agent.prompt("go")), w.layer))
    yield* playOn(place(disk.reborn(), { text: "x" }), (agent) =>
      Effect.gen(function*() {
        const length = agent.session.view().length
        assert.deepInclude(yield* Effect.flip(agent.resume("continue")), { _tag: "NothingToResume", session: "s" })
        assert.strictEqual(agent.session.view().length, length)
      }))
  })
})
