/** `ask_user`: the model asks the person something. It changes nothing, and no answer to it is an approval. */
import { type Duration, Effect, Layer, Schema } from "effect"
import { Tool } from "effect/ai"
import { Fence } from "../Fence.ts"
import { ask, questionId } from "../human/Ask.ts"
import { Attention, type Verdict } from "../human/Attention.ts"
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import { type EventData, SessionEvent } from "../journal/SessionEvent.ts"
import { type InvalidTool, type SignalCall, signalTool, ToolCatalog, type ToolNameTaken } from "./ToolCatalog.ts"
import { failedOutcome, refused, type ToolOutcome } from "./ToolOutcome.ts"
import * as texts from "./texts.ts"

const Parameters = Schema.Struct({
  question: Schema.String.annotate({ description: "One question that only the person can decide." }),
  options: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({ description: "Answers to choose from, if there are clear ones." })
  )
})

const AskUserTool = Tool.make("ask_user", {
  description:
    "Ask the person a question and wait for the answer. Use it when a decision is theirs or when you cannot " +
    "find out otherwise; not for approval of changes, which is asked for by itself.",
  parameters: Parameters,
  success: Schema.String
}).annotate(Tool.Readonly, true)

type Answered = EventData<"question/answered">

/** The fold of answers to the questions of the newest reply, by call: an answer survives a restart before its result. */
const Answers = Projection.make<{
  readonly asked: ReadonlyMap<string, string>
  readonly answers: ReadonlyMap<string, Answered>
}>({
  name: "questions",
  initial: { asked: new Map(), answers: new Map() },
  on: {
    "message/assistant": (state) => state.asked.size === 0 ? state : { asked: new Map(), answers: new Map() },
    "question/asked": (state, { call, request }) => ({ ...state, asked: new Map([...state.asked, [request, call]]) }),
    "question/answered": (state, answered) => {
      const call = state.asked.get(answered.request)
      return call === undefined ? state : { ...state, answers: new Map([...state.answers, [call, answered]]) }
    }
  }
})

const decode = Schema.decodeUnknownOption(Parameters)

const settled = (answer: Pick<Answered, "outcome" | "selected" | "text">): ToolOutcome => {
  if (answer.outcome === "answered") {
    const said = [...(answer.selected ?? []), ...(answer.text === undefined ? [] : [answer.text])].join("\n")
    return { outcome: "ok", content: said === "" ? texts.askUser.emptyAnswer : said }
  }
  const by = answer.outcome === "dismissed" ? "person" : answer.outcome === "expired" ? "timeout" : "session"
  return refused(`question_${answer.outcome}`, by, texts.askUser.noAnswer[answer.outcome])
}

const outcomeOf = (verdict: Verdict, options: ReadonlyArray<string>): Omit<Answered, "request" | "by"> => {
  switch (verdict._tag) {
    case "Answered":
      return {
        outcome: "answered",
        selected: verdict.selected.map((id) => options[Number(id)] ?? id),
        ...(verdict.text === undefined ? {} : { text: verdict.text })
      }
    case "Invalid":
      return { outcome: "invalid", text: verdict.detail }
    case "Unavailable":
      return { outcome: "unavailable", text: verdict.detail }
    case "Failed":
      return { outcome: "failed", text: verdict.detail }
    case "Dismissed":
      return { outcome: "dismissed" }
    case "Expired":
      return { outcome: "expired" }
    case "Withdrawn":
      return { outcome: "withdrawn" }
  }
}

/** Adds `ask_user` to the tools. `deadline`: how long the person has once the question is shown; default: no limit. */
const layer = (
  options: { readonly deadline?: Duration.Input } = {}
): Layer.Layer<never, ToolNameTaken | InvalidTool, ToolCatalog | Attention> =>
  Layer.effectDiscard(Effect.gen(function*() {
    const catalog = yield* ToolCatalog
    const attention = yield* Attention
    const fence = yield* Fence.make("AskUser")
    yield* catalog.register(signalTool(AskUserTool, (args, call) =>
      Effect.suspend(() => {
        const params = decode(args)
        if (params._tag === "None") {
          return Effect.succeed(failedOutcome("invalid_arguments", texts.askUser.invalid))
        }
        const earlier = call.session.view().get(Answers).answers.get(call.id)
        if (earlier !== undefined && earlier.outcome !== "withdrawn") return Effect.succeed(settled(earlier))
        return askPerson(attention, fence, call, params.value, options.deadline)
      }).pipe(
        fence.guard,
        Effect.catchTag("Disposed", () =>
          Effect.sync(() => earlierAnswer(call.session.view(), call.id) ?? settled({ outcome: "withdrawn" })))
      ), earlierAnswer))
  }))

const earlierAnswer = (view: SessionView, call: string): ToolOutcome | undefined => {
  const answer = view.get(Answers).answers.get(call)
  return answer === undefined ? undefined : settled(answer)
}

const askPerson = (
  attention: Attention["Service"],
  fence: Fence,
  call: SignalCall,
  { options = [], question }: typeof Parameters.Type,
  deadline: Duration.Input | undefined
) =>
  ask<ToolOutcome>({
    session: call.session,
    attention,
    prefix: "question",
    deadline,
    asked: (request, view) => [
      ...call.pending(view),
      SessionEvent.event("question/asked", { request, call: call.id, title: question })
    ],
    question: (request) => ({
      id: questionId(call.session, request),
      asker: call.asker,
      intent: { name: "question" },
      title: question,
      detail: question,
      options: options.map((label, i) => ({ id: String(i), label })),
      allowText: true
    }),
    settle: (request, verdict) => {
      const answer = fence.isOpen() ? outcomeOf(verdict, options) : { outcome: "withdrawn" as const }
      const by = answer.outcome === "answered" || answer.outcome === "dismissed" ? "user" : "session"
      return {
        events: [SessionEvent.event("question/answered", { request, by, ...answer })],
        value: settled(answer)
      }
    }
  })

export const AskUser = { layer }
