/**
 * Plan mode as properties: generated lives of a program over the Layers of whoever calls.
 *
 * Each life is a list of deeds of a person, a language model, a disk and a dying process, played under a seeded scheduler. A
 * failure is shrunk to the shortest life that still fails, and printed as a story.
 */
import { Journal, Sessions } from "@holdfast/core"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as fc from "fast-check"
import { type Choice, choices } from "./Choice.ts"
import { PlanModel } from "./model/PlanModel.ts"
import { lookup, type OwnCall, ownCalls, specOf } from "./model/Vocabulary.ts"
import { PlanModeBroken, Play } from "./Play.ts"
import type { Parts } from "./real/Process.ts"
import { RealWorld } from "./real/RealWorld.ts"

export interface PlanPropertyOptions extends Parts {
  /** The journal. It is built once for each life, and outlives the processes that die in it. Default: in memory. */
  readonly layer?: Layer.Layer<Journal, unknown>
  /** Calls of tools that `tools` adds; the scripted model makes them beside the runner's own. */
  readonly calls?: ReadonlyArray<OwnCall>
  /** How many lives (default: `HOLDFAST_RUNS`, else 100). */
  readonly runs?: number
  /** Where the lives come from (default: `HOLDFAST_SEED`, else a new one each time). */
  readonly seed?: number
  /** How many deeds a life has at most (default 40). */
  readonly length?: number
  /**
   * `step`: the program comes to rest after each deed, and the model foretells everything. `large`: deeds come while it runs, and the
   * invariants speak. Default: half of the lives each.
   */
  readonly pace?: "step" | "large"
}

/** What a run of the properties came to. */
export interface PlanPropertyResult {
  readonly runs: number
  readonly deeds: number
  readonly seed: number
  readonly milliseconds: number
}

interface Life {
  readonly seed: number
  readonly atLarge: boolean
  readonly hooked: boolean
  readonly stubborn: boolean
  readonly whole: boolean
}

class Command implements fc.AsyncCommand<{ readonly play: Play }, RealWorld> {
  readonly choice: Choice
  readonly count: () => void
  constructor(choice: Choice, count: () => void) {
    this.choice = choice
    this.count = count
  }
  check({ play }: { readonly play: Play }): boolean {
    return play.canDo(this.choice)
  }
  async run({ play }: { readonly play: Play }): Promise<void> {
    this.count()
    await play.choose(this.choice)
  }
  toString(): string {
    return this.choice.what
  }
}

let lives = 0

const withLife = async (
  options: PlanPropertyOptions,
  life: Life,
  use: (play: Play) => Promise<void>
): Promise<void> => {
  const scope = Effect.runSync(Scope.make())
  try {
    const journal = options.layer ?? Journal.layerMemory
    const built = await Effect.runPromise(Layer.buildWithScope(Sessions.layer.pipe(Layer.provideMerge(journal)), scope))
    const specs = [...ownCalls, ...(options.calls ?? []).map(specOf)]
    const look = lookup(specs)
    const real = new RealWorld({
      ...options,
      ...life,
      journal: Context.get(built, Journal),
      reader: Context.get(built, Sessions),
      look,
      name: `life-${process.pid}-${Date.now().toString(36)}-${++lives}`
    })
    await real.start()
    await use(new Play(PlanModel.make(look, life.hooked), real, specs, life.atLarge))
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const number = (name: string): number | undefined => {
  const value = process.env[name]
  return value === undefined || value === "" ? undefined : Number(value)
}

/**
 * Plays generated lives and rejects with the story of the first that breaks a promise.
 *
 * @example
 * test("plan mode holds over my journal", () => planProperties({ layer: MyJournal, runs: 200 }))
 */
export const planProperties = async (options: PlanPropertyOptions = {}): Promise<PlanPropertyResult> => {
  let deeds = 0
  const began = performance.now()
  const calls = ownCalls.length + (options.calls ?? []).length
  const life = fc.record<Life>({
    seed: fc.nat({ max: 1_000_000 }),
    atLarge: options.pace === undefined ? fc.boolean() : fc.constant(options.pace === "large"),
    hooked: fc.boolean(),
    stubborn: fc.boolean(),
    whole: fc.boolean()
  }).map((one) => ({ ...one, stubborn: one.stubborn && one.atLarge }))
  const replayPath = process.env["HOLDFAST_REPLAY"]
  const commands = fc.commands(
    [
      choices(calls).map((choice): fc.AsyncCommand<{ readonly play: Play }, RealWorld> =>
        new Command(choice, () => void deeds++)
      )
    ],
    {
      maxCommands: options.length ?? 40,
      size: "max",
      ...(replayPath === undefined || replayPath === "" ? {} : { replayPath })
    }
  )
  const property = fc.asyncProperty(life, commands, (one, list) =>
    withLife(options, one, async (play) => {
      await play.choose(begin)
      await fc.asyncModelRun(() => ({ model: { play }, real: play.real }), list)
      await play.finish()
    }))
  const seed = options.seed ?? number("HOLDFAST_SEED") ?? Math.floor(Math.random() * 2 ** 31)
  const path = process.env["HOLDFAST_PATH"]
  const details = await fc.check(property, {
    numRuns: options.runs ?? number("HOLDFAST_RUNS") ?? 100,
    seed,
    ...(path === undefined || path === "" ? {} : { path, endOnFailure: true })
  })
  if (details.failed) throw new Error(story(details))
  return { runs: details.numRuns, deeds, seed, milliseconds: performance.now() - began }
}

/** Every life begins with a root. */
const begin: Choice = {
  what: "spawn",
  n: 0,
  on: true,
  text: "",
  calls: [],
  answer: "yes",
  fault: "refused",
  after: 1,
  pause: 0
}

interface Details {
  readonly counterexample: readonly [one: Life, list: Iterable<unknown>] | null
  readonly counterexamplePath: string | null
  readonly errorInstance: unknown
  readonly numRuns: number
  readonly numShrinks: number
  readonly seed: number
}

const story = ({ counterexample, counterexamplePath, errorInstance, numRuns, numShrinks, seed }: Details): string => {
  const [life, commands] = counterexample ?? []
  const replay = /replayPath="([^"]*)"/.exec(String(commands))?.[1]
  const trace = errorInstance instanceof PlanModeBroken ? errorInstance.trace : []
  const message = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  const how = [
    life?.atLarge === true ? "deeds come while the program runs" : "the program comes to rest after each deed",
    ...(life?.hooked === true ? ["a hook looks at every call"] : []),
    ...(life?.stubborn === true ? ["the provider takes no notice of interruptions"] : []),
    life?.whole === true ? "Harness.layer" : "plan mode in a scope of its own"
  ]
  return [
    `A promise of plan mode is broken (life ${numRuns}, shrunk ${numShrinks} times).`,
    "",
    message,
    "",
    `How it came to that (${how.join("; ")}):`,
    ...trace,
    "",
    `Again: HOLDFAST_SEED=${seed} HOLDFAST_PATH="${counterexamplePath ?? ""}" HOLDFAST_REPLAY="${replay ?? ""}"`
  ].join("\n")
}
