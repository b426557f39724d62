/**
 * "Nothing is changed without a ticket": a rule of one team, made of a fact of its own.
 *
 * The fact is an event type, the state is a fold of it, a command writes it, a hook decides by it and a tool reads it. The
 * rule survives a restart and a fork without any further code, because the journal is where it lives.
 */
import { Commands, CurrentCall, EventTypes, Projection, SessionEvent, ToolCatalog, ToolHooks } from "@holdfast/core"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"

/**
 * The ticket that the work belongs to; `null` closes it. Version 1 was written before tickets had an owner: the upcaster
 * brings such events up to date when they are read, the journal stays as it is. A program that does not know this type must not
 * open the session, because it would not keep the rule: `required`.
 */
const TicketEvent = SessionEvent.extend({
  type: "x-ticket",
  schema: Schema.Struct({ id: Schema.NullOr(Schema.String), owner: Schema.String }),
  unknown: "required",
  version: 2,
  upcasters: { 1: (data) => ({ ...data as object, owner: "unknown" }) }
})

export interface Ticket {
  readonly id: string
  readonly owner: string
}

/** The ticket that is open now. */
export const OpenTicket: Projection<Ticket | undefined> = Projection.make<Ticket | undefined>({
  name: "x-open-ticket",
  initial: undefined,
  on: { "x-ticket": TicketEvent.on((_, { id, owner }) => id === null ? undefined : { id, owner }) }
})

/** `/ticket ID owner` opens a ticket, `/ticket done` closes it. The model is not told. */
const command = Layer.effectDiscard(Effect.gen(function*() {
  const commands = yield* Commands
  yield* commands.register({
    name: "ticket",
    summary: "/ticket ID owner opens a ticket, /ticket done closes it",
    run: (args, { session }) =>
      session.transact((view) => {
        const [id = "", owner = "unknown"] = args.trim().split(/\s+/)
        const open = view.get(OpenTicket)
        if (id === "") return { events: [], value: open === undefined ? "No ticket is open." : `${open.id} is open.` }
        if (id !== "done") return { events: [TicketEvent.make({ id, owner })], value: `${id} is open.` }
        if (open === undefined) return { events: [], value: "No ticket is open." }
        return { events: [TicketEvent.make({ id: null, owner: open.owner })], value: `${open.id} is closed.` }
      })
  })
}))

/** Refuses what changes something while no ticket is open, and puts the ticket beside what was done. */
const hook = ToolHooks.add({
  name: "ticket",
  before: ({ safety, view }) =>
    Effect.succeed(
      safety === "read" || view.get(OpenTicket) !== undefined
        ? undefined
        : { refuse: "no ticket is open. Say so and wait; the person opens one." }
    ),
  after: ({ safety, view }, outcome) =>
    Effect.sync(() => {
      const ticket = view.get(OpenTicket)
      if (safety === "read" || ticket === undefined || outcome.outcome !== "ok") return undefined
      return {
        ...outcome,
        content: `${outcome.content} [${ticket.id}]`,
        facts: { ...outcome.facts, ticket: ticket.id }
      }
    })
})

const Tickets = Toolkit.make(
  Tool.make("current_ticket", {
    description: "The ticket that the work belongs to.",
    success: Schema.String
  }).annotate(Tool.Readonly, true)
)

const tool = ToolCatalog.add(Tickets).pipe(Layer.provide(Tickets.toLayer({
  current_ticket: () =>
    Effect.map(CurrentCall, (call) => {
      const ticket = call?.state(OpenTicket)
      return ticket === undefined ? "none" : `${ticket.id}, owned by ${ticket.owner}`
    })
})))

/** Command, hook and tool; provide it with `Harness.layer`. */
export const ticketRule = Layer.mergeAll(command, hook, tool)

/** The event type; provide it to everything that reads or writes sessions. */
export const ticketEvents = EventTypes.layer(TicketEvent)
