/**
 * The one reader of the keyboard. A terminal hands each key to everybody who reads, so a prompt and the keys of the session
 * would both act on it. Here the newest *focus* gets the keys; those that no focus takes go to the newest *listener*.
 * The terminal is in raw mode exactly as long as there is a focus or a listener.
 */
import { Context, Deferred, Effect, Fiber, Layer, Option, Queue, Scope, Semaphore, Terminal } from "effect"
import type { Cause } from "effect"
import { TerminalCapabilities } from "effect/cli"

/** Keys, until the input ends or the scope closes. Signals are offered to it too, so that they keep their place among the keys. */
export type Keys = Queue.Queue<Terminal.UserInput, Cause.Done>

/** A key that nobody pressed: tells a focus something in the order of the real keys. */
export const signal = (name: string): Terminal.UserInput => ({
  input: Option.none(),
  key: { name, ctrl: false, meta: false, shift: false }
})

/** The name of the signal to paint again: the size of the screen, or something that a prompt shows, has changed. */
export const repaint = "holdfast:repaint"

/** Whether this is Ctrl and the letter. */
export const isCtrl = (input: Terminal.UserInput, letter: string): boolean =>
  input.key.ctrl && input.key.name === letter

// `NodeTerminal.layer` ends its queue after these. They are not the end of the input, so reading goes on.
const endsQueue = (input: Terminal.UserInput | undefined): boolean =>
  input !== undefined && (input.key.name === "escape" || isCtrl(input, "c") || isCtrl(input, "d"))

export class Keyboard extends Context.Service<Keyboard, {
  /** Whether keys can be read at all: both ends of the program are terminals. */
  readonly available: boolean
  /** Takes the keys until the scope closes. The queue ends when the input has ended. */
  readonly focus: Effect.Effect<Keys, never, Scope.Scope>
  /** Gets the keys that no focus takes, and those that a focus passes on. */
  readonly listen: Effect.Effect<Keys, never, Scope.Scope>
  /** Passes a key to the newest listener; says whether there was one. */
  readonly pass: (input: Terminal.UserInput) => Effect.Effect<boolean>
  /** Asks whoever has the focus to paint again. */
  readonly refresh: Effect.Effect<void>
}>()("@holdfast/terminal/Keyboard") {
  static readonly layer: Layer.Layer<Keyboard, never, Terminal.Terminal> = Layer.effect(
    Keyboard,
    Effect.gen(function*() {
      const terminal = yield* Terminal.Terminal
      const { canPrompt: available } = yield* TerminalCapabilities.TerminalCapabilities
      const scope = yield* Effect.scope
      const focuses: Array<Keys> = []
      const listeners: Array<Keys> = []
      const lock = yield* Semaphore.make(1)
      let reader: Fiber.Fiber<void> | undefined
      let ended = !available

      const dispatch = (input: Terminal.UserInput) => {
        const target = focuses.at(-1) ?? listeners.at(-1)
        if (target !== undefined) Queue.offerUnsafe(target, input)
      }

      const refresh = Effect.sync(() => {
        for (const queue of focuses) Queue.offerUnsafe(queue, signal(repaint))
      })

      const readOnce = (started: Deferred.Deferred<void>) =>
        Effect.scoped(Effect.gen(function*() {
          const queue = yield* terminal.readInput
          yield* Deferred.succeed(started, undefined)
          let last: Terminal.UserInput | undefined
          return yield* Queue.take(queue).pipe(
            Effect.tap((input) =>
              Effect.sync(() => {
                last = input
                dispatch(input)
              })
            ),
            Effect.forever,
            Effect.catch(() => Effect.sync(() => endsQueue(last)))
          )
        }))

      const read = (started: Deferred.Deferred<void>) =>
        Effect.scoped(Effect.gen(function*() {
          // Bracketed paste: a pasted line feed must not press Enter.
          yield* Effect.acquireRelease(
            Effect.ignore(terminal.display("\u001b[?2004h")),
            () => Effect.ignore(terminal.display("\u001b[?2004l"))
          )
          const sizes = yield* terminal.size
          yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(sizes), refresh)))
          while (yield* readOnce(started)) { /* the queue ended at a key, not the input */ }
          ended = true
          for (const queue of [...focuses, ...listeners]) Queue.endUnsafe(queue)
        }))

      // Starting and stopping the reader follow each other; whoever takes the lock last finds the right state.
      const settle = lock.withPermit(Effect.gen(function*() {
        const wanted = focuses.length + listeners.length > 0
        if (wanted && reader === undefined && !ended) {
          const started = yield* Deferred.make<void>()
          const starting = yield* Effect.forkIn(
            Effect.ensuring(read(started), Deferred.succeed(started, undefined)),
            scope,
            { startImmediately: true }
          )
          reader = starting
          // Until the terminal is raw it echoes keys into whatever is painted.
          yield* Deferred.await(started)
        } else if (!wanted && reader !== undefined) {
          const stopping = reader
          reader = undefined
          yield* Fiber.interrupt(stopping)
        }
      })).pipe(Effect.uninterruptible)

      const join = (stack: Array<Keys>): Effect.Effect<Keys, never, Scope.Scope> =>
        Effect.acquireRelease(
          Effect.gen(function*() {
            const queue = yield* Queue.make<Terminal.UserInput, Cause.Done>()
            if (ended) Queue.endUnsafe(queue)
            stack.push(queue)
            yield* settle
            return queue
          }),
          (queue) =>
            Effect.suspend(() => {
              const at = stack.indexOf(queue)
              if (at >= 0) stack.splice(at, 1)
              Queue.endUnsafe(queue)
              return settle
            })
        )

      yield* Scope.addFinalizer(
        scope,
        Effect.sync(() => {
          for (const queue of [...focuses, ...listeners]) Queue.endUnsafe(queue)
          ended = true
        })
      )

      return Keyboard.of({
        available,
        focus: join(focuses),
        listen: join(listeners),
        refresh,
        pass: (input) =>
          Effect.sync(() => {
            const target = listeners.at(-1)
            return target !== undefined && Queue.offerUnsafe(target, input)
          })
      })
    })
  )
}
