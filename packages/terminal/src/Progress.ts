/** What happens during a turn, as lines: pure, so that a transcript can be compared. `ProgressView` shows it on a screen. */
import { count, duration } from "./Format.ts"
import { safe, safeLine } from "./Sanitize.ts"
import { plainStyle, type Style } from "./Style.ts"
import { Texts } from "./Texts.ts"
import { displayWidth, expandTabs, graphemes, truncate, wrapLine } from "./Width.ts"

/** How a tool call ended. */
export type ToolResult = "ok" | "failed" | "refused" | "interrupted"

/** Something that an interface may want to show. `from` names the child agent that it comes from; without it, the root. */
export type ProgressEvent =
  & { readonly from?: string }
  & (
    | { readonly _tag: "Thinking"; readonly text: string }
    | { readonly _tag: "Text"; readonly text: string }
    /** The reply is complete: an unfinished line of it is finished, so that what comes next stands below. */
    | { readonly _tag: "ReplyEnded" }
    | { readonly _tag: "ToolStarted"; readonly title: string }
    | { readonly _tag: "ToolFinished"; readonly title: string; readonly outcome: ToolResult; readonly summary: string }
    | { readonly _tag: "Waiting"; readonly title: string; readonly asker: string }
    | { readonly _tag: "Retrying"; readonly inMillis: number; readonly reason: string }
    | { readonly _tag: "PlanMode"; readonly active: boolean }
    | { readonly _tag: "TurnEnded"; readonly reason: string; readonly detail?: string }
    | { readonly _tag: "Notice"; readonly text: string }
    /** How many tokens the turn has used so far. */
    | { readonly _tag: "Tokens"; readonly count: number }
  )

/** Text or reasoning that is still coming in: the unfinished line, and how much there was. */
interface OpenStream {
  readonly kind: "Text" | "Thinking"
  readonly from: string
  readonly pending: string
  readonly chars: number
}

export interface ProgressState {
  readonly active: boolean
  readonly open: OpenStream | undefined
  readonly tools: ReadonlyArray<string>
  readonly waiting: string | undefined
  readonly tokens: number
}

export const initialProgress: ProgressState = {
  active: false,
  open: undefined,
  tools: [],
  waiting: undefined,
  tokens: 0
}

/** How the lines look. Without `columns` text is not wrapped; without `style` there is no control character but the line feed. */
export interface RenderOptions {
  readonly style?: Style
  readonly columns?: number
}

const indent = "  "
// Of reasoning only the end is shown, so no more of it is kept.
const tail = 400

const prefix = (from: string): string => from === "" ? "" : `[${safeLine(from)}] `

const textRows = (line: string, from: string, columns: number | undefined): ReadonlyArray<string> => {
  const lead = indent + prefix(from)
  const text = expandTabs(safe(line))
  const rows = columns === undefined ? [text] : wrapLine(text, columns - displayWidth(lead) - 1)
  return rows.map((row) => (lead + row).trimEnd())
}

/** Ends what is coming in: the unfinished line becomes a finished one. */
const close = (state: ProgressState, options: RenderOptions): readonly [ProgressState, ReadonlyArray<string>] => {
  const { open } = state
  if (open === undefined) return [state, []]
  const rows = open.kind === "Text"
    ? open.pending === "" ? [] : textRows(open.pending, open.from, options.columns)
    : [(options.style ?? plainStyle).dim(`${prefix(open.from)}${Texts.progress.thought(open.chars)}`)]
  return [{ ...state, open: undefined }, rows]
}

/**
 * The state after an event, and the lines that it finished (each ends in a line feed; often none). How a text was cut into events
 * makes no difference to the lines, and neither does time.
 *
 * @example
 * const [state, text] = render(initialProgress, { _tag: "Notice", text: "ready" }) // text: "· ready\n"
 */
export const render = (
  state: ProgressState,
  event: ProgressEvent,
  options: RenderOptions = {}
): readonly [ProgressState, string] => {
  const [next, rows] = advance(state, event, options)
  return [next, rows.map((row) => `${row}\n`).join("")]
}

