/**
 * The calls that a scripted model can make, and what kind each is. The model and the real tools read the same list, so
 * that neither has to know the other.
 */

/** What a call is to plan mode: a class of effect, one of the signals, or a call that cannot be understood. */
export type CallKind = "read" | "mutate" | "danger" | "enter" | "exit" | "ask" | "unknown"

/** One call as a model writes it. `args` is a JSON text. */
export interface Call {
  readonly name: string
  readonly args: string
}

/** What is known of a call before it is made. */
export interface CallSpec {
  readonly call: Call
  readonly kind: CallKind
  /** For the trace. */
  readonly words: string
  /** Its body waits until it is told to end. */
  readonly slow?: true
  /** Its arguments do not fit its schema. */
  readonly invalid?: true
  /** A hook puts the number of the process into its arguments: after a restart it is another call. */
  readonly stamped?: true
  /** The plan of an `exit` call. */
  readonly plan?: string
  /** What a grant for the rest of the session would cover. */
  readonly grant?: string
}

const spec = (
  words: string,
  kind: CallKind,
  name: string,
  args: unknown,
  more: Partial<Omit<CallSpec, "call" | "kind" | "words">> = {}
): CallSpec => ({ words, kind, call: { name, args: JSON.stringify(args) }, ...more })

/** The note that makes a body wait, and the one that a hook replaces. */
export const SLOW = "slow"
export const STAMPED = "stamped"

/** The tools that the property runner brings with it, as a model can call them. */
export const ownCalls: ReadonlyArray<CallSpec> = [
  spec("look", "read", "look", {}),
  spec("look slowly", "read", "look", { note: SLOW }, { slow: true }),
  spec("look wrongly", "read", "look", { note: 7 }, { invalid: true }),
  spec("change", "mutate", "change", {}, { grant: "change" }),
  spec("change slowly", "mutate", "change", { note: SLOW }, { grant: "change", slow: true }),
  spec("change wrongly", "mutate", "change", { note: 7 }, { invalid: true }),
  spec("change with a stamp", "mutate", "plain", { note: STAMPED }, { stamped: true }),
  spec("plain", "mutate", "plain", {}),
  spec("wreck", "danger", "wreck", {}),
  spec("enter_plan_mode", "enter", "enter_plan_mode", { reason: "several files" }),
  spec("enter_plan_mode without a reason", "enter", "enter_plan_mode", {}, { invalid: true }),
  spec("exit_plan_mode with plan A", "exit", "exit_plan_mode", { plan: "# A\n\nfirst" }, { plan: "A" }),
  spec("exit_plan_mode with plan B", "exit", "exit_plan_mode", { plan: "# B\n\nsecond" }, { plan: "B" }),
  spec("exit_plan_mode with no heading", "exit", "exit_plan_mode", { plan: "no heading" }, { invalid: true }),
  spec("ask_user", "ask", "ask_user", { question: "which?", options: ["a", "b"] }),
  spec("a tool that does not exist", "unknown", "nothing_like_it", {})
]

/** A call of a user's own tool, as `planProperties` takes it. */
export interface OwnCall {
  readonly name: string
  readonly args: unknown
  /**
   * What the call does to the world, whatever the tool says of itself: a `read` never starts while it should not because it never
   * changes anything; a `mutate` or `danger` call must not start while the gate is closed.
   */
  readonly safety: "read" | "mutate" | "danger"
}

export const specOf = ({ args, name, safety }: OwnCall): CallSpec => spec(name, safety, name, args)

/** Finds what is known of a call that stands in a journal. */
export type Lookup = (call: Call) => CallSpec

export const lookup = (specs: ReadonlyArray<CallSpec>): Lookup => {
  const known = new Map(specs.map((item) => [`${item.call.name} ${item.call.args}`, item]))
  return (call) => known.get(`${call.name} ${call.args}`) ?? { call, kind: "unknown", words: call.name }
}
