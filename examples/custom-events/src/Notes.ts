/** What the agent can change in this example: a list of notes. */
import { ToolCatalog } from "@holdfast/core"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"

const Notes = Toolkit.make(
  Tool.make("save_note", {
    description: "Saves a note.",
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String
  }).annotate(Tool.Destructive, false)
)

export const notesInto = (notes: Array<string>) =>
  ToolCatalog.add(Notes).pipe(Layer.provide(Notes.toLayer({
    save_note: ({ text }) => Effect.sync(() => `saved as note ${notes.push(text)}`)
  })))
