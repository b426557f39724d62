/**
 * A generated life of a session: a model, a person, a user and a disk that all do what the dice say, at the same time.
 *
 * What must hold is checked while it happens (`faults`) and on the journal that is left.
 */
import { Effect, Fiber, Layer } from "effect"
import type { Dice } from "../../../testing/src/ChaosScheduler.ts"
import {
  type AgentHandle,
  type Answer,
  choose,
  closesGate,
  dismiss,
  Interaction,
  InteractionFailed,
  InteractionUnavailable,
  LoopGuard,
  type ModelRequest,
  PlanProjection,
  type Question,
  RetryPolicy,
  say
} from "../../src/index.ts"
import { foldsAgree } from "./Checks.ts"
import { type Reply, serverError } from "./ScriptedModel.ts"
import type { Failure, Storage } from "./Storage.ts"
import { call, enter, GUIDANCE, submit } from "./Story.ts"
import { select, type World, world } from "./World.ts"

export interface Life {
  readonly world: World
  /** What was seen to go wrong while it happened. */
  readonly faults: Array<string>
  /** Questions that stand before the person now, and the most that ever did. */
  readonly shown: { now: number; most: number }
  /** From now on everybody is quiet: the model only answers, the disk works. */
  readonly calm: () => void
  readonly watch: (agent: AgentHandle) => Effect.Effect<void>
}

export interface LifeOptions {
  /** How likely one append fails. */
  readonly diskFailures?: number
  /** How often the person does not react at all. */
  readonly silence?: number
  readonly capacity?: number
}

/** Lets others go first, up to `most` times. */
export const wait = (dice: Dice, most: number): Effect.Effect<void> => {
  const pause = (n: number): Effect.Effect<void> =>
    n === 0 ? Effect.void : Effect.andThen(Effect.yieldNow, pause(n - 1))
  return Effect.suspend(() => pause(dice.int(most + 1)))
}

const plans = ["# A\n\nx", "# B\n\ny", "no heading"]

const randomCall = (dice: Dice, who: string): readonly [string, unknown] =>
  dice.pick([
    () => call("look", who),
    () => call("look", who),
    () => call("change", who),
    () => call("change", who),
    () => call("wreck", who),
    () => call("plain", who),
    () => enter,
    () => submit(dice.pick(plans)),
    () => submit(dice.pick(plans)),
    () => ["ask_user", { question: "which?", options: ["a", "b"] }] as const,
    () => ["change", { note: 7 }] as const,
    () => ["change", "{\"note\": "] as const,
    () => ["nothing_like_it", {}] as const
  ])()

/** Who speaks: the first words of the conversation name the agent, `root` if they do not. */
const speaker = (request: ModelRequest): string => {
  const first = request.messages[0]?.text ?? ""
  return first.startsWith("child") ? "child" : "root"
}

const randomReply = (dice: Dice, who: string): Reply => {
  const before = wait(dice, 6)
  const roll = dice.next()
  if (roll < 0.1) return { error: serverError(), before }
  if (roll < 0.13) return { error: serverError({ retryable: false }), before }
  if (roll < 0.17) return { text: "half a", hang: true, before }
  if (roll < 0.35) return { text: "done", before }
  const calls = Array.from({ length: 1 + dice.int(3) }, () => randomCall(dice, who))
  return { text: dice.chance(0.5) ? "so" : "", calls, before }
}

const randomAnswer = (dice: Dice, question: Question): Answer => {
  const ids = question.options.map((option) => option.id)
  return dice.pick<() => Answer>([
    () => choose(ids[0] ?? "x"),
    () => choose(ids[0] ?? "x"),
    () => choose(ids.at(-1) ?? "x"),
    () => say("no, smaller"),
    () => ({ ...choose(ids[0] ?? "x"), text: "but" }),
    () => choose("unknown"),
    () => ({ _tag: "Answered", selected: ids }),
    () => dismiss,
    () => "yes" as never
  ])()
}

