/** Shows progress on the screen: finished lines as they come, and below them a status that is painted again at a fixed pace. */
import { Clock, Effect, type Scope, Semaphore, Stream } from "effect"
import { initialProgress, type ProgressEvent, render, status } from "./Progress.ts"
import { type Frame, Screen } from "./Screen.ts"

export interface ProgressViewOptions {
  /** How often the status is painted again at most, in milliseconds; 100 by default. */
  readonly everyMillis?: number
}

/** Takes events in the order in which they are given. */
export interface ProgressView {
  readonly show: (event: ProgressEvent) => Effect.Effect<void>
}

const make = Effect.fnUntraced(function*(options: ProgressViewOptions = {}): Effect.fn.Return<
  ProgressView,
  never,
  Screen | Scope.Scope
> {
  const screen = yield* Screen
  const inOrder = yield* Semaphore.make(1)
  if (!screen.interactive) {
    let state = initialProgress
    return {
      show: (event) =>
        inOrder.withPermit(Effect.suspend(() => {
          const [next, text] = render(state, event)
          state = next
          return text === "" ? Effect.void : screen.print(text)
        }))
    }
  }
  const part = yield* screen.live("progress")
  const { style } = screen
  let state = initialProgress
  let activity = ""
  let since = 0
  let painted = false

  const frame = Effect.gen(function*(): Effect.fn.Return<Frame | undefined> {
    const now = yield* Clock.currentTimeMillis
    const { columns, rows } = yield* screen.size
    const doing = `${state.waiting ?? ""}|${state.tools.at(-1) ?? ""}|${state.open?.kind ?? ""}`
    if (doing !== activity) {
      activity = doing
      since = now
    }
    const lines = status(state, { elapsedMillis: now - since, frame: Math.floor(now / 100), columns, rows, style })
    return lines.length === 0 ? undefined : { rows: lines }
  })

  const tick = Effect.gen(function*() {
    if (!state.active && !painted) return
    painted = state.active
    yield* part.set(yield* frame)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.delay(tick, options.everyMillis ?? 100)))

  return {
    show: (event) =>
      inOrder.withPermit(Effect.gen(function*() {
        const { columns } = yield* screen.size
        const [next, text] = render(state, event, { style, columns })
        state = next
        if (text !== "") yield* part.print(text, yield* frame)
      }))
  }
})

export const ProgressView: {
  /**
   * A view that lives as long as its scope. On a terminal the status is taken away at the end; elsewhere only plain lines are
   * printed, the same for the same events.
   *
   * @example
   * const view = yield* ProgressView.make()
   * yield* view.show({ _tag: "ToolStarted", title: "read_file README.md" })
   */
  readonly make: (options?: ProgressViewOptions) => Effect.Effect<ProgressView, never, Screen | Scope.Scope>
  /** Shows a stream to its end. */
  readonly run: <E, R>(
    events: Stream.Stream<ProgressEvent, E, R>,
    options?: ProgressViewOptions
  ) => Effect.Effect<void, E, R | Screen>
} = {
  make,
  run: (events, options) =>
    Effect.scoped(Effect.flatMap(make(options), (view) => Stream.runForEach(events, (event) => view.show(event))))
}
