/**
 * Limits over a whole tree of agents, whoever in it asks.
 *
 * Totals are facts of the root's journal and survive a restart. How many work at one moment is not, and is a semaphore; an agent that
 * waits for its children holds no permit of it, so that no tree can wait for itself.
 */
import { Context, Duration, Layer, Schema } from "effect"
import { Projection } from "../journal/Projection.ts"
import type { SessionView } from "../journal/Session.ts"

export interface TreeLimitOptions {
  /** Children at work at the same time in the whole tree. Default 8, what the DeepSeek transport streams at once. */
  readonly alive: number
  /** Children of one workflow at work at the same time. Default 4. */
  readonly alivePerWorkflow: number
  /** Children that one root may ever have, however deep. Default 64. */
  readonly children: number
  /** Steps of one workflow. Default 8. */
  readonly workflowSteps: number
  /** Prompt and completion tokens of all children together; default none. */
  readonly tokens: number | undefined
  /** How long one child may work; time in which it waits for a person does not count. Default 30 minutes. */
  readonly deadline: Duration.Duration
  /** Characters of one child's output that its parent sees, and of all outputs of one workflow. Defaults 6,000 and 18,000. */
  readonly outputCharacters: number
  readonly workflowCharacters: number
}

export const treeDefaults: TreeLimitOptions = {
  alive: 8,
  alivePerWorkflow: 4,
  children: 64,
  workflowSteps: 8,
  tokens: undefined,
  deadline: Duration.minutes(30),
  outputCharacters: 6000,
  workflowCharacters: 18_000
}

export class TreeLimits extends Context.Reference<TreeLimitOptions>("@holdfast/core/TreeLimits", {
  defaultValue: () => treeDefaults
}) {
  static readonly layer = (limits: Partial<TreeLimitOptions>): Layer.Layer<never> =>
    Layer.succeed(TreeLimits, { ...treeDefaults, ...limits })
}

/** A limit of the tree is used up. Nothing was created. */
export class TreeLimitReached extends Schema.TaggedError<TreeLimitReached>()("TreeLimitReached", {
  limit: Schema.Literals(["children", "tokens", "steps"]),
  max: Schema.Natural
}) {
  override get message() {
    return `The limit of ${this.max} ${this.limit} for this tree of agents is reached`
  }
}

/** The fold of a root: how many children its tree has ever had, and what those that ended have used. */
export const Tree = Projection.make<{ readonly children: number; readonly tokens: number }>({
  name: "tree",
  initial: { children: 0, tokens: 0 },
  on: {
    "tree/counted": (tree) => ({ ...tree, children: tree.children + 1 }),
    "child/ended": (tree, { usage }) => ({ ...tree, tokens: tree.tokens + usage.prompt + usage.completion })
  }
})

/** Why the tree of this root may have no further child, if that is so. */
export const treeFull = (root: SessionView, limits: TreeLimitOptions): TreeLimitReached | undefined => {
  const { children, tokens } = root.get(Tree)
  if (children >= limits.children) return new TreeLimitReached({ limit: "children", max: limits.children })
  if (limits.tokens !== undefined && tokens >= limits.tokens) {
    return new TreeLimitReached({ limit: "tokens", max: limits.tokens })
  }
  return undefined
}
