/** What every provider must do, done by the terminal in a real pseudo-terminal. */
import { interactionConformance } from "@holdfast/testing"
import { Layer } from "effect"
import { afterAll, beforeAll, test } from "vitest"
import { TerminalProgram } from "./support/TypingPerson.ts"

let program: TerminalProgram

beforeAll(async () => {
  program = await TerminalProgram.start()
}, 120_000)

afterAll(() => program[Symbol.asyncDispose]())

interactionConformance(
  (name, run) => test(name, { timeout: 180_000 }, run),
  "terminal",
  // Control characters and blanks at the end of a line cannot be seen on a screen as they are.
  { layer: Layer.suspend(() => program.layer), reads: "text", patience: "60 seconds" }
)
