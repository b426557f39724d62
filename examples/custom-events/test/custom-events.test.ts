import { assert, it } from "@effect/vitest"
import { EventTypes, Journal, SessionId, Sessions, type StoredEvent } from "@holdfast/core"
import { Effect, Layer } from "effect"
import { program } from "../src/Program.ts"
import { OpenTicket, ticketEvents } from "../src/Ticket.ts"

it.live("the program: refused without a ticket, done with one, remembered by a restart and by a fork", () =>
  Effect.gen(function*() {
    const notes: Array<string> = []
    const said: Array<string> = []
    yield* program(notes, (line) => Effect.sync(() => void said.push(line)))
    assert.deepStrictEqual(notes, ["Remember the milk", "Remember the eggs"])
    assert.deepStrictEqual(said, [
      "> Remember the milk\n  The tool said: save_note was not run: no ticket is open. Say so and wait; the person opens one.",
      "> /ticket ABC-1 ann\n  ABC-1 is open.",
      "> Remember the milk\n  The tool said: saved as note 1 [ABC-1]",
      "> Which ticket is this?\n  The tool said: ABC-1, owned by ann",
      "> /ticket done\n  ABC-1 is closed.",
      "work: no ticket",
      "copy: ABC-1",
      "> Remember the eggs\n  The tool said: saved as note 2 [ABC-1]"
    ])
  }))

const id = SessionId.make("old")

const events: ReadonlyArray<StoredEvent> = [
  { session: id, seq: 0, at: 1, type: "session/created", version: 1, data: { depth: 0 } },
  { session: id, seq: 1, at: 2, type: "x-ticket", version: 1, data: { id: "OLD-7" } }
]

const opened = (types: Layer.Layer<never>) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    yield* Effect.scoped(Effect.flatMap(journal.writer(id), (writer) => writer.append(events)))
    return yield* Effect.provide(
      Sessions.use((sessions) => Effect.map(sessions.open(id), (session) => session.view().get(OpenTicket))),
      Sessions.layer.pipe(Layer.provide(types))
    )
  }).pipe(Effect.scoped, Effect.provide(Journal.layerMemory))

it.effect("a ticket that an older version of the program wrote has an owner", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* opened(ticketEvents), { id: "OLD-7", owner: "unknown" })
  }))

it.effect("a program without the rule does not open the session", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(opened(EventTypes.layer()))
    assert.deepInclude(error, { _tag: "UnknownEvent", type: "x-ticket", seq: 1 })
  }))
