/**
 * What goes to the model: a header that does not move, the history, and a tail for what varies.
 *
 * The header's fixed part is computed once per session and then replayed from the journal; a different one is adopted
 * only as a logged change. What depends on state is put where `stateSections` says, by default into the tail, so that a
 * switch of state changes no byte before it.
 */
import { Context, Layer, type Schema } from "effect"
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"
import {
  type EventData,
  type HeaderSection,
  type NewEvent,
  SessionEvent,
  type ToolDefinition
} from "../journal/SessionEvent.ts"
import { canonicalJson, sha256 } from "./Canonical.ts"
import { History } from "./History.ts"
import type { ModelRequest, RequestHeader } from "./ModelTransport.ts"
import type { PromptSection } from "./PromptSection.ts"

/**
 * Where sections that depend on state go. `tail` (default): after the history, for one request; costs the reply that
 * stood before it one re-read. `header`: at their order among the fixed sections; each change costs the whole history.
 * `history`: appended once as a message when it appears, so nothing is read twice, but later requests still hold it.
 */
export type StateSections = "tail" | "header" | "history"

export class StatePlacement extends Context.Reference<StateSections>("@holdfast/core/StatePlacement", {
  defaultValue: (): StateSections => "tail"
}) {
  static readonly layer = (placement: StateSections): Layer.Layer<never> => Layer.succeed(StatePlacement, placement)
}

type Header = EventData<"request/header">

export interface HeaderState {
  readonly current: Header | undefined
  readonly request: RequestHeader | undefined
  /** A reason to take over the program's own header at the next boundary. */
  readonly adopt: string | undefined
  /** State sections as they were last put into the history, by name. */
  readonly appended: ReadonlyMap<string, string>
}

/** The fold of the header that the next request will name. */
export const HeaderProjection: Projection<HeaderState> = Projection.make<HeaderState>({
  name: "header",
  initial: { current: undefined, request: undefined, adopt: undefined, appended: new Map() },
  on: {
    "request/header": (state, header) => ({
      ...state,
      current: header,
      request: toRequestHeader(header),
      adopt: undefined
    }),
    "request/adopted": (state, { reason }) => ({ ...state, adopt: reason }),
    "message/user": (state, { text, source }) =>
      source.kind === "plugin" && source.plugin === SECTION_PLUGIN
        ? { ...state, appended: new Map([...state.appended, [source.form, text]]) }
        : state,
    // A summary may have taken the place of such messages: `dueAppended` looks which are still there.
    "session/compacted": (state) => state.appended.size === 0 ? state : { ...state, appended: new Map() }
  }
})

const SECTION_PLUGIN = "state-section"

/** What a program would put into a header now: everything that is fixed, before any state. */
export interface HeaderParts {
  readonly encoding: string
  readonly sections: ReadonlyArray<PromptSection>
  readonly tools: ReadonlyArray<ToolDefinition>
  /** Names of tools that the gates take out of the table in this state. */
  readonly hidden: ReadonlyArray<string>
  readonly settings: { readonly [key: string]: Schema.Json }
  readonly placement: StateSections
}

const isFixed = (section: PromptSection): section is PromptSection & { readonly text: string } =>
  typeof section.text === "string"

const byOrder = (a: HeaderSection, b: HeaderSection) => a.order - b.order || (a.name < b.name ? -1 : 1)

/** The sections that the state calls for now. */
const renderState = (view: SessionView, sections: ReadonlyArray<PromptSection>): ReadonlyArray<HeaderSection> =>
  sections.flatMap(({ name, order, text }) => {
    if (typeof text === "string") return []
    const rendered = text(view)
    return rendered === undefined || rendered.trim() === "" ? [] : [{ name, order, text: rendered }]
  }).sort(byOrder)

