import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import OpenAI from "openai"
import { apiKey, chunk, requestOf, transportAt } from "./server.ts"

/** A reply of `tokens` events in network chunks of `perChunk`, without a network, so that only reading is measured. */
const replyOf = (tokens: number, perChunk: number): typeof globalThis.fetch => {
  const event = (delta: object, finish: string | null = null) => `data: ${JSON.stringify(chunk(delta, finish))}\n\n`
  const piece = new TextEncoder().encode(event({ content: " word", reasoning_content: null }).repeat(perChunk))
  const last = new TextEncoder().encode(event({}, "stop") + "data: [DONE]\n\n")
  return () => {
    let sent = 0
    return Promise.resolve(
      new Response(
        new ReadableStream<Uint8Array>({
          pull: (controller) => {
            if (sent >= tokens) {
              controller.enqueue(last)
              controller.close()
            } else {
              sent += perChunk
              controller.enqueue(piece)
            }
          }
        }, { highWaterMark: 0 }),
        { headers: { "content-type": "text/event-stream" } }
      )
    )
  }
}

const cpu = async (run: () => Promise<number>): Promise<number> => {
  const start = process.cpuUsage()
  const count = await run()
  const used = process.cpuUsage(start)
  assert.isAtLeast(count, 50_000)
  return (used.user + used.system) / 1000
}

const bare = async (fetch: typeof globalThis.fetch): Promise<number> => {
  const client = new OpenAI({ apiKey, baseURL: "http://127.0.0.1:1", maxRetries: 0, fetch })
  let count = 0
  const chunks = await client.chat.completions.create({ model: "m", messages: [], stream: true })
  for await (const value of chunks) if (value.choices[0]?.delta.content) count++
  return count
}

describe("reading 50000 tokens", () => {
  for (const perChunk of [1, 64]) {
    it.live(
      `costs at most 1.5 times what the bare client costs, ${perChunk} to a network chunk`,
      () =>
        Effect.gen(function*() {
          const fetch = replyOf(50_000, perChunk)
          const transport = yield* transportAt("http://127.0.0.1:1", { fetch })
          const request = requestOf(transport)
          const ours = () =>
            Effect.runPromise(Effect.suspend(() => {
              let count = 0
              return transport.stream(request).pipe(
                Stream.runForEachArray((parts) => Effect.sync(() => void (count += parts.length))),
                Effect.map(() => count)
              )
            }))
          // The least of several runs, because this machine does other things too.
          let theirs = Number.POSITIVE_INFINITY
          let own = Number.POSITIVE_INFINITY
          for (let run = 0; run < 8 && (run < 2 || own > theirs * 1.5); run++) {
            theirs = Math.min(theirs, yield* Effect.promise(() => cpu(() => bare(fetch))))
            own = Math.min(own, yield* Effect.promise(() => cpu(ours)))
          }
          if (process.env.BENCH) process.stdout.write(`${perChunk}: bare ${theirs} ms, transport ${own} ms\n`)
          assert.isAtMost(own, theirs * 1.5)
        }),
      120_000
    )
  }
})