const advance = (
  state: ProgressState,
  event: ProgressEvent,
  options: RenderOptions
): readonly [ProgressState, ReadonlyArray<string>] => {
  const from = event.from ?? ""
  if (event._tag === "Tokens") return [{ ...state, active: true, tokens: event.count }, []]
  if (event._tag === "Text" || event._tag === "Thinking") return stream(state, event._tag, from, event.text, options)

  const style = options.style ?? plainStyle
  const [closed, rows] = close(state, options)
  if (event._tag === "ReplyEnded") return [closed, rows]
  const say = (text: string, paint: (row: string) => string, change: Partial<ProgressState> = {}) => {
    const line = prefix(from) + text
    const wrapped = options.columns === undefined ? [line] : wrapLine(line, options.columns - 1)
    return [{ ...closed, waiting: undefined, ...change }, [...rows, ...wrapped.map(paint)]] as const
  }
  switch (event._tag) {
    case "ToolStarted": {
      const title = safeLine(event.title)
      return say(Texts.progress.tool(title), style.cyan, { active: true, tools: [...state.tools, title] })
    }
    case "ToolFinished": {
      const title = safeLine(event.title)
      const at = state.tools.indexOf(title)
      const text = Texts.progress.finished(Texts.marks[event.outcome], title, safeLine(event.summary))
      const paint = event.outcome === "ok" ? style.green : event.outcome === "failed" ? style.red : style.yellow
      return say(text, paint, { active: true, tools: state.tools.filter((_, index) => index !== at) })
    }
    case "Waiting": {
      const text = Texts.progress.waiting(safeLine(event.asker), safeLine(event.title))
      return say(text, style.yellow, { active: true, waiting: text })
    }
    case "Retrying":
      return say(Texts.progress.retrying(duration(event.inMillis), safeLine(event.reason)), style.yellow, {
        active: true,
        waiting: Texts.progress.pausing
      })
    case "PlanMode":
      return say(event.active ? Texts.progress.planOn : Texts.progress.planOff, style.bold)
    case "TurnEnded": {
      const detail = event.detail === undefined ? undefined : safeLine(event.detail)
      // A child's end leaves the others at work.
      const ended = from === "" ? initialProgress : {}
      return say(Texts.progress.ended(safeLine(event.reason), detail), style.dim, ended)
    }
    case "Notice":
      return say(Texts.progress.notice(safeLine(event.text)), style.dim)
  }
}

const stream = (
  state: ProgressState,
  kind: OpenStream["kind"],
  from: string,
  text: string,
  options: RenderOptions
): readonly [ProgressState, ReadonlyArray<string>] => {
  if (text === "") return [{ ...state, active: true }, []]
  const same = state.open?.kind === kind && state.open.from === from
  const [base, rows] = same ? [state, []] : close(state, options)
  const open = same && state.open !== undefined ? state.open : { kind, from, pending: "", chars: 0 }
  const pending = open.pending + text
  const chars = open.chars + text.length
  const next = (rest: string): ProgressState => ({
    ...base,
    active: true,
    waiting: undefined,
    open: { kind, from, pending: rest, chars }
  })
  if (kind === "Thinking") return [next(pending.slice(-tail)), rows]
  // Most deltas end no line; only those that do are worth a walk over all that is pending.
  if (!text.includes("\n")) return [next(pending), rows]
  const lines = pending.split("\n")
  const rest = lines.pop() ?? ""
  // The carriage return of a `\r\n` belongs to the line feed.
  const done = lines.flatMap((line) => textRows(line.replace(/\r$/, ""), from, options.columns))
  return [next(rest), [...rows, ...done]]
}

/** What moves while a turn runs: how long the present activity has lasted, and which picture of the spinner it is. */
export interface StatusMoment {
  readonly elapsedMillis: number
  readonly frame: number
  readonly columns: number
  readonly rows: number
  readonly style: Style
}

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

/** The rows below the finished lines: the unfinished line of text, and what is going on. None when nothing runs. */
export const status = (state: ProgressState, moment: StatusMoment): ReadonlyArray<string> => {
  if (!state.active) return []
  const { style } = moment
  const { open } = state
  const room = Math.max(1, Math.floor(moment.rows / 2))
  const partial = open?.kind === "Text" && open.pending !== ""
    ? textRows(open.pending, open.from, moment.columns).slice(-room)
    : []
  const tokens = state.tokens > 0 ? ` · ${Texts.progress.tokens(count(state.tokens))}` : ""
  const doing = state.waiting ?? state.tools.at(-1) ?? Texts.progress.thinking
  const more = state.waiting === undefined && state.tools.length > 1 ? ` (+${state.tools.length - 1})` : ""
  const mark = spinner[moment.frame % spinner.length] ?? ""
  const seconds = `${Math.floor(moment.elapsedMillis / 1000)} s`
  const lead = truncate(`${mark} ${doing}${more} ${seconds}${tokens}`, moment.columns - 1)
  const left = moment.columns - 1 - displayWidth(lead) - 3
  const thought = open?.kind === "Thinking" && left > 10 ? endOf(safeLine(open.pending), left) : ""
  return [...partial, style.cyan(lead) + (thought === "" ? "" : style.dim(` · ${thought}`))]
}

/** The last `width` columns of a text. */
const endOf = (text: string, width: number): string => {
  const parts = graphemes(text)
  let used = 0
  let from = parts.length
  while (from > 0) {
    const cells = displayWidth(parts[from - 1] ?? "")
    if (used + cells > width) break
    used += cells
    from--
  }
  return parts.slice(from).join("")
}
