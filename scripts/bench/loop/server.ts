/**
 * The scripted model, in a process of its own.
 *
 * Leaner than `deepseek-local` on purpose: it parses nothing while a loop runs, so that what is measured on a machine of few
 * cores is the client. The address says what to play: `/NAME/WARM/ROUNDS` answers one conversation of WARM tool calls and
 * then one of ROUNDS. Requests are counted, not read; only the last body of the conversation is parsed, for the proof
 * that all clients did the same work.
 */
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type Arguments, names, type Seen } from "./Work.ts"

interface Played {
  readonly warm: number
  readonly rounds: number
  requests: number
  bytes: Array<number>
  last: { readonly body: string; readonly seen: Seen } | undefined
}

const played = new Map<string, Played>()

/** Tokens that go out in one write. A recorded stream has 1 to 4 in each of its bursts. */
const burst = Number(process.argv[2] ?? 8)

const frame = (delta: object, finish: string | null, usage: object | null) =>
  `data: ${
    JSON.stringify({
      id: "b2f1c0de-0000-4000-8000-000000000000",
      object: "chat.completion.chunk",
      created: 1_800_000_000,
      model: "deepseek-flash",
      system_fingerprint: "fp_bench",
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      usage
    })
  }\n\n`

const words = (text: string) => text.match(/\s?\S+/g) ?? []

const frames = (step: number, rounds: number, promptBytes: number): ReadonlyArray<string> => {
  const thought =
    `The file before was fine, so number ${step} is next: I read it, look for what the task asks for, and note ` +
    "what has to change. If the result is long, the part that matters is near the line that I asked for, so one call is " +
    "enough, and I can go on with the next file after it."
  const args: Arguments = { path: `src/part${step % 17}/file${step}.ts`, line: step + 1 }
  const last = step >= rounds
  const said = last ? "All files are done." : `Now file ${step}.`
  const usage = {
    prompt_tokens: promptBytes >> 2,
    completion_tokens: 90,
    total_tokens: (promptBytes >> 2) + 90,
    prompt_tokens_details: { cached_tokens: promptBytes >> 3 },
    completion_tokens_details: { reasoning_tokens: 60 },
    prompt_cache_hit_tokens: promptBytes >> 3,
    prompt_cache_miss_tokens: (promptBytes >> 2) - (promptBytes >> 3)
  }
  const call = (fields: object) => frame({ tool_calls: [{ index: 0, ...fields }] }, null, null)
  const json = JSON.stringify(args).replaceAll(/([:,])"/g, "$1 \"")
  return [
    frame({ role: "assistant", content: null, reasoning_content: "" }, null, null),
    ...words(thought).map((word) => frame({ content: null, reasoning_content: word }, null, null)),
    ...words(said).map((word) => frame({ content: word, reasoning_content: null }, null, null)),
    ...last ? [] : [
      // The ids that the harness mints itself, so that the requests of all clients are equal byte for byte.
      call({
        id: `call_${step + 1}_0`,
        type: "function",
        function: { name: names[step % names.length], arguments: "" }
      }),
      ...(json.match(/.{1,4}/g) ?? []).map((piece) => call({ function: { arguments: piece } }))
    ],
    frame({ content: "", reasoning_content: null }, last ? "stop" : "tool_calls", usage),
    "data: [DONE]\n\n"
  ]
}

const readAll = async (request: IncomingMessage): Promise<ReadonlyArray<Buffer>> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks
}

const answer = (response: ServerResponse, parts: ReadonlyArray<string>) => {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" })
  response.socket?.setNoDelay(true)
  let at = 0
  const next = () => {
    response.write(parts.slice(at, at + burst).join(""))
    at += burst
    if (at < parts.length) setImmediate(next)
    else response.end()
  }
  next()
}

const examine = (body: string, bytes: ReadonlyArray<number>): Seen => {
  const { messages } = JSON.parse(body) as { readonly messages: ReadonlyArray<{ readonly role: string }> }
  return {
    requests: bytes.length,
    bytes,
    messages: messages.length,
    results: messages.filter(({ role }) => role === "tool").length,
    hash: createHash("sha256").update(body).digest("hex")
  }
}

const server = createServer(async (request, response) => {
  const [, name = "", ...rest] = (request.url ?? "").split("/")
  if (request.method === "GET") {
    const { last } = played.get(name) ?? {}
    response.end(JSON.stringify(rest[0] === "body" ? last?.body : last?.seen))
    return
  }
  const state = played.get(name) ??
    { warm: Number(rest[0]), rounds: Number(rest[1]), requests: 0, bytes: [], last: undefined }
  played.set(name, state)
  const chunks = await readAll(request)
  const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  const warming = state.requests <= state.warm
  const step = warming ? state.requests : state.requests - state.warm - 1
  const rounds = warming ? state.warm : state.rounds
  state.requests++
  if (!warming) state.bytes.push(size)
  answer(response, frames(step, rounds, size))
  if (!warming && step === rounds) {
    const body = Buffer.concat(chunks).toString()
    state.last = { body, seen: examine(body, state.bytes) }
  }
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`)
})
process.stdin.on("end", () => process.exit(0)).resume()
