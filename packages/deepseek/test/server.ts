/** A real HTTP server that sends exact bytes, and the few words that the tests share. */
import { DeepSeek } from "@holdfast/deepseek"
import {
  type AssistantMessage,
  type Message,
  type ModelPart,
  type ModelRequest,
  ModelTransport,
  type RequestHeader,
  type TransportError
} from "@holdfast/core"
import { Effect, Layer, Redacted, type Scope, Stream } from "effect"
import * as http from "node:http"
import type { AddressInfo } from "node:net"

export const apiKey = "sk-test-0123456789abcdef"

export interface Received {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export type Handler = (response: http.ServerResponse, request: Received, index: number) => void | Promise<void>

export interface Server {
  readonly url: string
  readonly received: Array<Received>
  /** Resolves when the connection of the n-th request was closed before its reply was complete. */
  readonly closed: (index: number) => Promise<void>
}

export const serve = (handler: Handler): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<{ readonly server: http.Server; readonly value: Server }>((resolve) => {
        const received: Array<Received> = []
        const closes: Array<PromiseWithResolvers<void>> = []
        const closeOf = (index: number) => closes[index] ??= withResolvers()
        const server = http.createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const index = received.length
            const entry = {
              path: request.url ?? "",
              headers: request.headers,
              body: Buffer.concat(chunks).toString("utf8")
            }
            received.push(entry)
            response.on("close", () => {
              if (!response.writableFinished) closeOf(index).resolve()
            })
            void handler(response, entry, index)
          })
        })
        server.listen(0, "127.0.0.1", () => {
          const { port } = server.address() as AddressInfo
          resolve({
            server,
            value: { url: `http://127.0.0.1:${port}`, received, closed: (index) => closeOf(index).promise }
          })
        })
      })
    ),
    ({ server }) =>
      Effect.promise(() =>
        new Promise<void>((resolve) => {
          server.closeAllConnections()
          server.close(() => resolve())
        })
      )
  ).pipe(Effect.map(({ value }) => value))

interface PromiseWithResolvers<A> {
  readonly promise: Promise<A>
  readonly resolve: (value: A) => void
}

const withResolvers = (): PromiseWithResolvers<void> => {
  let resolve: (value: void) => void = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** Answers with an event stream of these events. */
export const events = (...data: ReadonlyArray<unknown>): Handler => (response) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.end(data.map((value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`).join(""))
}

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Handler => (response) => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(typeof body === "string" ? body : JSON.stringify(body))
}

export const chunk = (delta: object, finish: string | null = null, usage: object | null = null) => ({
  id: "c1",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  usage
})

export const usage = {
  prompt_tokens: 300,
  prompt_cache_hit_tokens: 256,
  prompt_cache_miss_tokens: 44,
  completion_tokens: 12,
  completion_tokens_details: { reasoning_tokens: 5 }
}

/** The start of a call, and a fragment of its arguments. */
export const callStart = (index: number, name: string, id = `call_0${index}_abc`) =>
  chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] })
export const callText = (index: number, text: string) =>
  chunk({ tool_calls: [{ index, function: { arguments: text } }] })

export const settled = [chunk({ content: "ok" }), chunk({ content: "" }, "stop", usage), "[DONE]"] as const

export const tool = { name: "read_file", description: "Reads a file.", parameters: { type: "object", properties: {} } }

export const user = (text: string): Message => ({ role: "user", text, source: { kind: "user" } })
export const assistant = (text: string, more: Partial<AssistantMessage> = {}): Message => ({
  role: "assistant",
  text,
  reasoning: "",
  calls: [],
  ...more
})

export const requestOf = (
  transport: ModelTransport["Service"],
  more: Partial<ModelRequest> & { readonly header?: Partial<RequestHeader> } = {}
): ModelRequest => {
  const { header, ...rest } = more
  return {
    messages: [user("hi")],
    tail: null,
    ...rest,
    header: { system: "You help.", tools: [tool], settings: transport.settings, ...header }
  }
}

type Options = Partial<DeepSeek.Options>

export const transportAt = (url: string, options: Options = {}) =>
  Layer.build(DeepSeek.layer({ apiKey: Redacted.make(apiKey), baseURL: url, ...options })).pipe(
    Effect.map((context) => context.mapUnsafe.get(ModelTransport.key) as ModelTransport["Service"])
  )

export interface Outcome {
  readonly parts: ReadonlyArray<ModelPart>
  readonly error: TransportError | undefined
}

/** Runs one attempt to its end, good or bad. */
export const attempt = (
  transport: ModelTransport["Service"],
  request = requestOf(transport)
): Effect.Effect<Outcome> =>
  Effect.suspend(() => {
    const parts: Array<ModelPart> = []
    return transport.stream(request).pipe(
      Stream.runForEach((part) => Effect.sync(() => void parts.push(part))),
      Effect.match({
        onFailure: (error): Outcome => ({ parts, error }),
        onSuccess: (): Outcome => ({ parts, error: undefined })
      })
    )
  })

/** One attempt against a server that answers with `handler`. */
export const against = (handler: Handler, options: Options = {}) =>
  Effect.gen(function*() {
    const server = yield* serve(handler)
    const transport = yield* transportAt(server.url, options)
    return { ...(yield* attempt(transport)), server }
  })

export const texts = (parts: ReadonlyArray<ModelPart>, tag: "Text" | "Reasoning" = "Text") =>
  parts.map((part) => part._tag === tag ? part.text : "").join("")
