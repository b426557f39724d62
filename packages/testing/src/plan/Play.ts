/**
 * The model and the real Layers side by side.
 *
 * In step: after each deed the program comes to rest, and every journal, every wait, every start and every request must be what the
 * model says. At large: deeds come while the program runs; then only the invariants speak, until all is quiet and the model takes over
 * again.
 */
import { Exit, Scope } from "effect"
import { AssertionError } from "node:assert"
import { type Act, type Choice, resolve, situationOf, tell } from "./Choice.ts"
import { everybody, type Who } from "./model/Draft.ts"
import { words } from "./model/Fact.ts"
import { type Expectations, PlanModel } from "./model/PlanModel.ts"
import type { CallSpec } from "./model/Vocabulary.ts"
import { settled } from "./real/Process.ts"
import type { RealWorld } from "./real/RealWorld.ts"

/** A promise was broken; `trace` tells how it came to that. */
export class PlanModeBroken extends AssertionError {
  readonly trace: ReadonlyArray<string>
  constructor(message: string, trace: ReadonlyArray<string>) {
    super({ message })
    this.trace = trace
  }
}

/** More rounds than any run needs to become quiet. */
const PATIENCE = 200

export class Play {
  model: PlanModel
  readonly real: RealWorld
  readonly specs: ReadonlyArray<CallSpec>
  readonly isFree: boolean
  readonly trace: Array<string> = []
  #turn = 0
  #starts = 0
  #sent = 0
  #told = new Map<Who, number>()

  constructor(model: PlanModel, real: RealWorld, specs: ReadonlyArray<CallSpec>, isFree: boolean) {
    this.model = model
    this.real = real
    this.specs = specs
    this.isFree = isFree
  }

  fail(message: string): never {
    throw new PlanModeBroken(message, this.trace)
  }

  /** Whether a choice means something now; at large that shows only when its turn comes. */
  canDo(choice: Choice): boolean {
    if (choice.what === "close-plan" && this.real.options.whole) return false
    return this.isFree || resolve(choice, situationOf(this.model), this.specs, 0) !== undefined
  }

  async choose(choice: Choice): Promise<void> {
    if (this.isFree) return this.#atLarge(choice)
    const act = resolve(choice, situationOf(this.model), this.specs, ++this.#turn)
    if (act !== undefined) await this.#inStep(act)
  }

  async #atLarge(choice: Choice): Promise<void> {
    const { real } = this
    real.now.stepper.run(choice.pause)
    if (real.disk.isDead()) await this.#die()
    const act = resolve(choice, real.situation(), this.specs, ++this.#turn)
    if (act === undefined) return
    await this.#arm(act)
    await real.readAll()
    this.#note(act)
    this.#check()
  }

  /** Begins an act on the real side. */
  async #arm(act: Act): Promise<void> {
    const { real } = this
    if (act.do === "die-at") return real.disk.dieAt(real.idOf(act.who), act.after, act.moment)
    if (act.do === "crash") return real.crash()
    real.begin(act)
    // A session is there from the moment that it was asked for.
    if (act.do === "spawn") await real.rest()
  }

