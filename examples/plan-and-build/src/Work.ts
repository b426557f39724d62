/** One run: open or create the session, let the agent work while the terminal shows it, and report. */
import {
  Agent,
  type AgentHandle,
  effective,
  PlanMode,
  type SessionEvent,
  type SessionId,
  Sessions,
  ToolCatalog,
  TurnProjection
} from "@holdfast/core"
import { Format, InputHistory, ProgressView, readLine, Screen, TerminalKeys } from "@holdfast/terminal"
import { Deferred, Effect, Semaphore, Stream } from "effect"
import { changes } from "./Project.ts"
import { requestTable, timeline } from "./Report.ts"
import { progressOf, Shown } from "./View.ts"

export interface Work {
  readonly session: SessionId
  readonly root: string
  /** Absent: the session is opened and its turn carried on. */
  readonly task: string | undefined
  readonly create: boolean
  readonly plan: boolean
  /** After the task, go on reading lines until the person leaves. After an interruption they are asked for one anyway. */
  readonly conversation: boolean
  /** The command line that goes on with this session. */
  readonly resumeLine: string
}

/** Runs it to its end. */
export const work = (options: Work) =>
  Effect.scoped(Effect.gen(function*() {
    const sessions = yield* Sessions
    const session = options.create
      ? yield* sessions.create({ id: options.session, cwd: options.root })
      : yield* sessions.open(options.session)
    const agent = yield* (yield* Agent).open(session)
    const screen = yield* Screen
    const plan = yield* PlanMode
    const speaking = yield* Semaphore.make(1)
    const caughtUp = yield* follow(agent, speaking)
    ;(yield* Shown).follow(caughtUp)

    const exit = yield* Deferred.make<void>()
    yield* TerminalKeys.install({
      onInterrupt: agent.interrupt,
      onExit: Effect.asVoid(Deferred.succeed(exit, undefined)),
      onTogglePlan: Effect.ignore(Effect.suspend(() => plan.set(session, !effective(plan.get(session))))),
      running: Effect.sync(() => session.view().get(TurnProjection).phase !== "idle")
    })

    if (options.plan) yield* plan.set(session, true)
    const first = Effect.gen(function*() {
      const turn = session.view().get(TurnProjection)
      if (options.task !== undefined) return yield* agent.prompt(options.task)
      if (turn.phase !== "idle") return yield* agent.resume("continue")
      // A turn that was stopped has no open end to go on from; the model is told to.
      const stopped = turn.end !== undefined && turn.end.reason !== "completed"
      if (!stopped || options.conversation) return turn.end
      yield* screen.print(goOn)
      return yield* agent.prompt(goOn)
    })
    const lines = converse(agent, options.root, speaking)
    const talk = Effect.gen(function*() {
      const end = yield* first
      yield* caughtUp
      if (screen.interactive && (options.conversation || end?.reason === "interrupted")) yield* lines
    })
    yield* Effect.raceFirst(talk, Deferred.await(exit))
    yield* agent.interrupt
    yield* caughtUp

    const events = yield* Stream.runCollect(sessions.read(session.id))
    yield* report(events, options)
    return session.view().get(TurnProjection).end?.reason === "completed"
  }))

/** What is said for the person when a stopped turn is resumed without a task. */
const goOn = "Go on with the task."

/** Shows what happens, and returns an effect that waits until everything so far has been shown. */
const follow = (agent: AgentHandle, speaking: Semaphore.Semaphore) =>
  Effect.gen(function*() {
    const view = yield* ProgressView.make()
    const progress = progressOf(yield* ToolCatalog)
    const seen = { last: agent.session.view().length - 1 }
    yield* Effect.forkScoped(
      Stream.runForEach(agent.events, (event) =>
        speaking.withPermit(Effect.gen(function*() {
          for (const item of progress(event)) yield* view.show(item)
          if ("seq" in event) seen.last = event.seq
        }))),
      { startImmediately: true }
    )
    return Effect.gen(function*() {
      const last = agent.session.view().length - 1
      while (seen.last < last) yield* Effect.sleep("5 millis")
    })
  })

/** Reads lines until the person leaves: messages and commands, also while a turn runs. */
const converse = (agent: AgentHandle, root: string, speaking: Semaphore.Semaphore) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const plan = yield* PlanMode
    const history = new InputHistory()
    const label = Effect.sync(() => effective(plan.get(agent.session)) ? "plan › " : "› ")
    yield* screen.print(screen.style.dim(`Working in ${root}. /plan plans first, Shift+Tab toggles it, Ctrl-D leaves.`))
    while (true) {
      const line = yield* readLine({ label, history })
      if (line.trim() === "") continue
      // What a command answers stands before what comes of it.
      yield* speaking.withPermit(Effect.gen(function*() {
        const reply = yield* Effect.catchTag(agent.command(line), "UnknownCommand", (error) =>
          Effect.succeed(error.message))
        if (reply !== undefined) {
          yield* screen.print(reply)
        }
      }))
    }
  }).pipe(Effect.catchTag("InputClosed", () =>
    Effect.void))

const report = (events: ReadonlyArray<SessionEvent>, options: Work) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const { style } = screen
    const section = (title: string, lines: ReadonlyArray<string>) =>
      lines.length === 0 ? Effect.void : screen.print(["", style.bold(title), "", ...lines].join("\n"))
    const patch = yield* changes(options.root)
    yield* section("What changed in the folder", patch === "" ? [] : Format.diff(patch.trimEnd(), { style }))
    yield* section("The journal: every fact of the session, in order", timeline(events))
    yield* section(
      "The requests, in tokens: what the provider had in its cache, and what it read anew",
      requestTable(events)
    )
    yield* screen.print(["", style.dim(`Go on with this session: ${options.resumeLine}`)].join("\n"))
  })
