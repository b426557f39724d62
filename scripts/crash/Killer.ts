/**
 * A journal that kills its process with SIGKILL at a chosen append.
 *
 * SIGKILL shows that what was acknowledged is there in the right order and that the rest is repaired. It does not show that the disk
 * kept it: the operating system outlives the process. Durability against power loss rests on the journal's `fsync`.
 */
import { Journal } from "@holdfast/core"
import { Effect, Layer } from "effect"

/** `before`: the batch never reaches the disk. `after`: it does, and nobody hears of it. */
export interface KillPoint {
  readonly append: number
  readonly when: "before" | "after"
}

const die = Effect.callback<never>(() => {
  process.kill(process.pid, "SIGKILL")
})

/** Wraps a journal; appends count from 0, over all sessions. */
export const killer = <E, R>(
  journal: Layer.Layer<Journal, E, R>,
  point: KillPoint | undefined
): Layer.Layer<Journal, E, R> =>
  point === undefined ? journal : Layer.effect(
    Journal,
    Effect.map(Journal, (inner) => {
      let count = -1
      return Journal.of({
        ...inner,
        writer: (session) =>
          Effect.map(inner.writer(session), (writer) => ({
            append: (events) =>
              Effect.suspend(() => {
                if (++count !== point.append) return writer.append(events)
                return point.when === "before" ? die : Effect.andThen(writer.append(events), die)
              })
          }))
      })
    })
  ).pipe(Layer.provide(journal))
