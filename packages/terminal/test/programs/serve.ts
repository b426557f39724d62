/**
 * The terminal provider in a program of its own, asked over a socket: one JSON message a line. `open` builds the provider anew,
 * `close` closes it; `ask` and `withdraw` name a question.
 */
import { NodeRuntime, NodeTerminal } from "@effect/platform-node"
import { Interaction, type Question } from "@holdfast/core"
import { Cause, Effect, Exit, Fiber, Layer, Option, Queue, Scope, Terminal } from "effect"
import { connect } from "node:net"
import { createInterface } from "node:readline"
import { TerminalInteraction, TerminalUi } from "../../src/index.ts"

export type ToTerminal =
  | { readonly do: "open" }
  | { readonly do: "close" }
  | { readonly do: "ask"; readonly question: Question }
  | { readonly do: "withdraw"; readonly id: string }

/** `end` is the answer, or the tag of the error, or `defect` or `interrupted`. */
export type FromTerminal =
  | { readonly done: "open"; readonly name: string; readonly capacity: number }
  | { readonly done: "close" }
  | { readonly done: "ask"; readonly id: string; readonly end: unknown; readonly detail: string }

const socket = connect(Number(process.argv[2]), "127.0.0.1")

const tell = (message: FromTerminal) => void socket.write(`${JSON.stringify(message)}\n`)

const endOf = (
  exit: Exit.Exit<unknown, { readonly _tag: string }>
): { readonly end: unknown; readonly detail: string } => {
  if (Exit.isSuccess(exit)) return { end: exit.value, detail: "" }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  const end = error?._tag ?? (Exit.hasInterrupts(exit) ? "interrupted" : "defect")
  return { end, detail: Cause.pretty(exit.cause) }
}

const program = Effect.gen(function*() {
  const terminal = yield* Terminal.Terminal
  const layer = TerminalInteraction.layer().pipe(
    Layer.provide(TerminalUi.layer),
    Layer.provide(Layer.succeed(Terminal.Terminal, terminal))
  )
  const messages = yield* Queue.unbounded<ToTerminal>()
  createInterface({ input: socket }).on("line", (line) => {
    Queue.offerUnsafe(messages, JSON.parse(line) as ToTerminal)
  })
  socket.on("error", () => process.exit(1)).on("close", () => process.exit(0))

  const asking = new Map<string, Fiber.Fiber<unknown, unknown>>()
  let scope: Scope.Closeable | undefined
  let interaction: Interaction["Service"] | undefined
  while (true) {
    const message = yield* Queue.take(messages)
    switch (message.do) {
      case "open": {
        scope = yield* Scope.make()
        const built = yield* Effect.provide(Interaction, yield* Layer.buildWithScope(layer, scope))
        interaction = built
        tell({ done: "open", name: built.name, capacity: built.capacity })
        break
      }
      case "close": {
        if (scope !== undefined) yield* Scope.close(scope, Exit.void)
        tell({ done: "close" })
        break
      }
      case "ask": {
        const { question } = message
        if (interaction === undefined) break
        const fiber = yield* Effect.forkDetach(
          Effect.exit(interaction.ask(question)).pipe(
            Effect.onExit((exit) =>
              Effect.sync(() => {
                const { detail, end } = Exit.isSuccess(exit) ? endOf(exit.value) : endOf(exit)
                tell({ done: "ask", id: question.id, end, detail })
              })
            )
          ),
          { startImmediately: true }
        )
        asking.set(question.id, fiber)
        break
      }
      case "withdraw": {
        const fiber = asking.get(message.id)
        if (fiber !== undefined) yield* Effect.forkDetach(Fiber.interrupt(fiber), { startImmediately: true })
      }
    }
  }
})

program.pipe(Effect.provide(NodeTerminal.layer), NodeRuntime.runMain)
