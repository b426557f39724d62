/**
 * What stands at the entrance of execution: facts of a session that forbid a class of calls.
 *
 * A gate is a pure function of the state. It is asked at the entrance, again in the transaction that logs the start, and
 * once more in the tick that starts the body, for the session itself and for every session above it.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { SessionView } from "../journal/Session.ts"
import type { CatalogTool } from "./ToolCatalog.ts"
import type { Judgement } from "./ToolSafety.ts"

/** Why a call may not run, for the model (`text`) and for programs (`code`). */
export interface Refusal {
  readonly code: string
  readonly text: string
}

export interface ToolGate {
  readonly name: string
  /** Looks at one session's state only; the walk to the ancestors is the caller's. */
  readonly refuse: (view: SessionView, judgement: Judgement, level: "self" | "ancestor") => Refusal | undefined
  /** Takes a tool out of the model's table. Anything but `undefined` here costs the prefix cache. */
  readonly hides?: (view: SessionView, tool: CatalogTool) => boolean
}

/** The gates of a program. A gate that closed scopes leave behind keeps refusing until one of the same name replaces it. */
export class ToolGates extends Context.Service<ToolGates, {
  readonly gates: () => ReadonlyArray<ToolGate>
  readonly register: (gate: ToolGate) => Effect.Effect<void, never, Scope.Scope>
}>()("@holdfast/core/ToolGates") {
  static readonly layer: Layer.Layer<ToolGates> = Layer.sync(ToolGates, () => {
    const gates = new Map<string, ToolGate>()
    return {
      gates: () => [...gates.values()],
      register: (gate) =>
        Effect.acquireRelease(
          Effect.sync(() => void gates.set(gate.name, gate)),
          // Constraints outlive the layer that made them: only what a gate hides goes with its scope.
          () =>
            Effect.sync(() => {
              if (gates.get(gate.name) === gate) gates.set(gate.name, { name: gate.name, refuse: gate.refuse })
            })
        )
    }
  })
}

/** The first refusal on the way from a session up to its root. */
export const refusal = (
  gates: ReadonlyArray<ToolGate>,
  view: SessionView,
  judgement: Judgement
): Refusal | undefined => {
  let at: SessionView | undefined = view
  for (let level: "self" | "ancestor" = "self"; at !== undefined; level = "ancestor") {
    for (const gate of gates) {
      const found = refuseOrFail(gate, at, judgement, level)
      if (found !== undefined) return found
    }
    at = at.parent
  }
  return undefined
}

// A gate that cannot tell is closed.
const refuseOrFail = (gate: ToolGate, view: SessionView, judgement: Judgement, level: "self" | "ancestor") => {
  try {
    return gate.refuse(view, judgement, level)
  } catch {
    return { code: "gate_failed", text: `The gate "${gate.name}" failed, so ${judgement.name} was not run.` }
  }
}
