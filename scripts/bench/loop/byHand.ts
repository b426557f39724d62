/** The loop as one writes it by hand on the `openai` client: an array of messages, sent whole with each request. */
import OpenAI from "openai"
import { type Arguments, type Measured, Meter, task } from "./Work.ts"

interface Call {
  id: string
  type: "function"
  function: { name: string; arguments: string }
}

/** Everything of a request but its messages, and the system text: what Holdfast's own requests have. */
export interface Head {
  readonly body: { readonly [field: string]: unknown }
  readonly system: unknown
}

const converse = async (client: OpenAI, head: Head, meter: Meter): Promise<void> => {
  const messages: Array<unknown> = [head.system, { role: "user", content: task }]
  while (true) {
    const stream = await client.chat.completions.create({
      ...head.body,
      messages
    } as unknown as OpenAI.ChatCompletionCreateParamsStreaming)
    let content = ""
    let reasoning = ""
    const calls: Array<Call> = []
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta as
        | OpenAI.ChatCompletionChunk.Choice.Delta & { readonly reasoning_content?: string | null }
        | undefined
      if (delta === undefined) continue
      if (delta.reasoning_content) reasoning += delta.reasoning_content
      if (delta.content) content += delta.content
      for (const { function: fragment, id, index } of delta.tool_calls ?? []) {
        const call = calls[index] ??= { id: "", type: "function", function: { name: "", arguments: "" } }
        if (id !== undefined) call.id = id
        if (fragment?.name !== undefined) call.function.name = fragment.name
        call.function.arguments += fragment?.arguments ?? ""
      }
    }
    messages.push({
      role: "assistant",
      content,
      reasoning_content: reasoning,
      ...(calls.length > 0 ? { tool_calls: calls } : {})
    })
    if (calls.length === 0) return
    for (const call of calls) {
      const args = JSON.parse(call.function.arguments) as Arguments
      messages.push({ role: "tool", tool_call_id: call.id, content: meter.tool(call.function.name, args) })
    }
  }
}

/** Runs the warm-up and then the conversation that is measured. */
export const byHand = async (baseURL: string, rounds: number, head: Head): Promise<Measured> => {
  const client = new OpenAI({ apiKey: "bench", baseURL })
  const meter = new Meter("by-hand", rounds)
  await converse(client, head, meter)
  await meter.start()
  await converse(client, head, meter)
  return meter.finish()
}
