/** Runs a pure prompt (state, key) → state on the screen and the keyboard, with the loop of `effect/cli`'s `Prompt`. */
import { Data, Effect, FileSystem, Layer, Path, Terminal } from "effect"
import { Prompt } from "effect/cli"
import type { Keys } from "./Keyboard.ts"
import type { Frame, LivePart, Screen } from "./Screen.ts"

/** What a prompt does with a key. */
export type LiveStep<State, A> =
  | { readonly _tag: "Next"; readonly state: State }
  | { readonly _tag: "Done"; readonly value: A }

export interface LivePromptOptions<State, A> {
  readonly initial: State
  readonly keys: Keys
  readonly part: LivePart
  readonly frame: (state: State, size: Terminal.Size) => Frame | Effect.Effect<Frame>
  readonly step: (state: State, input: Terminal.UserInput, size: Terminal.Size) => Effect.Effect<LiveStep<State, A>>
}

// The environment that every prompt of `effect/cli` declares; none of these prompts looks at files.
const files = Layer.mergeAll(FileSystem.layerNoop({}), Path.layer)

/**
 * Fails with `Terminal.QuitError` when the input has ended.
 *
 * The prompts that come with `effect/cli` count UTF-16 units where a terminal counts columns, write past whoever else prints, and
 * know no key between submitting and quitting. So this uses their loop (`Prompt.Custom`) with frames that go to the `Screen`.
 */
export const livePrompt = <State, A>(
  screen: Screen["Service"],
  options: LivePromptOptions<State, A>
): Effect.Effect<A, Terminal.QuitError> => {
  const Action = Data.taggedEnum<Prompt.ActionDefinition>()
  const prompt = Prompt.Custom<State, A>(options.initial, {
    render: (_, action) =>
      Effect.gen(function*() {
        if (action._tag === "NextFrame") {
          const frame = options.frame(action.state, yield* screen.size)
          yield* options.part.set(Effect.isEffect(frame) ? yield* frame : frame)
        } else {
          yield* options.part.set(undefined)
        }
        return ""
      }),
    process: (input, state) =>
      Effect.gen(function*() {
        const step = yield* options.step(state, input, yield* screen.size)
        return step._tag === "Next" ? Action.NextFrame({ state: step.state }) : Action.Submit({ value: step.value })
      }),
    clear: () => Effect.succeed("")
  })
  const terminal = Terminal.make({
    columns: Effect.map(screen.size, (size) => size.columns),
    rows: Effect.map(screen.size, (size) => size.rows),
    size: Effect.never,
    readInput: Effect.succeed(options.keys),
    readLine: Effect.never,
    // Frames go to the screen; the loop's own last word (show the cursor) is the screen's business too.
    display: () => Effect.void
  })
  return Prompt.run(prompt).pipe(
    Effect.provideService(Terminal.Terminal, terminal),
    Effect.provide(files)
  )
}
