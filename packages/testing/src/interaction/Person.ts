/**
 * The person before a provider, as the conformance suite drives them.
 *
 * Whoever writes a provider writes one of these beside it: it does with the provider's own medium what a person would do, with
 * keys, clicks, files or messages, and looks at nothing but what a person can see.
 */
import type { Answer } from "@holdfast/core"
import { Context, type Effect } from "effect"

export interface PersonDriver {
  /** The ids of the questions that can be answered now. The suite puts each id into the title, too, for media that show no ids. */
  readonly showing: Effect.Effect<ReadonlyArray<string>, unknown>
  /** All that can be read of an open question: who asks, title, detail, preview and the labels of its options. */
  readonly read: (id: string) => Effect.Effect<string, unknown>
  /**
   * Gives an answer. If the question is not open any more, it does whatever the medium still lets a person do; it may also
   * fail then.
   */
  readonly answer: (id: string, answer: Answer) => Effect.Effect<void, unknown>
  /** The person cannot be reached any more: the line is cut, the window is closed. Absent where that cannot happen. */
  readonly leave?: Effect.Effect<void, unknown>
}

export class Person extends Context.Service<Person, PersonDriver>()("@holdfast/testing/Person") {}
