/** The program that is killed: the example's own work over a journal with a killer, and a person who keeps a ledger. */
import { NodeRuntime, NodeTerminal } from "@effect/platform-node"
import { Interaction, SessionId, Sessions } from "@holdfast/core"
import { app, standIn } from "@holdfast/example-plan-and-build/App"
import { scriptedAnswer } from "@holdfast/example-plan-and-build/Person"
import { work } from "@holdfast/example-plan-and-build/Work"
import { JournalSql } from "@holdfast/journal-sql"
import { makeScriptedPerson, TerminalUi } from "@holdfast/terminal"
import { Effect, Layer } from "effect"
import { appendFileSync } from "node:fs"
import { killer } from "./Killer.ts"
import type { Run } from "./Loop.ts"

const run = JSON.parse(process.argv[2] ?? "{}") as Run

const note = (line: string) => Effect.sync(() => appendFileSync(run.ledger, `${line}\n`))

/** Writes down each question before it is answered and after; what it answers follows from the question alone. */
const person = Layer.sync(Interaction, () => {
  const scripted = makeScriptedPerson(scriptedAnswer, () => Effect.void)
  return Interaction.of({
    ...scripted,
    ask: (question) =>
      note(`asked ${question.id}`).pipe(
        Effect.andThen(scripted.ask(question)),
        Effect.tap(() => note(`answered ${question.id}`))
      )
  })
})

const journal = killer(JournalSql.layerSqlite({ filename: run.journal }), run.kill)

const program = work({
  session: SessionId.make(run.session),
  root: run.root,
  task: run.task,
  create: run.create,
  plan: false,
  conversation: false,
  resumeLine: ""
}).pipe(
  Effect.provide(
    app({ root: run.root, artifacts: `${run.journal}.artifacts` }).pipe(
      Layer.provide(Layer.mergeAll(standIn({ slow: false }), person))
    )
  ),
  Effect.provide(Sessions.layer.pipe(Layer.provideMerge(journal))),
  Effect.provide(TerminalUi.layer.pipe(Layer.provide(NodeTerminal.layer))),
  Effect.map((completed) => {
    if (!completed) process.exitCode = 1
  })
)

NodeRuntime.runMain(program)
