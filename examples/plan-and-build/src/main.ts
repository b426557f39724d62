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
import { Console, Effect, Layer, Option, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { existsSync, mkdirSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { app, realApi, standIn } from "./App.ts"
import { scriptedAnswer } from "./Person.ts"
import { defaultTask, makeProject } from "./Project.ts"
import { type Work, work } from "./Work.ts"

const flags = {
  task: Flag.String("task").pipe(Flag.withDescription("What the agent is to do"), Flag.optional),
  cwd: Flag.String("cwd").pipe(
    Flag.withDescription("The folder to work in (default: a new demonstration project)"),
    Flag.optional
  ),
  journal: Flag.String("journal").pipe(
    Flag.withDescription("The SQLite file that keeps the sessions"),
    Flag.withDefault(".holdfast/sessions.db")
  ),
  resume: Flag.String("resume").pipe(
    Flag.withDescription("Go on with this session; \"last\" is the newest one"),
    Flag.optional
  ),
  list: Flag.Boolean("list").pipe(Flag.withDescription("List the sessions of the journal"), Flag.withDefault(false)),
  plan: Flag.Boolean("plan").pipe(Flag.withDescription("Start in plan mode"), Flag.withDefault(false)),
  chat: Flag.Boolean("chat").pipe(
    Flag.withDescription("Talk with the agent instead of giving it one task (always so with the real API)"),
    Flag.withDefault(false)
  ),
  local: Flag.Boolean("local").pipe(
    Flag.withDescription("Use the stand-in even if DEEPSEEK_API_KEY is set"),
    Flag.withDefault(false)
  ),
  record: Flag.String("record").pipe(
    Flag.withDescription("Append the body of each request that the stand-in gets to this file"),
    Flag.optional
  )
}

interface Options {
  readonly task: Option.Option<string>
  readonly cwd: Option.Option<string>
  readonly journal: string
  readonly resume: Option.Option<string>
  readonly list: boolean
  readonly plan: boolean
  readonly chat: boolean
  readonly local: boolean
  readonly record: Option.Option<string>
}

/** What was asked for cannot be done; the message says why. */
class CannotStart extends Schema.TaggedError<CannotStart>()("CannotStart", { message: Schema.String }) {}

const newId = () => `demo-${Date.now().toString(36)}`

/** The session to work on: a stored one, or a new one in the given folder or in a new project. */
const choose = (options: Options, settings: { readonly real: boolean; readonly interactive: boolean }) =>
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const journal = resolve(options.journal)
    const task = Option.getOrUndefined(options.task)
    const conversation = settings.interactive && (settings.real || options.chat)
    const common = (id: SessionId, root: string) => ({
      session: id,
      root,
      plan: options.plan,
      conversation,
      resumeLine: `npx -y pnpm@12.21.0 demo --journal ${options.journal} --resume ${id}${options.chat ? " --chat" : ""}`
    })
    if (Option.isSome(options.resume)) {
      const listed = yield* sessions.list
      const wanted = options.resume.value
      const id = wanted === "last" ? listed[0]?.session : listed.find(({ session }) => session === wanted)?.session
      if (id === undefined) {
        return yield* new CannotStart({
          message: listed.length === 0
            ? `There are no sessions in ${journal}.`
            : `There is no session "${wanted}" in ${journal}; --list shows those that there are.`
        })
      }
      const created = Option.getOrUndefined(yield* Stream.runHead(sessions.read(id)))
      const root = (created?.type === "session/created" ? created.data.cwd : undefined) ?? process.cwd()
      if (!existsSync(root)) {
        return yield* new CannotStart({ message: `The folder of session "${id}" is not there any more: ${root}` })
      }
      const chosen: Work = { ...common(id, root), task, create: false }
      return chosen
    }
    const root = Option.isSome(options.cwd) ? resolve(options.cwd.value) : yield* makeProject
    const ownTask = (conversation && options.chat) || (settings.real && Option.isSome(options.cwd))
    const chosen: Work = {
      ...common(SessionId.make(newId()), root),
      task: task ?? (ownTask ? undefined : defaultTask),
      create: true
    }
    return chosen
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
    const target = yield* choose(options, { real, interactive })
    const facts = [
      [
        "model",
        real ? "the DeepSeek API" : "a local stand-in for the DeepSeek API: real requests, a scripted model, no key"
      ],
      ["folder", target.root],
      ["session", target.session],
      ["person", interactive ? "you" : "no terminal, so a script answers: first with feedback, then with consent"],
      ...(target.task === undefined ? [] : [["task", target.task]])
    ] as const
    yield* Console.log(`${facts.map(([name, text]) => `${name.padEnd(9)}${text}`).join("\n")}\n`)
    const person = interactive ? TerminalInteraction.layer() : ScriptedPerson.layer(scriptedAnswer)
    const record = Option.getOrUndefined(options.record)
    const model = real ? realApi : standIn({ slow: interactive, ...(record === undefined ? {} : { record }) })
    const completed = yield* work(target).pipe(
      Effect.provide(
        app({ root: target.root, artifacts: `${file}.artifacts` }).pipe(
          Layer.provide(Layer.mergeAll(model, person))
        )
      )
    )
    if (!completed && !interactive) process.exitCode = 1
  }).pipe(
    // Every failure has a message for people; where it arose in the code helps nobody here.
    Effect.catch((error) =>
      Effect.andThen(Console.error(error.message), Effect.sync(() => void (process.exitCode = 1)))
    ),
    Effect.provide(sessions),
    Effect.provide(TerminalUi.layer.pipe(Layer.provide(NodeTerminal.layer)))
  )
}

const command = Command.make("demo", flags, run).pipe(
  Command.withDescription("Plan, approve, build: an agent that plans first, asks, and then changes things")
)

// Whoever closes the pipe, as `head` does, has read enough.
process.stdout.on("error", () => process.exit(0))

Command.run(command, { version: "0.1.0" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