  async #die(): Promise<void> {
    this.trace.push("     the process is dead, and another one opens the journals")
    await this.real.crash()
  }

  async #inStep(act: Act): Promise<void> {
    const { real } = this
    if ((act.do === "die-at" || act.do === "fail-append") && real.disk.isArmed(real.idOf(act.who))) return
    await this.#arm(act)
    if (act.do === "die-at") return this.#note(act)
    const before = this.model
    const { expectations, model } = PlanModel.apply(before, act)
    if (act.do !== "crash") await real.rest()
    await real.readAll()
    this.#note(act)
    this.model = model
    if (real.disk.isDead()) {
      this.#compareDead(before, model)
      await this.#die()
      await real.readAll()
      this.#adopt()
      this.model = PlanModel.apply(this.model, { do: "crash" }).model
      this.#count()
    } else if (expectations.loose !== undefined) {
      this.#adopt()
      this.#count()
    } else this.#compare(expectations)
    this.#check()
  }

  /** The model takes the journals as they are. */
  #adopt(): void {
    const { real } = this
    real.disk.mend()
    const seen = Object.fromEntries(
      everybody.filter((who) => real.eventsOf(who).length > 0).map((who) => [who, {
        log: real.factsOf(who),
        known: real.now.agents.get(who)?.handle.session.view().length ?? 0,
        wait: real.isRunning(who) ? real.waitOf(who) : undefined
      }])
    )
    this.model = PlanModel.adopt(this.model, seen, real.queue())
  }

  #count(): void {
    this.#starts = this.#allStarts().length
    this.#sent = this.real.requests.length
  }

  #allStarts() {
    return this.real.observe().starts ?? []
  }

  /** Adds an act and the facts that came of it to the trace. */
  #note(act: Act): void {
    const facts = everybody.flatMap((who) => {
      const all = this.real.factsOf(who)
      const from = this.#told.get(who) ?? 0
      this.#told.set(who, all.length)
      return all.length <= from ? [] : [`${" ".repeat(9)}${who}: ${all.slice(from).map(words).join(" | ")}`]
    })
    this.trace.push(`${String(this.#turn).padStart(4)} ${tell(act, this.specs)}`, ...facts)
  }

  #same(what: string, real: unknown, model: unknown): void {
    const [found, expected] = [JSON.stringify(real), JSON.stringify(model)]
    if (found !== expected) this.fail(`${what}: the model says ${expected}, the harness ${found}`)
  }

  #compare({ result, sent, starts }: Expectations): void {
    const { model, real } = this
    for (const who of everybody) {
      const expected = (model.agents[who]?.log ?? []).map(words)
      const found = real.factsOf(who).map(words)
      const at = expected.findIndex((fact, i) => fact !== found[i])
      const first = at === -1 ? expected.length : at
      if (at !== -1 || found.length !== expected.length) {
        this.fail(
          `${who}: the model says "${expected.slice(first).join(" | ") || "nothing more"}" at ${first}, the journal "${
            found.slice(first).join(" | ") || "nothing more"
          }"`
        )
      }
      if (real.eventsOf(who).length > 0) {
        const wait = real.isRunning(who) ? real.waitOf(who) : undefined
        this.#same(`what ${who} waits for`, wait ?? null, PlanModel.waitOf(model, who) ?? null)
      }
    }
    this.#same("who waits for the person", real.queue(), model.queue)
    const started = this.#allStarts().slice(this.#starts).map(({ session, tool }) =>
      `${session.split("-").at(-1)} ${tool}`
    )
    this.#same("the bodies that start", started.sort(), starts.map(({ name, who }) => `${who} ${name}`).sort())
    const requests = real.requests.slice(this.#sent).map(({ request, session }) => ({
      who: session.split("-").at(-1),
      guided: request.tail?.includes("GUIDANCE") === true
    }))
    this.#same("the requests that are sent", requests, sent)
    if (
      result === "failed" ||
      (result !== undefined && result !== "said" && result !== "resumed" && real.result !== "done")
    ) {
      this.#same("what the person is told", real.result ?? null, result)
    }
    this.#count()
  }

  /** A process that died in the middle of a deed has done a beginning of it, and nothing else. */
  #compareDead(before: PlanModel, after: PlanModel): void {
    for (const who of everybody) {
      const least = before.agents[who]?.log.length ?? 0
      const expected = (after.agents[who]?.log ?? []).map(words)
      const found = this.real.factsOf(who).map(words)
      if (found.length < least) this.fail(`${who}: ${least - found.length} events were lost`)
      this.#same(`what ${who} did before it died`, found.slice(0, expected.length), expected.slice(0, found.length))
    }
  }

  #check(isSettled = false): void {
    const broken = this.real.broken(isSettled)
    if (broken.length > 0) this.fail(broken.join("\n"))
  }

  /** Lets everything come to its end, and looks whether the program still does what it is told, and leaves nothing behind. */
  async finish(): Promise<void> {
    this.trace.push("     everything comes to its end")
    if (this.isFree) await this.#calmDown()
    await this.#inStep({ do: "mend" })
    if (this.model.epoch === 0) await this.#inStep({ do: "open-plan" })
    for (let i = 0; i < PATIENCE; i++) {
      const act = this.#next()
      if (act === undefined) break
      await this.#inStep(act)
    }
    const root = this.model.agents.root
    if (root !== undefined) {
      await this.#inStep({ do: "say", who: "root", text: "root: are you there?" })
      await this.#inStep({ do: "reply", who: "root", calls: [this.specs[0]!.call, this.specs[3]!.call] })
      for (let act = this.#next(); act !== undefined; act = this.#next()) await this.#inStep(act)
    }
    await this.#close()
  }

  /** What brings the program one step nearer to rest. */
  #next(): Act | undefined {
    const now = situationOf(this.model)
    const [body] = now.bodies
    const [asking] = now.requesting
    const [cut] = now.cut
    if (body !== undefined) return { do: "finish", ...body }
    if (now.shown !== undefined) return { do: "answer", who: now.shown, answer: "dismiss" }
    if (asking !== undefined) return { do: "reply", who: asking, calls: [] }
    if (now.sleeping) return { do: "wait" }
    return cut === undefined ? undefined : { do: "say", who: cut, text: `${cut}: go on` }
  }

  async #calmDown(): Promise<void> {
    const { real } = this
    real.disk.mend()
    for (let i = 0; i < PATIENCE; i++) {
      if (real.disk.isDead()) {
        await this.#die()
        real.disk.mend()
      }
      await real.rest()
      if (real.disk.isDead()) continue
      const { now } = real
      const [body] = now.workshop.bodies()
      const [shown] = now.person.shown()
      const [thinking] = now.model.thinking()
      if (body !== undefined) now.workshop.finish(body)
      else if (shown !== undefined) now.person.give(shown, "yes")
      else if (thinking !== undefined) now.model.reply(thinking, { calls: [] })
      else if (now.clock.sleepers() > 0) now.clock.pass()
      else break
    }
    await real.readAll()
    this.#check()
    this.model = { ...this.model, epochs: 100, epoch: real.now.isPlanOpen() ? 100 : 0 }
    this.model = PlanModel.apply(this.model, { do: "crash" }).model
    if (!real.now.isPlanOpen()) this.model = { ...this.model, epoch: 0 }
    this.#adopt()
    this.#count()
    for (const who of everybody) this.#told.set(who, real.factsOf(who).length)
  }

  async #close(): Promise<void> {
    const { real } = this
    const { agents, go, model, person, stepper, workshop } = real.now
    for (const { scope } of [...agents.values()].toReversed()) await settled(go(Scope.close(scope, Exit.void)), stepper)
    agents.clear()
    await settled(go(real.now.end), stepper)
    await real.readAll()
    this.#check(true)
    const left = [
      ...person.shown().map(({ question }) => `question ${question.id}`),
      ...model.thinking().map(({ who }) => `request of ${who}`),
      ...workshop.bodies().map(({ call }) => `body of ${call}`),
      ...(real.now.clock.sleepers() > 0 ? ["a timer"] : [])
    ]
    if (left.length > 0) this.fail(`7 fences: left behind after everything was closed: ${left.join(", ")}`)
  }
}
