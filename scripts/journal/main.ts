/**
 * Looks after stored sessions: lists, shows, exports, imports, verifies and repairs them.
 *
 * `pnpm journal list sqlite:sessions.db`. A journal is named `sqlite:FILE`, `file:FOLDER` or `postgres://…`. Nothing here
 * changes a session in place: an import makes sessions, and a repair writes into another journal.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Journal, SessionId, Sessions, type StoredEvent } from "@holdfast/core"
import { requestTable, timeline } from "@holdfast/example-plan-and-build/Report"
import { Console, Effect, Exit, Layer, Option, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createReadStream } from "node:fs"
import { writeFile } from "node:fs/promises"
import { createInterface } from "node:readline"
import { openJournal } from "./Store.ts"
import { meaningFindings, storedFindings, unfinished } from "./Verify.ts"

const journal = Argument.String("journal").pipe(Argument.withDescription("sqlite:FILE, file:FOLDER or postgres://…"))
const session = Argument.String("session").pipe(Argument.withDescription("The id of a session"))
const file = Argument.String("file").pipe(Argument.withDescription("A file of JSON Lines, an event a line"))
const only = Flag.String("session").pipe(Flag.withDescription("Only this session"), Flag.optional)

const over = (where: string) => Sessions.layer.pipe(Layer.provideMerge(openJournal(where)))

/** The stored events of a session as far as they can be read, and why no further. */
const readStored = (id: SessionId) =>
  Effect.gen(function*() {
    const events: Array<StoredEvent> = []
    const exit = yield* Effect.exit(
      Stream.runForEach((yield* Journal).read(id), (event) => Effect.sync(() => void events.push(event)))
    )
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Exit.findErrorOption(exit)) : undefined
    return { events, fault: error?.message }
  })

/** The same, decoded. */
const readEvents = (id: SessionId) =>
  Effect.gen(function*() {
    const events: Array<Parameters<typeof timeline>[0][number]> = []
    const exit = yield* Effect.exit(
      Stream.runForEach((yield* Sessions).read(id), (event) => Effect.sync(() => void events.push(event)))
    )
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Exit.findErrorOption(exit)) : undefined
    return { events, fault: error?.message }
  })

const list = Command.make("list", { journal }, ({ journal }) =>
  Effect.gen(function*() {
    const all = yield* (yield* Journal).list
    for (const { createdAt, events, session, updatedAt } of all) {
      yield* Console.log(
        `${session}  ${new Date(createdAt).toISOString()}  ${new Date(updatedAt).toISOString()}  ${events} events`
      )
    }
    if (all.length === 0) yield* Console.log("There are no sessions.")
  }).pipe(Effect.provide(over(journal)))).pipe(Command.withDescription("Lists the sessions, the newest first"))

const show = Command.make("show", { journal, session }, ({ journal, session }) =>
  Effect.gen(function*() {
    const { events, fault } = yield* readEvents(SessionId.make(session))
    if (events.length === 0 && fault === undefined) return yield* fail(`There is no session ${session}.`)
    for (const line of [...timeline(events), "", ...requestTable(events)]) yield* Console.log(line)
    for (const open of unfinished(events)) yield* Console.log(`open: ${open}`)
    if (fault !== undefined) yield* fail(fault)
  }).pipe(Effect.provide(over(journal)))).pipe(Command.withDescription("Shows a session as a timeline"))

const fail = (text: string) => Effect.andThen(Console.error(text), Effect.sync(() => void (process.exitCode = 1)))

const chosen = (id: Option.Option<string>) =>
  Option.isSome(id)
    ? Effect.succeed([SessionId.make(id.value)])
    : Effect.map(Effect.flatMap(Journal, ({ list }) => list), (all) => all.map((summary) => summary.session))

const exporting = Command.make(
  "export",
  { journal, file, session: only },
  ({ file, journal, session }) =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      for (const id of yield* chosen(session)) {
        const { events, fault } = yield* readStored(id)
        for (const event of events) lines.push(JSON.stringify(event))
        if (fault !== undefined) yield* fail(fault)
      }
      yield* Effect.promise(() => writeFile(file, lines.map((line) => `${line}\n`).join(""), { flag: "wx" }))
      yield* Console.log(`${lines.length} events exported`)
    }).pipe(Effect.provide(over(journal)))
).pipe(Command.withDescription("Writes sessions into a new file of JSON Lines"))

