/** A tool that changes something, in two editions. */
import { ToolCatalog } from "@holdfast/core"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"

// No annotation says that it only reads, so it counts as one that changes things.
const WriteNote = Tool.make("write_note", {
  description: "Writes a note.",
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.String
})

const NotesKit = Toolkit.make(WriteNote)

/** The tools layer. `notes` is what is written to; `edit` is what this edition makes of a text. */
export const notesTools = (notes: Array<string>, edit: (text: string) => string) =>
  ToolCatalog.add(NotesKit).pipe(
    Layer.provide(NotesKit.toLayer({
      write_note: ({ text }) =>
        Effect.sync(() => {
          notes.push(edit(text))
          return `Written: ${edit(text)}`
        })
    }))
  )
