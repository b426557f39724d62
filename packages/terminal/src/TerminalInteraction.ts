/** Asks a person in the terminal: core's `Interaction`, one question at a time. */
import { type Answer, Interaction, InteractionUnavailable, type Question } from "@holdfast/core"
import { Effect, FiberHandle, Layer, Queue } from "effect"
import { isCtrl, Keyboard, signal } from "./Keyboard.ts"
import { livePrompt } from "./LivePrompt.ts"
import { close, initialPrompt, promptFrame, promptModel, ready, stepPrompt } from "./QuestionPrompt.ts"
import { questionBlock } from "./QuestionView.ts"
import { safe, safeLine } from "./Sanitize.ts"
import { Screen } from "./Screen.ts"
import { Texts } from "./Texts.ts"
import { wrap } from "./Width.ts"

export interface TerminalInteractionOptions {
  /**
   * Keys are ignored after a question has appeared until nobody has typed for this long (milliseconds, 300 by default): what a
   * person was typing at that moment was not meant as an answer. The line that explains the keys appears when they count.
   */
  readonly graceMillis?: number
}

const name = "terminal"

/** How long an interruption may take to withdraw the question, in milliseconds. */
const closeAfter = 400

const make = (options: TerminalInteractionOptions) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const keyboard = yield* Keyboard
    const grace = options.graceMillis ?? 300

    const show = (question: Question) =>
      Effect.gen(function*() {
        const size = yield* screen.size
        const block = questionBlock(question, screen.style, size.columns - 1)
        // The whole text is printed, however long it is: it stays in the terminal's memory after the answer.
        yield* screen.print([...block.head, ...block.body, ...block.notes].join("\n"))
        const long = block.head.length + block.body.length + question.options.length + 3 > size.rows
        if (long) {
          const screens = Math.ceil(block.body.length / Math.max(1, size.rows - 3))
          const notes = wrap(Texts.longer(block.body.length, screens), size.columns - 1)
          yield* screen.print(notes.map(screen.style.yellow).join("\n"))
        }
        return promptModel(question, block.body, long)
      })

    const answer = (question: Question) =>
      Effect.scoped(Effect.gen(function*() {
        const keys = yield* keyboard.focus
        const part = yield* screen.live("question")
        const model = yield* show(question)
        const timer = yield* FiberHandle.make<void>()
        const later = (name: string, millis: number) =>
          FiberHandle.run(timer, Effect.delay(Effect.sync(() => void Queue.offerUnsafe(keys, signal(name))), millis))
        if (grace > 0) yield* later(ready, grace)
        const done = yield* livePrompt(screen, {
          initial: { ...initialPrompt(model), ready: grace <= 0 },
          keys,
          part,
          frame: (state, size) => promptFrame(model, state, screen.style, size),
          step: (state, input, size) =>
            Effect.gen(function*() {
              // Ctrl-C is also the session's: it interrupts the turn, and that withdraws the question. The question is closed only if
              // nothing came of it, for else the turn could go on with the refusal before the interruption reaches it.
              if (isCtrl(input, "c") && (yield* keyboard.pass(input))) {
                yield* later(close, closeAfter)
                return { _tag: "Next", state }
              }
              // Somebody is still typing: the time starts again.
              if (!state.ready && !input.key.name.startsWith("holdfast:")) yield* later(ready, grace)
              const step = stepPrompt(model, state, input, size)
              return step._tag === "Next" ? step : { _tag: "Done", value: step } as const
            })
        })
        const { columns } = yield* screen.size
        yield* screen.print(record(done.label, done.answer, columns))
        return done.answer
      }))

    const record = (label: string, given: Answer, columns: number): string => {
      const [mark, paint] = given._tag === "Dismissed"
        ? ["✗", screen.style.dim] as const
        : ["✔", screen.style.green] as const
      return wrap(safe(label), columns - 3).map((row, at) => paint((at === 0 ? `${mark} ` : "  ") + row)).join("\n")
    }

    const ask = (question: Question): Effect.Effect<Answer, InteractionUnavailable> => {
      if (!screen.interactive || !keyboard.available) {
        return Effect.fail(new InteractionUnavailable({ detail: Texts.noTerminal }))
      }
      return answer(question).pipe(
        Effect.onInterrupt(() => screen.print(screen.style.dim(`✗ ${Texts.withdrawn(safeLine(question.title))}`))),
        Effect.catchTag("QuitError", () => Effect.fail(new InteractionUnavailable({ detail: Texts.inputEnded })))
      )
    }

    return Interaction.of({ name, capacity: 1, ask })
  })

export const TerminalInteraction: {
  /**
   * Core's `Interaction` in a terminal. Fails nobody's composition: without an interactive terminal each `ask` fails at once with
   * `InteractionUnavailable`, and so it does when the input ends while a question is open. Interrupting `ask` takes the question
   * off the screen and prints one line that says so.
   *
   * @example
   * const Person = TerminalInteraction.layer().pipe(
   *   Layer.provide(TerminalUi.layer), Layer.provide(NodeTerminal.layer)
   * )
   */
  readonly layer: (options?: TerminalInteractionOptions) => Layer.Layer<Interaction, never, Screen | Keyboard>
} = { layer: (options = {}) => Layer.effect(Interaction, make(options)) }
