/** The fold that is the history: the messages that the next request will carry. */
import { AppendList } from "../journal/AppendList.ts"
import { Projection } from "../journal/Projection.ts"
import type { Message } from "./Message.ts"

/** The source of the message that stands for a compacted part of the history. */
export const summarySource = { kind: "plugin", plugin: "compaction", form: "summary" } as const

/** The messages, oldest first. A message is the same object in every later state. */
export const History: Projection<AppendList<Message>> = Projection.make({
  name: "history",
  initial: AppendList.empty<Message>(),
  on: {
    "message/user": (list, { text, source }) => list.append({ role: "user", text, source }),
    "message/assistant": (list, { text, reasoning, calls, interrupted }) =>
      interrupted === true && text === "" && reasoning === "" ? list : list.append({
        role: "assistant",
        text,
        reasoning,
        calls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
      }),
    "tool/result": (list, { call, name, content }) => list.append({ role: "tool", call, name, text: content }),
    "session/compacted": (list, { replaced, text }) =>
      AppendList.from<Message>([{ role: "user", text, source: summarySource }, ...list.toArray().slice(replaced)])
  }
})
