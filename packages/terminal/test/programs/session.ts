/** A small session without a model: an input line, turns that stream text and ask, and the keys. */
import { NodeRuntime, NodeTerminal } from "@effect/platform-node"
import { Interaction } from "@holdfast/core"
import { Deferred, Effect, Fiber, Layer } from "effect"
import {
  InputHistory,
  ProgressView,
  readLine,
  Screen,
  TerminalInteraction,
  TerminalKeys,
  TerminalUi
} from "../../src/index.ts"
import { commandApproval } from "../support/questions.ts"

const Ui = TerminalUi.layer.pipe(Layer.provide(NodeTerminal.layer))
const App = TerminalInteraction.layer({ graceMillis: 100 }).pipe(Layer.provideMerge(Ui))

const program = Effect.gen(function*() {
  const { ask } = yield* Interaction
  const screen = yield* Screen
  const view = yield* ProgressView.make()
  const exit = yield* Deferred.make<void>()
  let turn: Fiber.Fiber<void> | undefined
  let planning = false

  yield* TerminalKeys.install({
    running: Effect.sync(() => turn !== undefined),
    onInterrupt: Effect.suspend(() => turn === undefined ? Effect.void : Fiber.interrupt(turn)),
    onTogglePlan: Effect.suspend(() => (planning = !planning, view.show({ _tag: "PlanMode", active: planning }))),
    onExit: Effect.andThen(screen.print("go on with --resume s-1"), Deferred.succeed(exit, undefined))
  })

  const runTurn = (text: string) =>
    Effect.gen(function*() {
      yield* view.show({ _tag: "Thinking", text: `about ${text}` })
      yield* Effect.sleep(300)
      if (text === "ask") {
        const answer = yield* Effect.result(ask(commandApproval("npm test")))
        const said = answer._tag === "Success" ? JSON.stringify(answer.success) : answer.failure._tag
        yield* view.show({ _tag: "Notice", text: `got ${said}` })
      } else if (text === "long") {
        for (let line = 1; line <= 200; line++) {
          yield* view.show({ _tag: "Text", text: `streamed line ${line}\n` })
          yield* Effect.sleep(20)
        }
      } else {
        yield* view.show({ _tag: "Text", text: `you said ${text}` })
      }
      yield* view.show({ _tag: "TurnEnded", reason: "done" })
    }).pipe(
      Effect.onInterrupt(() => view.show({ _tag: "TurnEnded", reason: "interrupted" })),
      Effect.ensuring(Effect.sync(() => {
        turn = undefined
      }))
    )

  const history = new InputHistory(["an older line"])
  const lines = Effect.gen(function*() {
    while (true) {
      const text = yield* readLine({ history, label: Effect.sync(() => planning ? "plan › " : "› ") })
      if (turn === undefined) turn = yield* Effect.forkChild(runTurn(text))
      else yield* view.show({ _tag: "Notice", text: `steered with ${text}` })
    }
  })
  yield* Effect.raceFirst(
    Effect.catchTag(lines, "InputClosed", (closed) => screen.print(`closed: ${closed.reason}`)),
    Deferred.await(exit)
  )
}).pipe(Effect.scoped)

program.pipe(Effect.provide(App), NodeRuntime.runMain)
