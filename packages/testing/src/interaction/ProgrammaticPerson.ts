/**
 * A provider whose person is a program: for tests of one's own that play the person step by step.
 *
 * @example
 * const program = Effect.gen(function*() {
 *   const person = yield* Person
 *   const turn = yield* Effect.forkChild(agent.prompt("Fix it"))
 *   const id = yield* ProgrammaticPerson.next
 *   yield* person.answer(id, choose("approve"))
 * }).pipe(Effect.provide(ProgrammaticPerson.layer()))
 */
import { type Answer, Fence, Interaction, InteractionUnavailable, type Question } from "@holdfast/core"
import { Context, Deferred, Effect, Layer, Schema } from "effect"
import { Person } from "./Person.ts"

/** There is no such open question: it was answered, withdrawn or never asked. */
export class NotOpen extends Schema.TaggedError<NotOpen>()("NotOpen", { id: Schema.String }) {
  override get message() {
    return `The question ${this.id} is not open`
  }
}

export interface ProgrammaticPersonOptions {
  /** How many questions are shown at once; 1 by default. */
  readonly capacity?: number
}

interface Open {
  readonly question: Question
  readonly answer: Deferred.Deferred<Answer, InteractionUnavailable>
}

const textOf = (question: Question): string => {
  const { asker, detail, options, preview, title } = question
  const shown = preview === undefined
    ? []
    : preview.kind === "diff"
    ? [preview.path, preview.diff]
    : preview.kind === "command"
    ? [preview.command, preview.cwd]
    : [preview.text]
  const labels = options.flatMap(({ description, label }) => description === undefined ? [label] : [label, description])
  return [asker.path.join(" › "), title, detail, ...shown, ...labels].join("\n")
}

/** Layers and helpers; see the top of the module. */
export const ProgrammaticPerson: {
  readonly layer: (options?: ProgrammaticPersonOptions) => Layer.Layer<Interaction | Person>
  /** Waits for a question, and returns the id of the one that has been open longest. */
  readonly next: Effect.Effect<string, unknown, Person>
} = {
  layer: ({ capacity = 1 } = {}) =>
    Layer.effectContext(Effect.gen(function*() {
      const open = new Map<string, Open>()
      let here = true
      const away = new InteractionUnavailable({ detail: "the person has left" })
      const fence = yield* Fence.make("ProgrammaticPerson")
      const find = (id: string) =>
        Effect.suspend(() => {
          const found = open.get(id)
          return found === undefined ? Effect.fail(new NotOpen({ id })) : Effect.succeed(found)
        })
      const interaction = Interaction.of({
        name: "programmatic",
        capacity,
        ask: (question) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              const entry: Open = { question, answer: Deferred.makeUnsafe() }
              if (here) open.set(question.id, entry)
              return entry
            }),
            ({ answer }) => Effect.suspend(() => here ? Deferred.await(answer) : Effect.fail(away)),
            () => Effect.sync(() => void open.delete(question.id))
          ).pipe(
            fence.guard,
            Effect.catchTag("Disposed", (closed) => Effect.fail(new InteractionUnavailable({ detail: closed.message })))
          )
      })
      const person = Person.of({
        showing: Effect.sync(() => [...open.keys()]),
        read: (id) => Effect.map(find(id), ({ question }) => textOf(question)),
        // An answered question is closed at once: a second answer finds nothing.
        answer: (id, answer) =>
          Effect.flatMap(find(id), (entry) => {
            open.delete(id)
            return Effect.asVoid(Deferred.succeed(entry.answer, answer))
          }),
        leave: Effect.suspend(() => {
          here = false
          return Effect.forEach([...open.values()], ({ answer }) => Deferred.fail(answer, away), { discard: true })
        })
      })
      return Context.make(Interaction, interaction).pipe(Context.add(Person, person))
    })),
  next: Effect.gen(function*() {
    const person = yield* Person
    while (true) {
      const [first] = yield* person.showing
      if (first !== undefined) return first
      yield* Effect.yieldNow
    }
  })
}
