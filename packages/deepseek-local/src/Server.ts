import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { apiError, documentedError, errorBody, invalidKey } from "./ApiErrors.ts"
import type { Clock } from "./Clock.ts"
import { systemClock } from "./Clock.ts"
import type { ExchangeContext, RecordedRequest } from "./Exchange.ts"
import { exchange } from "./Exchange.ts"
import type { LatencyProfile } from "./Latency.ts"
import { instant } from "./Latency.ts"
import type { PrefixCacheOptions } from "./PrefixCache.ts"
import { PrefixCache } from "./PrefixCache.ts"
import type { PromptTemplate } from "./PromptRendering.ts"
import { v4 } from "./PromptRendering.ts"
import { models } from "./Protocol.ts"
import type { ValidationOptions } from "./RequestValidation.ts"
import type { Scenario } from "./Scenario.ts"
import type { Tokenizer } from "./Tokenizer.ts"
import { byteEstimate, loadDeepSeekTokenizer } from "./Tokenizer.ts"

/** How a server is set up; only the scenario is needed. */
export interface ServerOptions {
  readonly scenario: Scenario
  /** Default 0: any free port. */
  readonly port?: number
  /** Default `127.0.0.1`. */
  readonly host?: string
  /**
   * `estimate` (default): four bytes a token, no dependency. `exact`: DeepSeek's tokenizer, fails without the optional
   * package `@lenml/tokenizer-deepseek_v4`. `auto`: exact if the package is there. Or a tokenizer of your own.
   */
  readonly tokens?: "estimate" | "exact" | "auto" | Tokenizer
  readonly template?: PromptTemplate
  readonly cache?: PrefixCacheOptions
  readonly validation?: ValidationOptions
  readonly latency?: Partial<LatencyProfile>
  readonly clock?: Clock
  /** Ids of answers and calls, and dropped cache writes, follow from it. Default 0. */
  readonly seed?: number
  /** Accepted keys; default: any that is not empty. */
  readonly apiKeys?: ReadonlyArray<string>
  /** Prompt and `max_tokens` together; default 1048565, what the API was seen to enforce. */
  readonly contextLimit?: number
  /** Requests at the same time, more are answered with 429. The documentation says 2500 (flash), 500 (pro); default none. */
  readonly concurrency?: number
  /** Keep the bytes and the parsed form of requests in `requests`. Default true; turn off for long benchmarks. */
  readonly recordBodies?: boolean
  /** Called when an exchange is over. */
  readonly onRequest?: (record: RecordedRequest) => void
}

/** A server that listens. */
export interface RunningServer {
  /** Base URL for clients, e.g. `http://127.0.0.1:41234`. */
  readonly url: string
  readonly port: number
  /** Every chat completion that was asked for, in order of arrival. */
  readonly requests: ReadonlyArray<RecordedRequest>
  /** Name of the tokenizer that counts. */
  readonly tokens: string
  readonly cache: PrefixCache
  /** Forgets the recorded requests, the attempts and the counts of faults; the cache is kept. */
  readonly reset: () => void
  /** Plays another scenario from the next request on. */
  readonly play: (scenario: Scenario) => void
  /** Closes all connections and stops listening. */
  readonly close: () => Promise<void>
}

const chooseTokenizer = async (tokens: ServerOptions["tokens"]): Promise<Tokenizer> => {
  if (tokens === undefined || tokens === "estimate") return byteEstimate
  if (typeof tokens !== "string") return tokens
  const exact = await loadDeepSeekTokenizer()
  if (exact === undefined && tokens === "exact") {
    throw new Error("exact token counts need the optional package @lenml/tokenizer-deepseek_v4")
  }
  return exact ?? byteEstimate
}

const readBody = (request: IncomingMessage): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => resolve(Buffer.concat(chunks)))
    request.on("error", reject)
  })

const sendJson = (response: ServerResponse, status: number, body: string): void => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(body)
}

const account = {
  is_available: true,
  balance_infos: [{ currency: "USD", total_balance: "100.00", granted_balance: "0.00", topped_up_balance: "100.00" }]
}

const modelList = (names: ReadonlyArray<string>): object => ({
  object: "list",
  data: names.map((id) => ({ id, object: "model", owned_by: "deepseek" }))
})

