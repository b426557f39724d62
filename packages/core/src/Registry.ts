/** A list that parts of a program add to for as long as their scopes live. */
import { Effect, type Scope } from "effect"

export interface Registry<A> {
  /** What is registered now, in the registry's order. */
  readonly items: () => ReadonlyArray<A>
  /** Adds an item; it is gone when the scope closes. */
  readonly register: (item: A) => Effect.Effect<void, never, Scope.Scope>
}

/** Makes a registry whose items are sorted by `order`, then by the moment of their registration. */
const make = <A>(order: (a: A, b: A) => number = () => 0): Registry<A> => {
  let items: ReadonlyArray<A> = []
  return {
    items: () => items,
    register: (item) =>
      Effect.acquireRelease(
        Effect.sync(() => void (items = [...items, item].sort(order))),
        () => Effect.sync(() => void (items = items.filter((other) => other !== item)))
      )
  }
}

export const Registry = { make }