const isStored = Schema.is(Schema.Struct({
  session: SessionId,
  seq: Schema.Natural,
  at: Schema.Number,
  type: Schema.NonEmptyString,
  version: Schema.Natural,
  ignorable: Schema.optionalKey(Schema.Literal(true)),
  data: Schema.Json
}))

const readLines = (file: string) =>
  Effect.promise(async () => {
    const events: Array<StoredEvent> = []
    let number = 0
    for await (const line of createInterface({ input: createReadStream(file) })) {
      number++
      if (line.trim() === "") continue
      const value: unknown = JSON.parse(line)
      if (!isStored(value)) throw new Error(`line ${number} is no event`)
      events.push(value)
    }
    return events
  })

/** Events of one append: large enough to be fast, small enough to be held. */
const BATCH = 500

/** Writes whole sessions into the journal; a session that is there already is left alone. */
const write = (events: ReadonlyArray<StoredEvent>) =>
  Effect.gen(function*() {
    const store = yield* Journal
    for (const id of new Set(events.map((event) => event.session))) {
      const own = events.filter((event) => event.session === id)
      const written = yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
        const writer = yield* store.writer(id)
        for (let i = 0; i < own.length; i += BATCH) yield* writer.append(own.slice(i, i + BATCH))
      })))
      if (Exit.isSuccess(written)) yield* Console.log(`${id}: ${own.length} events`)
      else yield* fail(`${id}: not written, ${String(Option.getOrUndefined(Exit.findErrorOption(written))?.message)}`)
    }
  })

const importing = Command.make(
  "import",
  { journal, file },
  ({ file, journal }) => Effect.flatMap(readLines(file), write).pipe(Effect.provide(openJournal(journal)))
).pipe(
  Command.withDescription("Reads sessions from a file of JSON Lines into a journal")
)

const verify = Command.make("verify", { journal, session: only }, ({ journal, session }) =>
  Effect.gen(function*() {
    for (const id of yield* chosen(session)) {
      const { events: stored, fault } = yield* readStored(id)
      const decoded = yield* readEvents(id)
      const findings = [...storedFindings(stored), ...meaningFindings(decoded.events)]
      const reason = fault ?? decoded.fault
      for (const { seq, text } of findings) yield* fail(`${id}: at ${seq}: ${text}`)
      if (reason !== undefined) yield* fail(`${id}: ${reason}`)
      if (findings.length === 0 && reason === undefined) yield* Console.log(`${id}: ${stored.length} events, sound`)
    }
  }).pipe(Effect.provide(over(journal)))).pipe(
    Command.withDescription("Checks that sessions can be read and make sense")
  )

const into = Argument.String("into").pipe(Argument.withDescription("The journal that gets the copy"))

const repair = Command.make(
  "repair",
  { journal, session, into },
  ({ into, journal, session }) =>
    Effect.gen(function*() {
      const id = SessionId.make(session)
      const { events, fault } = yield* readStored(id).pipe(Effect.provide(openJournal(journal)))
      const wrong = storedFindings(events)[0]
      const decoded = yield* readEvents(id).pipe(Effect.provide(over(journal)))
      const end = Math.min(
        wrong?.seq ?? events.length,
        decoded.fault === undefined ? events.length : decoded.events.length
      )
      if (end === 0) return yield* fail(`Nothing of ${session} can be read: ${fault ?? decoded.fault ?? "it is empty"}`)
      yield* write(events.slice(0, end)).pipe(Effect.provide(openJournal(into)))
      yield* Console.log(
        end === events.length && fault === undefined && decoded.fault === undefined
          ? "The session was sound; the copy is the same."
          : `The copy ends before event ${end}: ${
            wrong?.text ?? decoded.fault ?? fault ?? ""
          }. Opening it settles what was open.`
      )
    })
).pipe(Command.withDescription("Copies what can be read of a session into another journal"))

const command = Command.make("journal").pipe(
  Command.withDescription("Looks after stored sessions"),
  Command.withSubcommands([list, show, exporting, importing, verify, repair])
)

Command.run(command, { version: "0.1.0" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
