/** The keys of a session that no prompt takes: Ctrl-C interrupts and then exits, Shift+Tab toggles plan mode. */
import { Clock, Effect, Queue, type Scope, Semaphore, type Terminal } from "effect"
import { isCtrl, Keyboard } from "./Keyboard.ts"
import { Screen } from "./Screen.ts"
import { Texts } from "./Texts.ts"

/** Until when (milliseconds since the epoch) a Ctrl-C means exit; and whether the exit has begun. */
export interface KeyState {
  readonly exitUntil: number
  readonly exiting: boolean
}

export const initialKeys: KeyState = { exitUntil: 0, exiting: false }

/** What a key asks for. `warn`: nothing runs that could be interrupted, but the next Ctrl-C exits. */
export type KeyAction = "interrupt" | "warn" | "exit" | "toggle-plan"

/** When the key came, whether a turn runs, and how long a second Ctrl-C counts (milliseconds). */
export interface KeyMoment {
  readonly now: number
  readonly running: boolean
  readonly window: number
}

/** The state machine, pure. Any other key in between takes the first Ctrl-C back; once the exit has begun nothing else happens. */
export const stepKeys = (
  state: KeyState,
  input: Terminal.UserInput,
  moment: KeyMoment
): readonly [KeyState, KeyAction | undefined] => {
  if (state.exiting) return [state, undefined]
  if (isCtrl(input, "c")) {
    if (moment.now < state.exitUntil) return [{ exitUntil: 0, exiting: true }, "exit"]
    return [{ exitUntil: moment.now + moment.window, exiting: false }, moment.running ? "interrupt" : "warn"]
  }
  return [initialKeys, input.key.name === "tab" && input.key.shift ? "toggle-plan" : undefined]
}

export interface TerminalKeysOptions {
  /** Interrupts the running turn. */
  readonly onInterrupt: Effect.Effect<void>
  /**
   * Ends the program, for example by completing a `Deferred` that the main fiber waits for, after it has printed how to resume. It
   * runs outside of the scope of the keys, so it may close that scope.
   */
  readonly onExit: Effect.Effect<void>
  /** Turns plan mode on or off. Several presses run one after the other. */
  readonly onTogglePlan?: Effect.Effect<void>
  /** Whether a turn runs; `true` if it is not given. */
  readonly running?: Effect.Effect<boolean>
  /** How long a second Ctrl-C exits, in milliseconds; 2000 by default. */
  readonly exitWindowMillis?: number
}

export const TerminalKeys: {
  /**
   * Listens until the scope closes. While a prompt is shown the keys are the prompt's; it passes on Ctrl-C (which closes a question
   * and interrupts the turn that asked) and, at the input line, Shift+Tab. Without a terminal it does nothing, and Ctrl-C stays the
   * signal that it is.
   *
   * @example
   * yield* TerminalKeys.install({ onInterrupt: interruptTurn, onExit: Deferred.succeed(exit, undefined) })
   */
  readonly install: (options: TerminalKeysOptions) => Effect.Effect<void, never, Scope.Scope | Keyboard | Screen>
} = {
  install: Effect.fnUntraced(function*(options: TerminalKeysOptions) {
    const keyboard = yield* Keyboard
    const screen = yield* Screen
    if (!keyboard.available) return
    const window = options.exitWindowMillis ?? 2000
    const seconds = Math.round(window / 100) / 10
    const scope = yield* Effect.scope
    const toggles = yield* Semaphore.make(1)

    const act = (action: KeyAction): Effect.Effect<void> => {
      switch (action) {
        case "interrupt":
          return Effect.andThen(
            screen.print(screen.style.yellow(Texts.interrupting(seconds))),
            Effect.asVoid(Effect.forkIn(options.onInterrupt, scope, { startImmediately: true }))
          )
        case "warn":
          return screen.print(screen.style.yellow(Texts.exitHint(seconds)))
        case "exit":
          return Effect.andThen(
            screen.print(screen.style.yellow(Texts.exiting)),
            Effect.asVoid(Effect.forkDetach(options.onExit))
          )
        case "toggle-plan":
          return options.onTogglePlan === undefined
            ? Effect.void
            : Effect.asVoid(Effect.forkIn(
              toggles.withPermit(Effect.andThen(options.onTogglePlan, keyboard.refresh)),
              scope,
              { startImmediately: true }
            ))
      }
    }

    // Leaving the loop closes the listener: the terminal is no longer raw then, so if the exit hangs, Ctrl-C is a signal again.
    const loop = Effect.scoped(Effect.gen(function*() {
      const keys = yield* keyboard.listen
      let state = initialKeys
      while (!state.exiting) {
        const input = yield* Queue.take(keys)
        const moment = {
          now: yield* Clock.currentTimeMillis,
          running: yield* options.running ?? Effect.succeed(true),
          window
        }
        const [next, action] = stepKeys(state, input, moment)
        state = next
        if (action !== undefined) yield* act(action)
      }
    }))
    yield* Effect.forkScoped(Effect.ignore(loop), { startImmediately: true })
  })
}
