import OpenAI from "openai"
import type { ServerOptions } from "../src/index.ts"
import { startServer } from "../src/index.ts"

/** What DeepSeek adds to the deltas of the openai client. */
export interface Delta {
  readonly role?: string
  readonly content?: string | null
  readonly reasoning_content?: string | null
  readonly tool_calls?: ReadonlyArray<
    {
      readonly index?: number
      readonly id?: string
      readonly function?: { readonly name?: string; readonly arguments?: string }
    }
  >
}

export interface Chunk {
  readonly choices: ReadonlyArray<{ readonly delta: Delta; readonly finish_reason: string | null }>
  readonly usage?: Record<string, unknown> | null
}

export interface Assembled {
  readonly chunks: ReadonlyArray<Chunk>
  readonly reasoning: string
  readonly content: string
  readonly calls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }>
  readonly finish: string | null
  readonly usage: Record<string, unknown> | null
}

export const serve = async (options: ServerOptions) => {
  const server = await startServer(options)
  const client = new OpenAI({ baseURL: server.url, apiKey: "sk-local", maxRetries: 0, logLevel: "off" })
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await server.close()
    }
  }
}

export type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam

export const user = (content: string): Message => ({ role: "user", content })
export const system = (content: string): Message => ({ role: "system", content })
export const tool = (id: string, content: string): Message => ({ role: "tool", tool_call_id: id, content })

/** An assistant message with the field that the client's types do not know. */
export const assistant = (
  content: string,
  calls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }> = [],
  reasoning: string | null = ""
): Message => {
  const message = {
    role: "assistant" as const,
    content,
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : {
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: "function" as const,
        function: { name: call.name, arguments: call.arguments }
      }))
    })
  }
  return message
}

export const functionTool = (
  name: string,
  parameters: Record<string, unknown> = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"]
  },
  description = `The tool ${name}`
): OpenAI.Chat.Completions.ChatCompletionTool => ({ type: "function", function: { name, description, parameters } })

export type Body =
  & Omit<OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming, "model" | "reasoning_effort">
  & {
    readonly model?: string
    readonly thinking?: { readonly type: string }
    readonly reasoning_effort?: string
    readonly user_id?: string
  }

export const ask = (client: OpenAI, body: Body) => {
  const params = { model: "deepseek-flash", ...body, stream: false }
  return client.chat.completions.create(params as OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming)
}

export const open = (client: OpenAI, body: Body, signal?: AbortSignal) => {
  const params = { model: "deepseek-flash", stream_options: { include_usage: true }, ...body, stream: true }
  return client.chat.completions.create(
    params as unknown as OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming,
    signal === undefined ? {} : { signal }
  )
}

/** Reads a stream to its end and puts the fragments together. */
export const stream = async (client: OpenAI, body: Body): Promise<Assembled> => {
  const chunks: Array<Chunk> = []
  for await (const chunk of await open(client, body)) chunks.push(chunk as unknown as Chunk)
  return assemble(chunks)
}

export const assemble = (chunks: ReadonlyArray<Chunk>): Assembled => {
  let reasoning = ""
  let content = ""
  let finish: string | null = null
  let usage: Record<string, unknown> | null = null
  const calls: Array<{ id: string; name: string; arguments: string }> = []
  for (const chunk of chunks) {
    const choice = chunk.choices[0]
    usage = chunk.usage ?? usage
    finish = choice?.finish_reason ?? finish
    reasoning += choice?.delta.reasoning_content ?? ""
    content += choice?.delta.content ?? ""
    for (const part of choice?.delta.tool_calls ?? []) {
      const call = calls[part.index ?? 0] ??= { id: "", name: "", arguments: "" }
      call.id += part.id ?? ""
      call.name += part.function?.name ?? ""
      call.arguments += part.function?.arguments ?? ""
    }
  }
  return { chunks, reasoning, content, calls, finish, usage }
}

export const hitOf = (usage: unknown): number =>
  (usage as { readonly prompt_cache_hit_tokens: number }).prompt_cache_hit_tokens
