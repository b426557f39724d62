/**
 * The demonstration of `plan-and-build`, asked in a folder: the agent plans, and its questions appear as markdown files.
 *
 * `pnpm --filter @holdfast/example-custom-provider start [folder]`
 */
import { NodeRuntime, NodeTerminal } from "@effect/platform-node"
import { SessionId, Sessions } from "@holdfast/core"
import { app, standIn } from "@holdfast/example-plan-and-build/App"
import { defaultTask, makeProject } from "@holdfast/example-plan-and-build/Project"
import { work } from "@holdfast/example-plan-and-build/Work"
import { JournalSql } from "@holdfast/journal-sql"
import { TerminalUi } from "@holdfast/terminal"
import { Console, Effect, Layer } from "effect"
import { mkdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { ENDING, FolderPerson } from "./FolderPerson.ts"

const folder = resolve(process.argv[2] ?? "questions")
const state = join(folder, ".holdfast")
mkdirSync(state, { recursive: true })

const program = Effect.gen(function*() {
  const root = yield* makeProject
  const session = SessionId.make(`folder-${Date.now().toString(36)}`)
  yield* Console.log(
    `Task: ${defaultTask}\nProject: ${root}\nQuestions appear in ${folder} as *${ENDING}: open one, tick and write, save.\n`
  )
  const completed = yield* work({
    session,
    root,
    task: defaultTask,
    create: true,
    plan: false,
    conversation: false,
    resumeLine: `npx -y pnpm@12.21.0 demo --journal ${join(state, "sessions.db")} --resume ${session}`
  }).pipe(Effect.provide(
    app({ root, artifacts: join(state, "artifacts") }).pipe(
      Layer.provide(Layer.mergeAll(standIn({ slow: false }), FolderPerson.layer({ folder })))
    )
  ))
  if (!completed) process.exitCode = 1
}).pipe(
  Effect.provide(
    Sessions.layer.pipe(Layer.provideMerge(JournalSql.layerSqlite({ filename: join(state, "sessions.db") })))
  ),
  Effect.provide(TerminalUi.layer.pipe(Layer.provide(NodeTerminal.layer)))
)

NodeRuntime.runMain(program)
