/** The same conversation through the whole harness: journal, boundaries, gate, approval, transport. */
import {
  Agent,
  Harness,
  Interaction,
  Journal,
  LoopGuard,
  PromptSections,
  SessionId,
  Sessions,
  ToolCatalog
} from "@holdfast/core"
import { DeepSeek } from "@holdfast/deepseek"
import { JournalFile } from "@holdfast/journal-file"
import { JournalSql } from "@holdfast/journal-sql"
import { Effect, Layer, Redacted, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { join } from "node:path"
import { describe, type Measured, Meter, names, persona, task, type ToolName, toolNames } from "./Work.ts"

const parameters = Schema.Struct({ path: Schema.String, line: Schema.Int })

const tool = (name: ToolName) => {
  const made = Tool.make(name, { description: describe(name), parameters, success: Schema.String })
  return toolNames[name] === "read" ? made.annotate(Tool.Readonly, true) : made.annotate(Tool.Destructive, false)
}

const toolkit = Toolkit.make(...names.map(tool))

const journal = (kind: string, folder: string) => {
  switch (kind) {
    case "sqlite":
      return JournalSql.layerSqlite({ filename: join(folder, "holdfast.db") })
    case "file":
      return JournalFile.layer({ directory: join(folder, "files") })
    default:
      return Journal.layerMemory
  }
}

const converse = (id: string) =>
  Effect.scoped(Effect.gen(function*() {
    const session = yield* (yield* Sessions).create({ id: SessionId.make(id) })
    const agent = yield* (yield* Agent).open(session)
    const end = yield* agent.prompt(task)
    if (end.reason !== "completed") throw new Error(`the turn ended with ${end.reason}: ${end.detail}`)
  }))

/** Runs the warm-up and then the conversation that is measured, each in a session of its own. */
export const holdfast = (kind: string, baseURL: string, rounds: number, folder: string): Promise<Measured> => {
  const meter = new Meter(kind, rounds)
  const handlers = Object.fromEntries(
    names.map((name) => [name, (args: typeof parameters.Type) => Effect.sync(() => meter.tool(name, args))])
  ) as Record<ToolName, (args: typeof parameters.Type) => Effect.Effect<string>>
  const layer = Layer.mergeAll(
    ToolCatalog.add(toolkit).pipe(Layer.provide(toolkit.toLayer(handlers))),
    PromptSections.add({ name: "persona", order: 0, text: persona })
  ).pipe(
    Layer.provideMerge(Harness.layer({ enforcement: "runtime", approval: { policy: () => "allow" } })),
    Layer.provide(Interaction.layerNone),
    Layer.provide(DeepSeek.layer({ apiKey: Redacted.make("bench"), baseURL })),
    Layer.provide(LoopGuard.layer({ rounds: Number.MAX_SAFE_INTEGER })),
    Layer.provideMerge(journal(kind, folder))
  )
  return Effect.runPromise(
    Effect.gen(function*() {
      yield* converse("warm-up")
      yield* Effect.promise(() => meter.start())
      yield* converse("measured")
      return yield* Effect.promise(() => meter.finish())
    }).pipe(Effect.provide(layer))
  )
}
