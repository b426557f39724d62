/**
 * One attempt at one request: the client's stream, read by a plain loop, handed to Effect in batches.
 *
 * The loop reads the client's events as they come and collects parts; whoever pulls gets all parts of what has arrived,
 * so Effect's cost is per network chunk and not per token. It stops reading while the consumer is behind.
 */
import type { ModelPart, TransportError } from "@holdfast/core"
import { Cause, Clock, Effect, type Pull, Stream } from "effect"
import type OpenAI from "openai"
import { Assembly, type AssemblyOptions } from "./Assembly.ts"
import { classify, classifyPlain } from "./Classify.ts"
import type { Limiter, LimiterOptions } from "./Limiter.ts"
import { observedFetch } from "./ObservedFetch.ts"
import { type resolveTimeouts, Watchdog } from "./Watchdog.ts"

/** Parts that may wait for a slow consumer before reading stops. */
const highWater = 1024

export interface ReplyOptions {
  readonly client: OpenAI
  readonly key: string
  readonly fetch: typeof globalThis.fetch
  readonly assembly: Omit<AssemblyOptions, "maxTokens">
  readonly timeouts: ReturnType<typeof resolveTimeouts>
  readonly limiter: Limiter
  readonly limits: LimiterOptions
}

type Batch = readonly [ModelPart, ...Array<ModelPart>]
type ReplyPull = Pull.Pull<Batch, TransportError>

/** The reading side of a reply. */
class Reader {
  private parts: Array<ModelPart> = []
  private outcome: ReplyPull | undefined = undefined
  private wake: (() => void) | undefined = undefined
  private drained: (() => void) | undefined = undefined
  private readonly watchdog: Watchdog

  constructor(watchdog: Watchdog) {
    this.watchdog = watchdog
  }

  /** Reads chunks until they end, as fast as the consumer takes the parts. */
  async read(chunks: AsyncIterable<unknown>, assembly: Assembly): Promise<TransportError | undefined> {
    for await (const chunk of chunks) {
      if (this.outcome !== undefined) return undefined
      this.watchdog.event()
      const error = assembly.push(chunk, this.parts)
      if (error !== undefined) return error
      if (this.parts.length > 0) this.wake?.()
      if (this.parts.length >= highWater) {
        this.watchdog.pause()
        await new Promise<void>((resolve) => {
          this.drained = resolve
        })
        this.watchdog.resume()
      }
    }
    return undefined
  }

  complete(assembly: Assembly): TransportError | undefined {
    return this.outcome === undefined ? assembly.end(this.parts) : undefined
  }

  /** The reply is over; the first to say so is right. Parts that were read before are still delivered. */
  settle(error: TransportError | undefined): boolean {
    if (this.outcome !== undefined) return false
    this.outcome = error === undefined ? Cause.done() : Effect.fail(error)
    this.drained?.()
    this.wake?.()
    return true
  }

  private readonly arrival = Effect.callback<void>((resume) => {
    // The fiber may have yielded since it looked, and what came meanwhile found nobody to wake.
    if (this.parts.length > 0 || this.outcome !== undefined) return resume(Effect.void)
    this.wake = () => {
      this.wake = undefined
      resume(Effect.void)
    }
    return Effect.sync(() => {
      this.wake = undefined
    })
  })

  /** All parts that have arrived. The yield lets the loop finish with the network chunk that woke us. */
  readonly pull: ReplyPull = Effect.suspend((): ReplyPull => {
    const parts = this.parts
    if (parts.length > 0) {
      this.parts = []
      this.drained?.()
      this.drained = undefined
      return Effect.succeed(parts as unknown as Batch)
    }
    return this.outcome ?? Effect.andThen(Effect.andThen(this.arrival, Effect.yieldNow), this.pull)
  })
}

const open = Effect.fnUntraced(function*(body: Uint8Array, maxTokens: number, options: ReplyOptions) {
  const clock = yield* Clock.Clock
  yield* options.limiter.enter(clock)
  const watchdog = new Watchdog(clock, options.timeouts)
  const reader = new Reader(watchdog)
  const controller = new AbortController()
  const assembly = new Assembly({ ...options.assembly, maxTokens })
  const observed = observedFetch({
    fetch: options.fetch,
    key: options.key,
    onBytes: () => watchdog.byte(),
    complete: () => assembly.finished && !controller.signal.aborted
  })
  const context = () => ({ now: clock.currentTimeMillisUnsafe(), secrets: [options.key] })
  const settle = (error: TransportError | undefined) => {
    if (!reader.settle(error)) return
    if (error === undefined) return
    options.limiter.note(error, clock, options.limits)
    controller.abort()
  }
  const run = async () => {
    let reading = false
    try {
      const chunks = await options.client.withOptions({ fetch: observed.fetch }).post("/chat/completions", {
        body,
        headers: { "content-type": "application/json", accept: "text/event-stream" },
        stream: true,
        signal: controller.signal
      }) as AsyncIterable<unknown>
      reading = true
      const error = await reader.read(chunks, assembly)
      if (error !== undefined) return settle(error)
    } catch (cause) {
      // An event that is not JSON because the body ended inside it is a cut, and told as one below.
      const cut = cause instanceof SyntaxError && observed.ended()
      // Once the server has said why the reply ended, what follows can only be lost usage.
      if (!assembly.finished && !cut) return settle(classify(cause, context(), reading))
    }
    const plain = observed.plain()
    settle(plain === undefined || assembly.finished ? reader.complete(assembly) : classifyPlain(plain, context()))
  }
  // A complete reply is left to end by itself, so that its connection can be used again.
  yield* Effect.addFinalizer(() => Effect.sync(() => reader.settle(undefined) ? controller.abort() : undefined))
  void run().catch((cause: unknown) => settle(classify(cause, context())))
  yield* Effect.forkScoped(Effect.map(watchdog.run, settle))
  return reader.pull
})

/** The parts of the reply to a body whose limit is `maxTokens`. Interrupting it closes the connection. */
export const reply = (
  body: Uint8Array,
  maxTokens: number,
  options: ReplyOptions
): Stream.Stream<ModelPart, TransportError> =>
  Stream.unwrap(Effect.map(open(body, maxTokens, options), (pull) => Stream.fromPull(Effect.succeed(pull))))
