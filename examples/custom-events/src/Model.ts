/** A model of a few lines, so that the example runs without a network: it saves a note when asked to, then reports. */
import { type ModelPart, ModelTransport } from "@holdfast/core"
import { Layer, Stream } from "effect"

const usage = { prompt: 100, hit: 64, miss: 36, completion: 10, reasoning: 0 }

const reply = (last: { readonly role: string; readonly text: string } | undefined): ReadonlyArray<ModelPart> => {
  if (last?.role === "tool") return [{ _tag: "Text", text: `The tool said: ${last.text}` }]
  const [name, args] = last?.text.startsWith("Which") === true
    ? ["current_ticket", {}]
    : ["save_note", { text: last?.text ?? "" }]
  return [{ _tag: "ToolCall", id: "1", name, arguments: JSON.stringify(args) }]
}

export const NoteModel = Layer.succeed(ModelTransport, {
  name: "note-model",
  encoding: "note-model/1",
  settings: { model: "note-model" },
  encode: (request) => new TextEncoder().encode(JSON.stringify(request)),
  stream: ({ messages }) => {
    const parts = reply(messages.at(-1))
    const reason = parts.some((part) => part._tag === "ToolCall") ? "tool-calls" as const : "stop" as const
    return Stream.fromIterable<ModelPart>([...parts, { _tag: "Usage", usage }, { _tag: "Finish", reason }])
  }
})
