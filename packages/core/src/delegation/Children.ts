/** What a session knows of the children that it spawned: a fold of its own journal. */
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import type { EventData, SessionId } from "../journal/SessionEvent.ts"

export interface Child {
  readonly spawned: EventData<"child/spawned">
  /** How it ended the last time; `undefined` while it works, or if nobody heard of its end. */
  readonly ended: EventData<"child/ended"> | undefined
}

/** The children by session id, in the order in which they were spawned. */
export const Children = Projection.make<ReadonlyMap<SessionId, Child>>({
  name: "children",
  initial: new Map(),
  on: {
    "child/spawned": (children, spawned) => new Map([...children, [spawned.child, { spawned, ended: undefined }]]),
    "child/ended": (children, ended) => {
      const child = children.get(ended.child)
      return child === undefined ? children : new Map([...children, [ended.child, { ...child, ended }]])
    }
  }
})

/** The child that a call has spawned, if it has one: a restarted call goes on with it. */
export const childOf = (view: SessionView, call: string): Child | undefined =>
  [...view.get(Children).values()].find((child) => child.spawned.call === call)

/** The fact with which a tool records the paths that it changed: an array of texts. */
export const CHANGED_FACT = "changed"

interface Work {
  readonly changed: ReadonlySet<string>
  readonly ranCommands: boolean
  readonly gated: number
  /** Calls that changed something and were carried out. */
  readonly mutated: number
  readonly lastText: string
}

const texts = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : []

/** What an agent did to the world, as far as its journal tells. */
export const WorkDone = Projection.make<Work & { readonly started: ReadonlyMap<string, string> }>({
  name: "work",
  initial: { changed: new Set(), ranCommands: false, gated: 0, mutated: 0, lastText: "", started: new Map() },
  on: {
    "message/assistant": (work, { text, calls }) => ({
      ...work,
      lastText: text === "" && calls.length > 0 ? work.lastText : text,
      started: new Map()
    }),
    "tool/started": (work, { call, permission }) => ({
      ...work,
      started: new Map([...work.started, [call, permission.by]])
    }),
    "tool/result": (work, { call, code, facts, outcome }) => {
      if (code === "plan_gate") return { ...work, gated: work.gated + 1 }
      const paths = texts(facts?.[CHANGED_FACT])
      const asked = work.started.get(call)
      const acted = outcome !== "refused" && asked !== undefined && asked !== "none"
      if (paths.length === 0 && !acted) return work
      return {
        ...work,
        changed: paths.length === 0 ? work.changed : new Set([...work.changed, ...paths]),
        ranCommands: work.ranCommands || (acted && paths.length === 0),
        mutated: work.mutated + 1
      }
    }
  }
})
