import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { RunningServer, ServerOptions } from "./Server.ts"
import { startServer } from "./Server.ts"

/** The server could not start: the port is taken, or exact counts were asked for without the tokenizer package. */
export class DeepSeekLocalError extends Schema.TaggedError<DeepSeekLocalError>()("DeepSeekLocalError", {
  reason: Schema.String
}) {
  override get message(): string {
    return `deepseek-local did not start: ${this.reason}`
  }
}

/**
 * A running stand-in for the DeepSeek API. Its scope closes it: connections are cut and the port is free again.
 *
 * @example
 * const program = Effect.gen(function*() {
 *   const deepseek = yield* DeepSeekLocal
 *   // point any OpenAI client at deepseek.url
 *   return deepseek.requests.map((request) => request.usage)
 * }).pipe(Effect.provide(DeepSeekLocal.layer({ scenario: Scenario.steps(Scenario.text("hello")) })))
 */
export class DeepSeekLocal extends Context.Service<DeepSeekLocal, Omit<RunningServer, "close">>()(
  "@holdfast/deepseek-local/DeepSeekLocal"
) {
  /** Starts a server for the scope of the layer. */
  static readonly layer = (options: ServerOptions): Layer.Layer<DeepSeekLocal, DeepSeekLocalError> =>
    Layer.effect(
      DeepSeekLocal,
      Effect.acquireRelease(
        Effect.tryPromise({
          try: () => startServer(options),
          catch: (cause) => new DeepSeekLocalError({ reason: cause instanceof Error ? cause.message : String(cause) })
        }),
        (server) => Effect.promise(() => server.close())
      )
    )
}
