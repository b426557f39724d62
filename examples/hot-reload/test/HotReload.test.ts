/** Acceptance rows R6 and C8 in a whole program: layers rebuilt while plan mode is on. */
import { foldPlanMode, type SessionEvent } from "@holdfast/core"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { story } from "../src/Program.ts"
import { makeReloadable } from "../src/Reloadable.ts"

const results = (events: ReadonlyArray<SessionEvent>) =>
  events.flatMap((event) => event.type === "tool/result" ? [event.data.code ?? event.data.outcome] : [])

describe("plan mode rebuilt while it is on", () => {
  it.live(
    "PM R6, C8: the gate stays closed in between, the command comes back, leaving opens the gate",
    () =>
      Effect.gen(function*() {
        const lines: Array<string> = []
        const { events, notes, requests } = yield* story((line) => void lines.push(line))
        assert.deepStrictEqual(lines, [
          "Tools and plan mode are loaded.",
          "  /plan → Entering plan mode (from the next step; changes are refused from now on).",
          "  \"Write the note.\" with guidance \"Planning, first edition\" → write_note refused [plan_gate]; plan mode is on",
          "The plan-mode layer is closed. The gate is not.",
          "  /plan off → There is no command /plan. Known: none",
          "  \"Write the note.\" with no guidance → write_note refused [plan_gate]; plan mode is on",
          "It is built again, with another guidance: plan mode is still on, and its command is back.",
          "  \"Write the note.\" with guidance \"Planning, second edition\" → write_note refused [plan_gate]; plan mode is on",
          "A version with a mistake in it does not load, and the one before stays.",
          "  The configuration of plan mode is wrong at \"section\": it is blank",
          "  \"Write the note.\" with guidance \"Planning, second edition\" → write_note refused [plan_gate]; plan mode is on",
          "The tools are replaced as well: what a call does is judged anew, and it is still refused.",
          "  \"Write the note.\" with guidance \"Planning, second edition\" → write_note refused [plan_gate]; plan mode is on",
          "Leaving opens the gate.",
          "  /plan off → Leaving plan mode (from the next step).",
          "  \"Write the note.\" with no guidance → write_note ok; plan mode is off",
          "  notes: [\"HELLO\"]"
        ])
        assert.deepStrictEqual(notes, ["HELLO"])
        assert.deepStrictEqual(results(events), [...Array.from({ length: 5 }, () => "plan_gate"), "ok"])
        assert.isFalse(foldPlanMode(events).active)
        // Neither closing nor building writes a fact of plan mode, and the header is the session's.
        assert.deepStrictEqual(
          events.flatMap((event) =>
            event.type === "plan/mode" || event.type === "plan/selected" ? [event.data.active] : []
          ),
          [true, true, false, false]
        )
        assert.strictEqual(events.filter(({ type }) => type === "request/header").length, 1)
        const headers = requests.map((body) => body.slice(0, body.indexOf("\"role\":\"user\"")))
        assert.strictEqual(new Set(headers).size, 1)
      }),
    120_000
  )
})

describe("a reloadable layer", () => {
  class Version extends Context.Service<Version, number>()("test/Version") {}
  const version = (n: number, log: Array<string>, closing: Effect.Effect<void> = Effect.void) =>
    Layer.effect(
      Version,
      Effect.acquireRelease(
        Effect.sync(() => (log.push(`open ${n}`), n)),
        () => Effect.andThen(closing, Effect.sync(() => void log.push(`close ${n}`)))
      )
    )

  it.effect("closes the old before it builds the new, and the last one with the program", () => {
    const log: Array<string> = []
    return Effect.gen(function*() {
      const seen: Array<number | undefined> = []
      yield* Effect.gen(function*() {
        const place = yield* makeReloadable<Version, never, never>()
        const see = () => {
          const current = place.current()
          seen.push(current === undefined ? undefined : Context.get(current, Version))
        }
        see()
        const first = version(1, log)
        yield* place.load(first)
        see()
        yield* place.load(first)
        yield* place.load(version(2, log))
        see()
        yield* place.unload
        see()
        yield* place.load(version(3, log))
      }).pipe(Effect.scoped)
      assert.deepStrictEqual(seen, [undefined, 1, 2, undefined])
      assert.deepStrictEqual(log, [
        "open 1",
        "close 1",
        "open 1",
        "close 1",
        "open 2",
        "close 2",
        "open 3",
        "close 3"
      ])
    })
  })

  it.effect("is loaded by one at a time, and waits for what is being closed", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const done = yield* Deferred.make<void>()
      const place = yield* makeReloadable<Version, never, never>()
      yield* place.load(version(1, log, Deferred.await(done)))
      const second = yield* Effect.forkChild(place.load(version(2, log)), { startImmediately: true })
      const third = yield* Effect.forkChild(place.load(version(3, log)), { startImmediately: true })
      for (let i = 0; i < 20; i++) yield* Effect.yieldNow
      assert.deepStrictEqual(log, ["open 1"])
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(second)
      yield* Fiber.join(third)
      assert.deepStrictEqual(log, ["open 1", "close 1", "open 2", "close 2", "open 3"])
    }).pipe(Effect.scoped))
})