/**
 * Starts a server. It answers `POST /chat/completions`, `GET /models` and `GET /user/balance`, each also below `/v1` and
 * `/beta`.
 *
 * @example
 * const server = await startServer({ scenario: Scenario.steps(Scenario.text("hello")) })
 * const client = new OpenAI({ baseURL: server.url, apiKey: "sk-local" })
 */
export const startServer = async (options: ServerOptions): Promise<RunningServer> => {
  const tokenizer = await chooseTokenizer(options.tokens)
  const clock = options.clock ?? systemClock
  const seed = options.seed ?? 0
  const cache = new PrefixCache({ seed, ...options.cache })
  const attempts = new Map<string, number>()
  const requests: Array<RecordedRequest> = []
  let active = 0
  let received = 0
  let scenario = options.scenario
  const context: ExchangeContext = {
    scenario: (request) => scenario(request),
    tokenizer,
    template: options.template ?? v4,
    cache,
    clock,
    latency: { ...instant, ...options.latency },
    validation: options.validation ?? {},
    contextLimit: options.contextLimit ?? 1_048_565,
    seed,
    recordBodies: options.recordBodies !== false,
    faultCounts: new Map()
  }
  const closing = new AbortController()

  const chat = async (request: IncomingMessage, response: ServerResponse, path: string, key: string): Promise<void> => {
    const gone = new AbortController()
    const abort = (): void => gone.abort()
    response.on("close", abort)
    closing.signal.addEventListener("abort", abort)
    const body = await readBody(request)
    const bodyHash = createHash("sha256").update(body).digest("hex")
    const attempt = (attempts.get(bodyHash) ?? 0) + 1
    attempts.set(bodyHash, attempt)
    const record: RecordedRequest = {
      index: received++,
      path,
      attempt,
      bodyHash,
      body: context.recordBodies ? body : new Uint8Array(),
      request: undefined,
      status: 0,
      error: undefined,
      usage: undefined,
      reply: undefined,
      faults: [],
      outcome: undefined,
      startedAt: clock.now(),
      endedAt: undefined
    }
    requests.push(record)
    active += 1
    try {
      if (active > (options.concurrency ?? Infinity)) {
        const error = documentedError(429)
        Object.assign(record, { status: 429, error: error.message, outcome: "error" })
        sendJson(response, 429, errorBody(error))
      } else await exchange(context, key, body, record, { response, signal: gone.signal })
    } finally {
      active -= 1
      record.endedAt = clock.now()
      record.outcome ??= "aborted"
      options.onRequest?.(record)
      closing.signal.removeEventListener("abort", abort)
    }
  }

  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? "/").replace(/\?.*$/, "").replace(/^\/(v1|beta)(?=\/)/, "")
    const key = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? ""
    if (key === "" || (options.apiKeys !== undefined && !options.apiKeys.includes(key))) {
      request.resume()
      return sendJson(response, 401, errorBody(invalidKey(key)))
    }
    if (request.method === "POST" && path === "/chat/completions") {
      return chat(request, response, request.url ?? path, key)
    }
    request.resume()
    if (request.method === "GET" && path === "/models") {
      return sendJson(response, 200, JSON.stringify(modelList(options.validation?.models ?? models.slice(0, 2))))
    }
    if (request.method === "GET" && path === "/user/balance") return sendJson(response, 200, JSON.stringify(account))
    sendJson(response, 404, errorBody(apiError(404, `Not Found: ${request.method} ${path}`)))
  }

  const server = createServer((request, response) => {
    route(request, response).catch((cause: unknown) => {
      if (response.headersSent) response.destroy()
      else sendJson(response, 500, errorBody(apiError(500, `deepseek-local: ${String(cause)}`, "server_error")))
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(options.port ?? 0, options.host ?? "127.0.0.1", resolve)
  })
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://${options.host ?? "127.0.0.1"}:${port}`,
    port,
    requests,
    tokens: tokenizer.name,
    cache,
    reset: () => {
      requests.length = 0
      attempts.clear()
      context.faultCounts.clear()
    },
    play: (next) => {
      scenario = next
    },
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
