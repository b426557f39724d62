/** Asks what the first argument names, prints the answer as JSON, and ends; `withdraw` withdraws the question after a while. */
import { NodeRuntime, NodeTerminal } from "@effect/platform-node"
import { Interaction } from "@holdfast/core"
import { Console, Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { TerminalInteraction, TerminalUi } from "../../src/index.ts"
import { commandApproval, editApproval, openQuestion, planReview } from "../support/questions.ts"

const [kind = "plan", file] = process.argv.slice(2)
const text = file === undefined ? "# Add tests\n\n1. write them\n2. run them\n" : readFileSync(file, "utf8")
const question = kind === "command"
  ? commandApproval(text.trimEnd())
  : kind === "edit"
  ? editApproval(text)
  : kind === "open"
  ? openQuestion()
  : planReview(text)

const App = TerminalInteraction.layer().pipe(
  Layer.provide(TerminalUi.layer),
  Layer.provide(NodeTerminal.layer)
)

const program = Effect.gen(function*() {
  const { ask } = yield* Interaction
  if (kind === "withdraw") {
    const result = yield* Effect.timeoutOption(ask(question), 1500)
    yield* Console.log(`RESULT ${result._tag}`)
    return
  }
  const answer = yield* Effect.result(ask(question))
  yield* Console.log(`RESULT ${JSON.stringify(answer._tag === "Success" ? answer.success : answer.failure)}`)
})

program.pipe(Effect.provide(App), NodeRuntime.runMain)
