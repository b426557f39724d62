/** A person and a language model on strings: they show what they were asked, and answer when they are told to. */
import {
  type Answer,
  choose,
  dismiss,
  Interaction,
  InteractionFailed,
  InteractionUnavailable,
  type ModelPart,
  type ModelRequest,
  ModelTransport,
  type Question,
  say,
  TransportError
} from "@holdfast/core"
import { Deferred, Effect, Layer, Stream } from "effect"
import type { AnswerKind } from "../model/Answers.ts"
import { everybody, type Who } from "../model/Draft.ts"
import type { Call } from "../model/Vocabulary.ts"

type Answering = Deferred.Deferred<Answer, InteractionFailed | InteractionUnavailable>

export interface Shown {
  readonly question: Question
  readonly answered: Answering
}

/** What was seen of one question: when it was shown, and what came back for it. */
export interface QuestionSeen {
  readonly question: Question
  answer: unknown
}

export interface Person {
  readonly layer: Layer.Layer<Interaction>
  readonly shown: () => ReadonlyArray<Shown>
  /** Questions that were taken away before they were answered. */
  readonly withdrawn: ReadonlyArray<Shown>
  readonly seen: ReadonlyArray<QuestionSeen>
  /** The most questions that were ever shown at once. */
  readonly most: () => number
  readonly give: (to: Shown, answer: AnswerKind) => void
}

/** `stubborn`: takes no notice of being interrupted, and comes back with an answer when it has one. */
export const makePerson = (stubborn: boolean): Person => {
  const shown = new Map<string, Shown>()
  const withdrawn: Array<Shown> = []
  const seen: Array<QuestionSeen> = []
  let most = 0
  const wait = (answered: Answering) => {
    const answer = Deferred.await(answered)
    return stubborn ? Effect.uninterruptible(answer) : answer
  }
  return {
    shown: () => [...shown.values()],
    withdrawn,
    seen,
    most: () => most,
    give: ({ answered, question }, kind) => {
      shown.delete(question.id)
      const answer = answerFor(question, kind)
      // What comes for a question that was taken away is no answer to anything.
      const record = withdrawn.some((item) => item.question.id === question.id)
        ? undefined
        : seen.findLast((item) => item.question.id === question.id)
      if (record !== undefined && record.answer === undefined) record.answer = answer
      Deferred.doneUnsafe(
        answered,
        kind === "defect"
          ? Effect.die("the screen is broken")
          : answer instanceof InteractionFailed || answer instanceof InteractionUnavailable
          ? Effect.fail(answer)
          : Effect.succeed(answer as Answer)
      )
    },
    layer: Layer.succeed(Interaction, {
      name: "puppet",
      capacity: 1,
      ask: (question) =>
        Effect.acquireUseRelease(
          Effect.sync((): Shown => {
            const item = {
              question,
              answered: Deferred.makeUnsafe<Answer, InteractionFailed | InteractionUnavailable>()
            }
            shown.set(question.id, item)
            seen.push({ question, answer: undefined })
            most = Math.max(most, shown.size)
            return item
          }),
          (item) => wait(item.answered),
          (item) =>
            Effect.sync(() => {
              if (shown.delete(question.id)) withdrawn.push(item)
            })
        )
    })
  }
}

const answerFor = ({ id, options }: Question, kind: AnswerKind): unknown => {
  const ids = options.map((option) => option.id)
  const first = ids[0] ?? "none"
  const last = ids.at(-1) ?? "none"
  switch (kind) {
    case "yes":
      return choose(first)
    case "last":
      return choose(last)
    case "session":
      return choose("session")
    case "yes and a text":
      return { ...choose(first), text: "but not the tests" }
    case "yes and an empty text":
      return { ...choose(first), text: "" }
    case "everything":
      return { _tag: "Answered", selected: ids }
    case "something unknown":
      return choose("unknown")
    case "yes twice":
      return { _tag: "Answered", selected: [first, first] }
    case "a text":
      return say("smaller, please")
    case "last and a text":
      return { ...choose(last), text: "smaller, please" }
    case "nothing":
      return { _tag: "Answered", selected: [] }
    case "dismiss":
      return dismiss
    case "nonsense":
      return "yes"
    case "failure":
    case "defect":
      return new InteractionFailed({ provider: "puppet", detail: `lost ${id}` })
    case "nobody":
      return new InteractionUnavailable({ detail: "nobody is there" })
  }
}

export type Reply = { readonly calls: ReadonlyArray<Call> } | { readonly retryable: boolean }

export interface Thinking {
  readonly who: Who
  readonly request: ModelRequest
  readonly reply: Deferred.Deferred<Reply>
}

export interface LanguageModel {
  readonly layer: Layer.Layer<ModelTransport>
  /** Requests that wait for a reply. */
  readonly thinking: () => ReadonlyArray<Thinking>
  readonly reply: (to: Thinking, reply: Reply) => void
}

/** Every agent's first message begins with its name; a request has no other sender. */
export const speaker = (request: ModelRequest): Who => {
  const text = request.messages.find((message) => message.role === "user")?.text ?? ""
  return everybody.find((who) => text.startsWith(`${who}:`)) ?? "root"
}

export const makeLanguageModel = (sent: (thinking: Thinking) => void): LanguageModel => {
  const waiting = new Set<Thinking>()
  return {
    thinking: () => [...waiting],
    reply: (to, reply) => {
      waiting.delete(to)
      Deferred.doneUnsafe(to.reply, Effect.succeed(reply))
    },
    layer: Layer.succeed(ModelTransport, {
      name: "puppet",
      encoding: "puppet/1",
      settings: { model: "puppet" },
      encode: (request) => new TextEncoder().encode(JSON.stringify(request)),
      stream: (request) =>
        Stream.suspend(() => {
          const item: Thinking = { who: speaker(request), request, reply: Deferred.makeUnsafe<Reply>() }
          waiting.add(item)
          sent(item)
          const rest = Effect.onExit(Deferred.await(item.reply), () => Effect.sync(() => void waiting.delete(item)))
          return Stream.concat(
            Stream.succeed<ModelPart>({ _tag: "Text", text: "so " }),
            Stream.unwrap(Effect.map(rest, partsOf))
          )
        })
    })
  }
}

const partsOf = (reply: Reply): Stream.Stream<ModelPart, TransportError> => {
  if ("retryable" in reply) {
    return Stream.fail(
      new TransportError({
        reason: "InternalProviderError",
        code: "500",
        detail: "server error",
        retryable: reply.retryable
      })
    )
  }
  const calls = reply.calls.map(({ args, name }, i): ModelPart => ({
    _tag: "ToolCall",
    id: `provider-${i}`,
    name,
    arguments: args
  }))
  return Stream.fromIterable<ModelPart>([
    ...calls,
    { _tag: "Usage", usage: { prompt: 10, hit: 0, miss: 10, completion: 1, reasoning: 0 } },
    { _tag: "Finish", reason: calls.length > 0 ? "tool-calls" : "stop" }
  ])
}
