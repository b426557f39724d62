/** Two processes on one journal, with the rule in both of them. Everything is in memory and nothing needs a network. */
import { Agent, Fork, Harness, Interaction, Journal, SessionId, Sessions } from "@holdfast/core"
import { Effect, Layer, Stream } from "effect"
import { NoteModel } from "./Model.ts"
import { notesInto } from "./Notes.ts"
import { OpenTicket, ticketEvents, ticketRule } from "./Ticket.ts"

export const program = (notes: Array<string>, say: (line: string) => Effect.Effect<void>) => {
  const harness = Layer.mergeAll(ticketRule, notesInto(notes)).pipe(
    // Approval is another axis: here everything that the rule lets through may run.
    Layer.provideMerge(Harness.layer({ approval: { policy: () => "allow" } })),
    Layer.provide([NoteModel, Interaction.layerNone]),
    Layer.provide(ticketEvents)
  )

  const open = (id: string) =>
    Effect.gen(function*() {
      const sessions = yield* Sessions
      const agents = yield* Agent
      const agent = yield* agents.open(yield* sessions.open(SessionId.make(id)))
      const answer = (text: string) =>
        Effect.gen(function*() {
          yield* agent.prompt(text)
          const events = yield* Stream.runCollect(sessions.read(agent.session.id))
          const last = events.findLast((event) => event.type === "message/assistant")
          yield* say(`> ${text}\n  ${last?.type === "message/assistant" ? last.data.text : ""}`)
        })
      const command = (line: string) => Effect.flatMap(agent.command(line), (said) => say(`> ${line}\n  ${said ?? ""}`))
      return { agent, answer, command }
    })

  const first = Effect.gen(function*() {
    const sessions = yield* Sessions
    yield* Effect.scoped(sessions.create({ id: SessionId.make("work") }))
    const { answer, command } = yield* open("work")
    yield* answer("Remember the milk")
    yield* command("/ticket ABC-1 ann")
    yield* answer("Remember the milk")
    yield* answer("Which ticket is this?")
  }).pipe(Effect.scoped, Effect.provide(harness, { local: true }))

  // Another process on the same journal: the ticket is still open, in a fork of the session too.
  const second = Effect.gen(function*() {
    const forks = yield* Fork
    yield* forks.fork(SessionId.make("work"), { id: SessionId.make("copy") })
    const { agent, command } = yield* open("work")
    yield* command("/ticket done")
    const copy = yield* open("copy")
    yield* say(`work: ${agent.session.view().get(OpenTicket)?.id ?? "no ticket"}`)
    yield* say(`copy: ${copy.agent.session.view().get(OpenTicket)?.id ?? "no ticket"}`)
    yield* copy.answer("Remember the eggs")
  }).pipe(Effect.scoped, Effect.provide(harness, { local: true }))

  return Effect.andThen(first, second).pipe(Effect.provide(Journal.layerMemory))
}
