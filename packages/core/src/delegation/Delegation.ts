/** Everything of delegation as one layer over a harness. */
import { Layer } from "effect"
import { SpawnAgent } from "./SpawnAgent.ts"
import { Subagent } from "./Subagent.ts"
import { Workflow } from "./Workflow.ts"

/**
 * `Subagent`, `spawn_agent` and `run_workflow`.
 *
 * @example
 * const App = Delegation.layer.pipe(Layer.provideMerge(Harness.layer()))
 */
const layer = Layer.mergeAll(SpawnAgent.layer, Workflow.layer).pipe(Layer.provideMerge(Subagent.layer))

export const Delegation = { layer }
