/** The layers of the program: the harness, its tools, a model and a person. */
import { Artifacts, Harness, type ModelTransport, PromptSections } from "@holdfast/core"
import { DeepSeek } from "@holdfast/deepseek"
import { DeepSeekLocal, realistic } from "@holdfast/deepseek-local"
import { artifactFolder, ProjectInstructions, WorkspaceTools } from "@holdfast/workspace"
import { Effect, Layer, Redacted } from "effect"
import { appendFileSync } from "node:fs"
import { story } from "./Story.ts"
import { askedInOrder, Shown } from "./View.ts"

const persona = [
  "You are a careful software engineer at work in one folder.",
  "Read before you change, change no more than the task needs, and check what you did.",
  "Say in one or two sentences what you are doing; do not repeat file contents in your answers."
].join("\n")

/** The harness with the workspace's tools, over whatever journal, model and person the caller provides. */
export const app = (options: { readonly root: string; readonly artifacts: string }) =>
  Layer.mergeAll(
    WorkspaceTools.layer({ root: options.root, readable: [options.artifacts] }),
    ProjectInstructions.layer({ root: options.root }),
    PromptSections.add({ name: "persona", order: 0, text: persona })
  ).pipe(
    Layer.provideMerge(Harness.layer()),
    Layer.provide(askedInOrder),
    Layer.provideMerge(Shown.layer),
    Layer.provide(Layer.succeed(Artifacts, { keep: artifactFolder(options.artifacts) }))
  )

export interface StandInOptions {
  /** Answers at the pace of the real API. */
  readonly slow: boolean
  /** A file to which the body of each request is appended, a line each. */
  readonly record?: string
}

/** The adapter for the real API, pointed at the stand-in. */
export const overLocal = Layer.unwrap(
  Effect.map(DeepSeekLocal, ({ url }) => DeepSeek.layer({ apiKey: Redacted.make("stand-in"), baseURL: url }))
)

/** The stand-in for the DeepSeek API on loopback, reached through the same adapter and client as the real one. */
export const standIn = ({ record, slow }: StandInOptions): Layer.Layer<ModelTransport> =>
  overLocal.pipe(
    Layer.provide(DeepSeekLocal.layer({
      scenario: story,
      tokens: "auto",
      ...(slow ? { latency: realistic } : {}),
      ...(record === undefined
        ? {}
        : { onRequest: ({ body }) => appendFileSync(record, `${Buffer.from(body).toString()}\n`) })
    })),
    Layer.orDie
  )

/** The real API, with the key from `DEEPSEEK_API_KEY`. */
export const realApi: Layer.Layer<ModelTransport> = DeepSeek.layerConfig().pipe(Layer.orDie)