const randomPerson = (dice: Dice, shown: Life["shown"], options: LifeOptions, isCalm: () => boolean) =>
  Layer.succeed(Interaction, {
    name: "dice",
    capacity: options.capacity ?? 1,
    ask: (question) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          shown.now++
          shown.most = Math.max(shown.most, shown.now)
        }),
        () =>
          Effect.gen(function*() {
            yield* wait(dice, 8)
            if (isCalm()) return dismiss
            if (dice.chance(options.silence ?? 0.1)) return yield* Effect.never
            if (dice.chance(0.05)) return yield* Effect.die("the screen is broken")
            if (dice.chance(0.05)) return yield* new InteractionFailed({ provider: "dice", detail: "lost" })
            if (dice.chance(0.05)) return yield* new InteractionUnavailable({ detail: "nobody there" })
            return randomAnswer(dice, question)
          }),
        () => Effect.sync(() => void shown.now--)
      )
  })

const changes = new Set(["change", "wreck", "plain"])

export const life = (dice: Dice, disk: Storage, options: LifeOptions = {}): Life => {
  const faults: Array<string> = []
  const shown = { now: 0, most: 0 }
  const agents = new Map<string, AgentHandle>()
  let isCalm = false
  if (options.diskFailures !== undefined) {
    disk.failWhen((batch) =>
      !isCalm && batch[0]?.type !== "session/created" && dice.chance(options.diskFailures!)
        ? dice.pick<Failure>(["refused", "lost", "kept"])
        : undefined
    )
  }
  const gateClosedOn = (who: string | undefined): boolean =>
    [...agents].some(([name, agent]) =>
      (name === "root" || name === who) && closesGate(agent.session.view().get(PlanProjection))
    )
  const w = world({
    script: (request) => isCalm ? { text: "calm" } : randomReply(dice, speaker(request)),
    planSection: GUIDANCE,
    journal: disk.layer,
    interaction: randomPerson(dice, shown, options, () => isCalm),
    settings: Layer.mergeAll(RetryPolicy.layer({ base: 0, jitter: 0 }), LoopGuard.layer({ rounds: 6 })),
    body: (tool) => Effect.as(wait(dice, 6), tool),
    onStart: (tool, who) => {
      if (changes.has(tool) && gateClosedOn(who)) faults.push(`${tool} of ${who} started while the gate was closed`)
    }
  })
  return {
    world: w,
    faults,
    shown,
    calm: () => void (isCalm = true),
    watch: (agent) =>
      Effect.suspend(() => {
        agents.set(agents.size === 0 ? "root" : "child", agent)
        const look = () => {
          try {
            foldsAgree(agent.session, disk)
          } catch (error) {
            faults.push(String(error))
          }
          return false
        }
        return Effect.asVoid(Effect.forkChild(agent.session.until(look), { startImmediately: true }))
      })
  }
}

/** What a user does with a session, one thing after the other and nothing waiting for anything. */
export const randomUser = (dice: Dice, agent: AgentHandle, actions: number, who = "root") =>
  Effect.gen(function*() {
    const prompts: Array<Fiber.Fiber<unknown, unknown>> = []
    const act = dice.pick
    for (let i = 0; i < actions; i++) {
      yield* Effect.ignore(
        act([
          () => select(agent, true),
          () => select(agent, true),
          () => select(agent, false),
          () => agent.command("/plan and look at x"),
          () => agent.command("/plan off"),
          () => agent.send(`${who}: ${i}`),
          () => agent.interrupt,
          () =>
            Effect.suspend(() => {
              const fiber = dice.pick(prompts)
              return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
            }),
          () =>
            Effect.map(
              Effect.forkChild(Effect.exit(agent.prompt(`${who}: ${i}`))),
              (fiber) => void prompts.push(fiber)
            ),
          () =>
            Effect.map(Effect.forkChild(Effect.exit(agent.prompt(`${who}: ${i}`))), (fiber) => void prompts.push(fiber))
        ])()
      )
      yield* wait(dice, 25)
    }
    return prompts
  })
