/** The suite finds what is wrong: each broken provider fails the property that is about its fault. */
import { choose, Interaction, type Question } from "@holdfast/core"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Semaphore } from "effect"
import { interactionProperties, Person, type PersonDriver, ProgrammaticPerson } from "../../src/index.ts"

type Break = (interaction: Interaction["Service"], person: PersonDriver) => {
  readonly interaction?: Partial<Interaction["Service"]>
  readonly person?: Partial<PersonDriver>
}

/** A good provider with something broken in it. */
const broken = (change: Break, capacity = 1): Layer.Layer<Interaction | Person> =>
  Layer.unwrap(Effect.gen(function*() {
    const [interaction, person] = [yield* Interaction, yield* Person]
    const changed = change(interaction, person)
    return Layer.mergeAll(
      Layer.succeed(Interaction, { ...interaction, ...changed.interaction }),
      Layer.succeed(Person, { ...person, ...changed.person })
    )
  })).pipe(Layer.provide(ProgrammaticPerson.layer({ capacity })))

const withoutPreview = (question: Question): Question => {
  const { preview, ...rest } = question
  return preview === undefined ? question : rest
}

const detail = (change: (text: string) => string): Break => ({ ask }) => ({
  interaction: {
    ask: (question: Question) => ask({ ...withoutPreview(question), detail: change(question.detail) })
  }
})

const cases: ReadonlyArray<readonly [fault: string, property: string, layer: Layer.Layer<Interaction | Person>]> = [
  ["cuts long plans", "a plan of 100 KB", broken(detail((text) => text.slice(0, 50_000)))],
  ["normalises line ends", "byte for byte", broken(detail((text) => text.replaceAll("\r\n", "\n")))],
  ["composes characters", "a plan in many scripts", broken(detail((text) => text.normalize("NFC")))],
  [
    "hides who asks",
    "who asks, the title",
    broken(({ ask }) => ({ interaction: { ask: (q) => ask({ ...q, asker: { ...q.asker, path: [] } }) } }))
  ],
  [
    "shows no preview",
    "an edit is shown",
    broken(({ ask }) => ({ interaction: { ask: (q) => ask(withoutPreview(q)) } }))
  ],
  [
    "takes silence for consent",
    "a slow person",
    broken(({ ask }) => ({
      interaction: {
        ask: (q) =>
          Effect.timeoutOrElse(ask(q), { duration: "500 millis", orElse: () => Effect.succeed(choose("approve")) })
      }
    }))
  ],
  [
    "loses the text beside an option",
    "an option and a text",
    broken(({ ask }) => ({
      interaction: {
        ask: (q) =>
          Effect.map(
            ask(q),
            (answer) =>
              answer._tag === "Answered" && answer.selected.length > 0
                ? { _tag: "Answered", selected: answer.selected }
                : answer
          )
      }
    }))
  ],
  [
    "goes on showing what was withdrawn",
    "interrupting the ask",
    broken(({ ask }, person) => {
      const stale: Array<string> = []
      return {
        interaction: { ask: (q) => Effect.onInterrupt(ask(q), () => Effect.sync(() => void stale.push(q.id))) },
        person: { showing: Effect.map(person.showing, (ids) => [...ids, ...stale]) }
      }
    })
  ],
  [
    "gives a late answer to whoever asks next",
    "a late answer",
    broken((_, person) => ({
      person: {
        answer: (id, answer) =>
          Effect.catch(
            person.answer(id, answer),
            () =>
              Effect.flatMap(person.showing, ([next]) => next === undefined ? Effect.void : person.answer(next, answer))
          )
      }
    }))
  ],
  [
    "claims room that it does not have",
    "as many questions",
    Layer.unwrap(Effect.gen(function*() {
      const [interaction, person] = [yield* Interaction, yield* Person]
      const room = yield* Semaphore.make(1)
      const ask = (q: Question) => room.withPermit(interaction.ask(q))
      return Layer.mergeAll(Layer.succeed(Interaction, { ...interaction, ask }), Layer.succeed(Person, person))
    })).pipe(Layer.provide(ProgrammaticPerson.layer({ capacity: 3 })))
  ],
  [
    "mixes answers up",
    "as many questions",
    broken((_, person) => ({
      person: {
        answer: (_id, answer) => Effect.flatMap(person.showing, ([first]) => person.answer(first ?? "", answer))
      }
    }), 3)
  ],
  [
    "dies when the person leaves",
    "cannot be reached",
    broken(({ ask }) => ({ interaction: { ask: (q) => Effect.orDie(ask(q)) } }))
  ],
  [
    "hangs when the person leaves",
    "cannot be reached",
    broken(({ ask }) => ({ interaction: { ask: (q) => Effect.catch(ask(q), () => Effect.never) } }))
  ],
  [
    "consents when it is closed",
    "closing the provider",
    broken(({ ask }) => ({
      interaction: { ask: (q) => Effect.catch(ask(q), () => Effect.succeed(choose("approve"))) }
    }))
  ],
  [
    "cannot take a question without detail",
    "however odd",
    broken(({ ask }) => ({
      interaction: { ask: (q) => q.detail === "" ? Effect.die(new Error("no detail")) : ask(q) }
    }))
  ]
]

for (const [fault, name, layer] of cases) {
  it.live(`a provider that ${fault} fails "${name}"`, () =>
    Effect.gen(function*() {
      const found = interactionProperties({ layer, patience: "1 second" }).filter((property) =>
        property.name.includes(name)
      )
      assert.strictEqual(found.length, 1, "the name of one property")
      const running = yield* Effect.forkChild(Effect.exit(found[0]!.run))
      const exit = yield* Effect.timeoutOption(Fiber.join(running), "20 seconds")
      assert.isTrue(
        exit._tag === "Some" && exit.value._tag === "Failure",
        `the suite passes it, or hangs: ${exit._tag}`
      )
    }), 60_000)
}