/** The header event that is due, if the header must change; `undefined` while it stands. */
export const dueHeader = (view: SessionView, parts: HeaderParts): NewEvent | undefined => {
  const { adopt, current } = view.get(HeaderProjection)
  const fixed = current === undefined || adopt !== undefined ? fixedParts(parts) : current
  const stateSections = parts.placement === "header" ? renderState(view, parts.sections) : []
  const hidden = [...parts.hidden].filter((name) => fixed.tools.some((tool) => tool.name === name)).sort()
  // Serialising the tool table for every step would cost more than the rest of the boundary.
  if (current !== undefined && adopt === undefined && sameState(current, stateSections, hidden)) return undefined
  const { encoding, sections, settings, tools } = fixed
  const body = { encoding, sections, stateSections, tools, hidden, settings }
  const hash = sha256(JSON.stringify(body))
  if (hash === current?.hash && adopt === undefined) return undefined
  const reason = current === undefined ? "first request" : adopt ?? "state of the session"
  return SessionEvent.event("request/header", { hash, reason, ...body })
}

const fixedParts = (parts: HeaderParts): Pick<Header, "encoding" | "sections" | "tools" | "settings"> => ({
  encoding: parts.encoding,
  sections: parts.sections.filter(isFixed).map(({ name, order, text }) => ({ name, order, text })).sort(byOrder),
  tools: [...parts.tools].sort((a, b) => a.name < b.name ? -1 : 1),
  settings: canonicalJson(parts.settings as Schema.Json) as Header["settings"]
})

const sameState = (current: Header, sections: ReadonlyArray<HeaderSection>, hidden: ReadonlyArray<string>): boolean =>
  current.hidden.length === hidden.length && current.hidden.every((name, i) => name === hidden[i]) &&
  current.stateSections.length === sections.length &&
  current.stateSections.every((section, i) => section.name === sections[i]!.name && section.text === sections[i]!.text)

/** The header as a transport takes it. */
export const toRequestHeader = (header: Header): RequestHeader => ({
  system: [...header.sections, ...header.stateSections].sort(byOrder).map((section) => section.text).join("\n\n"),
  tools: header.hidden.length === 0
    ? header.tools
    : header.tools.filter((tool) => !header.hidden.includes(tool.name)),
  settings: header.settings
})

/** One part of a tail that does not come from a state section: a nudge, a reminder. */
export type TailPart = HeaderSection

/** The tail of the next request, or `null`. */
export const renderTail = (
  view: SessionView,
  sections: ReadonlyArray<PromptSection>,
  placement: StateSections,
  extra: ReadonlyArray<TailPart>
): string | null => {
  const parts = [...(placement === "tail" ? renderState(view, sections) : []), ...extra].sort(byOrder)
  return parts.length === 0 ? null : parts.map((part) => part.text).join("\n\n")
}

const stands = (view: SessionView, name: string, text: string): boolean => {
  for (const message of view.get(History)) {
    if (message.role !== "user" || message.text !== text || message.source.kind !== "plugin") continue
    if (message.source.plugin === SECTION_PLUGIN && message.source.form === name) return true
  }
  return false
}

/** State sections that appear now and belong into the history (`stateSections: "history"`). */
export const dueAppended = (view: SessionView, sections: ReadonlyArray<PromptSection>): ReadonlyArray<NewEvent> => {
  const { appended } = view.get(HeaderProjection)
  return renderState(view, sections)
    .filter(({ name, text }) => appended.get(name) !== text && (appended.has(name) || !stands(view, name, text)))
    .map((section) =>
      SessionEvent.event("message/user", {
        text: section.text,
        source: { kind: "plugin", plugin: SECTION_PLUGIN, form: section.name }
      })
    )
}

/**
 * The request that a view stands before, with the tail that its `step/open` recorded. `through` is that of a request that
 * carries only so many messages. With the events before a `step/open` folded, `assemble(view, data.tail, data.through)`
 * is what was sent.
 */
export const assemble = (view: SessionView, tail: string | null, through?: number): ModelRequest => {
  const { request } = view.get(HeaderProjection)
  if (request === undefined) throw new Error("A request needs a header: open a step first")
  const messages = view.get(History).toArray()
  return { header: request, messages: through === undefined ? messages : messages.slice(0, through), tail }
}
