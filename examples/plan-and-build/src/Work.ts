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
import { Deferred, Effect, Stream } from "effect"
import { changes } from "./Project.ts"
import { requestTable, timeline } from "./Report.ts"
import { progressOf } from "./View.ts"

export interface Work {
  readonly session: SessionId
  readonly root: string
  /** Absent: the session is opened and its turn carried on. */
  readonly task: string | undefined
  readonly create: boolean
  readonly plan: boolean
  /** After the task, go on reading lines until the person leaves. */
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
    const shown = yield* follow(agent)

    const exit = yield* Deferred.make<void>()
    yield* TerminalKeys.install({
      onInterrupt: agent.interrupt,
      onExit: Effect.asVoid(Deferred.succeed(exit, undefined)),
      onTogglePlan: Effect.ignore(Effect.suspend(() => plan.set(session, !effective(plan.get(session))))),
      running: Effect.sync(() => session.view().get(TurnProjection).phase !== "idle")
    })

    if (options.plan) yield* plan.set(session, true)
    const open = session.view().get(TurnProjection).phase !== "idle"
    const first = open && options.task === undefined
      ? Effect.asVoid(agent.resume("continue"))
      : options.task === undefined
      ? Effect.void
      : Effect.asVoid(agent.prompt(options.task))
    const lines = options.conversation && screen.interactive ? converse(agent, options.root) : Effect.void
    yield* Effect.raceFirst(Effect.andThen(first, lines), Deferred.await(exit))
    yield* agent.interrupt
    yield* shown

    const events = yield* Stream.runCollect(sessions.read(session.id))
    yield* report(events, options)
    return session.view().get(TurnProjection).end?.reason === "completed"
  }))

/** Shows what happens, and returns an effect that waits until everything so far has been shown. */
const follow = (agent: AgentHandle) =>
  Effect.gen(function*() {
    const view = yield* ProgressView.make()
    const progress = progressOf(yield* ToolCatalog)
    let seen = -1
    yield* Effect.forkScoped(
      Stream.runForEach(agent.events, (event) =>
        Effect.gen(function*() {
          for (const item of progress(event)) yield* view.show(item)
          if ("seq" in event) seen = event.seq
        })),
      { startImmediately: true }
    )
    const last = agent.session.view().length - 1
    seen = last
    return Effect.gen(function*() {
      while (seen < agent.session.view().length - 1) yield* Effect.sleep("5 millis")
    })
  })

/** Reads lines until the person leaves: messages and commands, also while a turn runs. */
const converse = (agent: AgentHandle, root: string) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const plan = yield* PlanMode
    const history = new InputHistory()
    const label = Effect.sync(() => effective(plan.get(agent.session)) ? "plan › " : "› ")
    yield* screen.print(screen.style.dim(`Working in ${root}. /plan plans first, Shift+Tab toggles it, Ctrl-D leaves.`))
    while (true) {
      const line = yield* readLine({ label, history })
      if (line.trim() === "") continue
      const reply = yield* Effect.catchTag(agent.command(line), "UnknownCommand", (error) => Effect.succeed(error.message))
      if (reply !== undefined) yield* screen.print(reply)
    }
  }).pipe(Effect.catchTag("InputClosed", () => Effect.void))

const report = (events: ReadonlyArray<SessionEvent>, options: Work) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const { style } = screen
    const section = (title: string, lines: ReadonlyArray<string>) =>
      lines.length === 0 ? Effect.void : screen.print(["", style.bold(title), "", ...lines].join("\n"))
    const patch = yield* changes(options.root)
    yield* section("What changed", patch === "" ? [] : Format.diff(patch.trimEnd(), { style }))
    yield* section("The journal", timeline(events))
    yield* section("The requests, in tokens", requestTable(events))
    yield* screen.print(["", style.dim(`Go on with this session: ${options.resumeLine}`)].join("\n"))
  })
