/**
 * The real side: sessions of real Layers that do what a deed says, and a view of what came of it.
 *
 * One world lasts over several processes: when one dies, the next opens the same journals.
 */
import {
  Agent,
  Attention,
  type Journal,
  OpenAsks,
  PlanProjection,
  type SessionEvent,
  SessionId,
  Sessions,
  TurnProjection
} from "@holdfast/core"
import { Effect, Exit, type Fiber, Scope, Stream } from "effect"
import { brokenInvariants } from "../invariants/Invariants.ts"
import type { Observation, RequestSeen, SessionSeen } from "../invariants/Observation.ts"
import { everybody, parentOf, type Wait, type Who } from "../model/Draft.ts"
import { type Fact, factOf } from "../model/Fact.ts"
import type { Deed } from "../model/PlanModel.ts"
import type { Lookup } from "../model/Vocabulary.ts"
import { type Disk, makeDisk } from "./Disk.ts"
import { GUIDANCE, nextTick, type Parts, type Process, settled, startProcess } from "./Process.ts"

export interface WorldOptions extends Parts {
  readonly journal: Journal["Service"]
  /** Reads the journals past every fault. */
  readonly reader: Sessions["Service"]
  readonly look: Lookup
  readonly name: string
  readonly seed: number
  readonly hooked: boolean
  readonly stubborn: boolean
  readonly whole: boolean
}

/** What is there to act upon: who waits for what. */
export interface Situation {
  readonly exists: ReadonlyArray<Who>
  readonly requesting: ReadonlyArray<Who>
  readonly bodies: ReadonlyArray<{ readonly who: Who; readonly call: number }>
  readonly shown: Who | undefined
  readonly running: ReadonlyArray<Who>
  /** A turn is open and nobody carries it on. */
  readonly cut: ReadonlyArray<Who>
  readonly sleeping: boolean
  readonly planOpen: boolean
}

const place = (call: string): number => Number(/(\d+)$/.exec(call)?.[1] ?? -1)

export class RealWorld {
  readonly options: WorldOptions
  disk: Disk
  process: Process | undefined
  processes: ReadonlyArray<Process> = []
  readonly requests: Array<RequestSeen> = []
  /** Results of the deeds that somebody waits for, by deed. */
  result: string | undefined
  readonly #events = new Map<Who, Array<SessionEvent>>()
  readonly #prompts = new Map<Who, Array<Fiber.Fiber<unknown, unknown>>>()
  #count = 0
  #deed = 0

  constructor(options: WorldOptions) {
    this.options = options
    this.disk = makeDisk(options.journal)
  }

  idOf(who: Who): SessionId {
    return SessionId.make(`${this.options.name}-${who}`)
  }

  get now(): Process {
    if (this.process === undefined) throw new Error("no process runs")
    return this.process
  }

