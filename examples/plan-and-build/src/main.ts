/**
 * Plan, approve, build: the main job of Holdfast as a program.
 *
 * Without options it makes a small project with a fault in it and works on that, against a local stand-in for the DeepSeek API. With
 * `DEEPSEEK_API_KEY` set it talks to the real one and works on what you ask it to.
 */
import { NodeRuntime, NodeServices, NodeTerminal } from "@effect/platform-node"
import { SessionId, Sessions } from "@holdfast/core"
import { JournalSql } from "@holdfast/journal-sql"
import { Screen, ScriptedPerson, TerminalInteraction, TerminalUi } from "@holdfast/terminal"
import { Console, Effect, Layer, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { mkdirSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { app, realApi, standIn } from "./App.ts"
import { scriptedAnswer } from "./Person.ts"
import { defaultTask, makeProject } from "./Project.ts"
import { type Work, work } from "./Work.ts"

const flags = {
  task: Flag.String("task").pipe(Flag.withDescription("What the agent is to do"), Flag.optional),
  cwd: Flag.String("cwd").pipe(Flag.withDescription("The folder to work in (default: a new demonstration project)"), Flag.optional),
  journal: Flag.String("journal").pipe(
    Flag.withDescription("The SQLite file that keeps the sessions"),
    Flag.withDefault(".holdfast/sessions.db")
  ),
  resume: Flag.String("resume").pipe(Flag.withDescription("Go on with this session; \"last\" is the newest one"), Flag.optional),
  list: Flag.Boolean("list").pipe(Flag.withDescription("List the sessions of the journal"), Flag.withDefault(false)),
  plan: Flag.Boolean("plan").pipe(Flag.withDescription("Start in plan mode"), Flag.withDefault(false)),
  local: Flag.Boolean("local").pipe(
    Flag.withDescription("Use the stand-in even if DEEPSEEK_API_KEY is set"),
    Flag.withDefault(false)
  )
}

interface Options {
  readonly task: Option.Option<string>
  readonly cwd: Option.Option<string>
  readonly journal: string
  readonly resume: Option.Option<string>
  readonly list: boolean
  readonly plan: boolean
  readonly local: boolean
}

const newId = () => `demo-${Date.now().toString(36)}`

/** The session to work on: a stored one, or a new one in the given folder or in a new project. */
const choose = (options: Options, real: boolean) =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const journal = resolve(options.journal)
    const line = (id: string) => `npx -y pnpm@12.21.0 demo --journal ${options.journal} --resume ${id}`
    const task = Option.getOrUndefined(options.task)
    if (Option.isSome(options.resume)) {
      const listed = yield* sessions.list
      const id = options.resume.value === "last" ? listed[0]?.session : SessionId.make(options.resume.value)
      if (id === undefined) return yield* Effect.fail(new Error(`There is no session in ${journal}`))
      const first = yield* Stream.runHead(sessions.read(id))
      const created = Option.getOrUndefined(first)
      const root = created?.type === "session/created" ? created.data.cwd : undefined
      const chosen: Work = {
        session: id,
        root: root ?? process.cwd(),
        task,
        create: false,
        plan: options.plan,
        conversation: real,
        resumeLine: line(id)
      }
      return chosen
    }
    const root = Option.isSome(options.cwd) ? resolve(options.cwd.value) : yield* makeProject
    const id = SessionId.make(newId())
    const ownTask = real && (Option.isSome(options.cwd) || task !== undefined)
    return {
      session: id,
      root,
      task: task ?? (ownTask ? undefined : defaultTask),
      create: true,
      plan: options.plan,
      conversation: real,
      resumeLine: line(id)
    } satisfies Work
  })

const list = Effect.gen(function*() {
  const sessions = yield* (yield* Sessions).list
  if (sessions.length === 0) yield* Console.log("There are no sessions.")
  for (const { events, session, updatedAt } of sessions) {
    yield* Console.log(`${session}  ${new Date(updatedAt).toISOString()}  ${events} events`)
  }
})

const run = (options: Options) => {
  const file = resolve(options.journal)
  mkdirSync(dirname(file), { recursive: true })
  const real = !options.local && (process.env["DEEPSEEK_API_KEY"] ?? "") !== ""
  const sessions = Sessions.layer.pipe(Layer.provideMerge(JournalSql.layerSqlite({ filename: file })))
  return Effect.gen(function*() {
    if (options.list) return yield* list
    const { interactive } = yield* Screen
    const target = yield* choose(options, real)
    yield* Console.log(
      `${real ? "DeepSeek API" : "Local stand-in for the DeepSeek API"}, session ${target.session}, folder ${target.root}` +
        (interactive ? "" : "\nNo terminal to ask: a scripted person answers, first with feedback, then with approval.") +
        (target.task === undefined ? "" : `\nTask: ${target.task}`)
    )
    const person = interactive ? TerminalInteraction.layer() : ScriptedPerson.layer(scriptedAnswer)
    const model = real ? realApi : standIn({ slow: interactive })
    const completed = yield* work(target).pipe(
      Effect.provide(app({ root: target.root, artifacts: `${file}.artifacts` }).pipe(
        Layer.provide(Layer.mergeAll(model, person))
      ))
    )
    if (!completed && !interactive) process.exitCode = 1
  }).pipe(Effect.provide(sessions), Effect.provide(TerminalUi.layer.pipe(Layer.provide(NodeTerminal.layer))))
}

const command = Command.make("demo", flags, run).pipe(
  Command.withDescription("Plan, approve, build: an agent that plans first, asks, and then changes things")
)

Command.run(command, { version: "0.1.0" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)