  /** A new process on the same journals. */
  async start(): Promise<void> {
    this.#count++
    const { hooked, seed, stubborn, whole } = this.options
    const process = await startProcess({
      ...this.options,
      number: this.#count,
      seed: seed * 31 + this.#count,
      disk: this.disk,
      sessions: everybody.map((who) => this.idOf(who)),
      hooked,
      stubborn,
      whole,
      sent: ({ request, who }, from) => {
        const known = Sessions.pipe((tag) => from.services.mapUnsafe.get(tag.key) as Sessions["Service"])
          .live(this.idOf(who))?.view().length ?? 0
        this.requests.push({ session: this.idOf(who), request, known, planOpen: from.isPlanOpen() })
      }
    })
    this.process = process
    this.processes = [...this.processes, process]
    await this.readAll()
    for (const who of everybody) {
      if ((this.#events.get(who) ?? []).length > 0) await settled(process.go(this.#open(who)), process.stepper)
    }
  }

  #open(who: Who) {
    const { agents } = this.now
    const id = this.idOf(who)
    const isNew = (this.#events.get(who) ?? []).length === 0
    const above = parentOf[who]
    return Effect.gen(function*() {
      const sessions = yield* Sessions
      const scope = yield* Scope.make()
      const opening = isNew
        ? sessions.create({
          id,
          title: who,
          depth: everybody.indexOf(who),
          ...(above === undefined ? {} : { parent: { session: SessionId.make(id.replace(who, above)) } })
        })
        : sessions.open(id)
      const session = yield* Scope.provide(opening, scope)
      const handle = yield* Scope.provide((yield* Agent).open(session), scope)
      agents.set(who, { handle, scope })
    })
  }

  /** Begins a deed; nothing of it has happened until the process is moved on. */
  begin(deed: Deed): void {
    const { now } = this
    this.result = undefined
    const number = ++this.#deed
    // A prompt may fail long after it was said; that is not what the person is told of a later deed.
    const note = (word: string) =>
      Effect.sync(() => {
        if (number === this.#deed) this.result = word
      })
    const tell = (self: Effect.Effect<string, { readonly _tag: string }>) =>
      now.go(Effect.flatMap(Effect.match(self, { onSuccess: (said) => said, onFailure: wordFor }), note))
    const agent = "who" in deed ? now.agents.get(deed.who)?.handle : undefined
    switch (deed.do) {
      case "spawn":
        return void now.go(this.#open(deed.who))
      case "select":
        if (agent !== undefined) tell(now.plan().set(agent.session, deed.on))
        return
      case "say": {
        if (agent === undefined) return
        const said = now.go(Effect.tapCause(agent.prompt(deed.text), () => note("failed")))
        this.#prompts.set(deed.who, [...(this.#prompts.get(deed.who) ?? []), said])
        return
      }
      case "command":
        if (agent !== undefined) {
          tell(
            Effect.map(
              agent.command(`/plan ${deed.text}`),
              (text) => text?.startsWith("Not recorded") ? "failed" : "done"
            )
          )
        }
        return
      case "reply": {
        const to = now.model.thinking().find(({ who }) => who === deed.who)
        if (to !== undefined) now.model.reply(to, { calls: deed.calls })
        return
      }
      case "fail-request": {
        const to = now.model.thinking().find(({ who }) => who === deed.who)
        if (to !== undefined) now.model.reply(to, { retryable: deed.retryable })
        return
      }
      case "answer": {
        const [shown] = now.person.shown()
        if (shown !== undefined) now.person.give(shown, deed.answer)
        return
      }
      case "late-answer":
        for (const item of this.processes.flatMap(({ person }) => person.withdrawn)) now.person.give(item, "yes")
        return
      case "finish": {
        const body = now.workshop.bodies().find((item) =>
          item.session === this.idOf(deed.who) && place(item.call) === deed.call
        )
        if (body !== undefined) now.workshop.finish(body)
        return
      }
      case "wait":
        return now.clock.pass()
      case "interrupt": {
        if (agent === undefined) return
        // The caller goes away, if there is one; else somebody stops the agent.
        const prompt = this.#prompts.get(deed.who)?.findLast((fiber) => fiber.pollUnsafe() === undefined)
        if (prompt === undefined) now.go(agent.interrupt)
        else prompt.interruptUnsafe()
        return
      }
      case "fail-append":
        return this.disk.fail(this.idOf(deed.who), deed.after, deed.fault)
      case "mend":
        return this.disk.mend()
      case "close-plan":
        return void now.go(now.closePlan)
      case "open-plan":
        return void now.go(now.openPlan)
      case "reopen": {
        const open = now.agents.get(deed.who)
        if (open === undefined) return
        now.agents.delete(deed.who)
        now.go(Effect.andThen(Scope.close(open.scope, Exit.void), Effect.suspend(() => this.#open(deed.who))))
        return
      }
      case "resume":
        if (agent !== undefined) {
          now.go(Effect.tapError(agent.resume(deed.mode), (error) => note(wordFor(error))))
        }
        return
      case "crash":
        return
    }
  }

  /** The process is gone; another one takes over. */
  async crash(): Promise<void> {
    await this.disk.kill()
    this.process = undefined
    this.#prompts.clear()
    this.disk = makeDisk(this.options.journal)
    await this.start()
  }

  /** Moves the process on until nothing of it moves by itself any more, or it is dead. */
  async rest(): Promise<void> {
    const { now } = this
    for (let rounds = 0;; rounds++) {
      now.stepper.run(100_000)
      if (this.disk.isDead()) return
      if (now.stepper.isStill() && this.disk.working() === 0 && this.#allWait()) return
      if (rounds > 2_000) throw new Error("the program does not come to rest")
      await nextTick(rounds)
    }
  }

  #allWait(): boolean {
    const { agents, workshop } = this.now
    if (workshop.running() > workshop.bodies().length) return false
    return [...agents.keys()].every((who) => !this.isRunning(who) || this.waitOf(who) !== undefined)
  }

  /** Whether somebody carries a turn of the agent on. */
  isRunning(who: Who): boolean {
    const open = this.now.agents.get(who)
    if (open === undefined) return false
    const idle = this.now.go(open.handle.idle)
    this.now.stepper.run(100_000)
    const isIdle = idle.pollUnsafe() !== undefined
    if (!isIdle) idle.interruptUnsafe()
    return !isIdle
  }

  waitOf(who: Who): Wait | undefined {
    const { agents, clock, model, services, workshop } = this.now
    const session = agents.get(who)?.handle.session
    if (session === undefined) return undefined
    if (model.thinking().some((item) => item.who === who)) return { at: "request" }
    const bodies = workshop.bodies().filter((body) => body.session === session.id).map(({ call }) => place(call))
    if (bodies.length > 0) return { at: "bodies", open: bodies.sort() }
    const attention = services.mapUnsafe.get(Attention.key) as Attention["Service"]
    const asks = attention.open().some(({ question }) => question.asker.session === session.id)
    const view = session.view()
    const [kind] = view.get(OpenAsks).values()
    if (asks && kind !== undefined) {
      return { at: "ask", kind, call: askedCall(this.#events.get(who) ?? [], view.get(OpenAsks)) }
    }
    const { attempt, phase } = view.get(TurnProjection)
    return phase === "boundary" && attempt > 0 && clock.sleepers() > 0 ? { at: "retry" } : undefined
  }

  /** Who waits for the person, in the order in which they came. */
  queue(): ReadonlyArray<Who> {
    const attention = this.now.services.mapUnsafe.get(Attention.key) as Attention["Service"]
    return attention.open().flatMap(({ question }) =>
      everybody.filter((who) => this.idOf(who) === question.asker.session)
    )
  }

  situation(): Situation {
    const exists = everybody.filter((who) => this.now.agents.has(who))
    const requesting = everybody.filter((who) => this.now.model.thinking().some((item) => item.who === who))
    const [shown] = this.now.person.shown()
    const inTurn = exists.filter((who) => this.#phase(who) !== "idle")
    return {
      exists,
      requesting,
      bodies: this.now.workshop.bodies().flatMap(({ call, session }) =>
        exists.filter((who) => this.idOf(who) === session).map((who) => ({ who, call: place(call) }))
      ),
      shown: shown === undefined ? undefined : everybody.find((who) => this.idOf(who) === shown.question.asker.session),
      running: inTurn,
      cut: inTurn,
      sleeping: this.now.clock.sleepers() > 0,
      planOpen: this.now.isPlanOpen()
    }
  }

  #phase(who: Who) {
    return this.now.agents.get(who)?.handle.session.view().get(TurnProjection).phase ?? "idle"
  }

  /** Reads what the journals have since the last time. */
  async readAll(): Promise<void> {
    for (const who of everybody) {
      const known = this.#events.get(who) ?? []
      const more = await Effect.runPromise(Stream.runCollect(this.options.reader.read(this.idOf(who), known.length)))
      this.#events.set(who, [...known, ...more])
    }
  }

  eventsOf(who: Who): ReadonlyArray<SessionEvent> {
    return this.#events.get(who) ?? []
  }

  factsOf(who: Who): ReadonlyArray<Fact> {
    return this.eventsOf(who).map((event) => factOf(event, GUIDANCE))
  }

  callOf(who: Who, call: string) {
    for (const event of this.eventsOf(who)) {
      if (event.type !== "message/assistant") continue
      const found = event.data.calls.find(({ id }) => id === call)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Everything that was seen so far. `settled`: nothing runs, and nothing was left open. */
  observe(isSettled = false): Observation {
    const present = everybody.filter((who) => this.eventsOf(who).length > 0)
    return {
      guidance: GUIDANCE,
      sessions: present.map((who): SessionSeen => {
        const view = this.process?.agents.get(who)?.handle.session.view()
        return {
          id: this.idOf(who),
          events: this.eventsOf(who),
          settled: isSettled,
          ...(view === undefined ? {} : { memory: { length: view.length, plan: view.get(PlanProjection).state } })
        }
      }),
      requests: this.requests,
      starts: this.processes.flatMap(({ workshop }) => workshop.starts).flatMap((start) => {
        const who = everybody.find((one) => this.idOf(one) === start.session)
        if (who === undefined) return []
        const call = this.callOf(who, start.call)
        const { kind } = this.options.look({ name: start.tool, args: call?.arguments ?? "" })
        return [{
          session: this.idOf(who),
          call: start.call,
          tool: start.tool,
          changes: kind === "mutate" || kind === "danger",
          known: start.known.get(this.idOf(who)) ?? new Map<string, number>()
        }]
      }),
      questions: this.processes.flatMap(({ person }) => person.seen),
      shown: { most: Math.max(0, ...this.processes.map(({ person }) => person.most())), capacity: 1 }
    }
  }

  broken(isSettled = false): ReadonlyArray<string> {
    return brokenInvariants(this.observe(isSettled))
  }
}

const askedCall = (events: ReadonlyArray<SessionEvent>, open: ReadonlyMap<string, unknown>): number => {
  const asked = events.findLast((event) =>
    (event.type === "review/asked" || event.type === "approval/asked" || event.type === "question/asked") &&
    open.has(event.data.request)
  )
  return asked !== undefined && "call" in (asked.data as object)
    ? place((asked.data as { readonly call: string }).call)
    : -1
}

const wordFor = (error: { readonly _tag: string }): string => {
  switch (error._tag) {
    case "JournalUnavailable":
      return "failed"
    case "Disposed":
      return "closed"
    case "UnknownCommand":
      return "unknown"
    case "NothingToResume":
      return "nothing"
    default:
      return error._tag
  }
}
