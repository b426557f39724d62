export * from "./agent/Agent.ts"
export {
  COMPACTION_TRIES,
  compactionDefaults,
  CompactionLimits,
  type CompactionOptions,
  dueCompaction
} from "./agent/Compaction.ts"
export { type CompactionEnd, CompactionProjection, type CompactionState } from "./agent/CompactionState.ts"
export { type CutOptions, estimateTokens, findCut, units } from "./agent/Cut.ts"
export * from "./agent/Fork.ts"
export { Inbox } from "./agent/Inbox.ts"
export { loopDefaults, LoopGuard, type LoopLimits } from "./agent/LoopGuard.ts"
export { lostCalls, OpenAsks, repair, type ResumeMode } from "./agent/Repair.ts"
export { type Action, nextAction, TurnProjection, type TurnState } from "./agent/Turn.ts"
export * from "./delegation/AgentManifest.ts"
export { allows, childAuthority, defaultGrant } from "./delegation/Authority.ts"
export { CHANGED_FACT, type Child, Children, WorkDone } from "./delegation/Children.ts"
export type { ChildResult } from "./delegation/ChildResult.ts"
export { Delegation } from "./delegation/Delegation.ts"
export * from "./delegation/DepthLimit.ts"
export * from "./delegation/Isolation.ts"
export * from "./delegation/SpawnRefused.ts"
export * from "./delegation/Subagent.ts"
export * from "./delegation/TreeLimits.ts"
export * from "./Fence.ts"
export * from "./Harness.ts"
export * from "./human/Approval.ts"
export * from "./human/Attention.ts"
export * from "./human/Command.ts"
export * from "./human/Interaction.ts"
export * from "./human/Question.ts"
export * from "./journal/AppendList.ts"
export * from "./journal/Journal.ts"
export * from "./journal/LiveEvent.ts"
export { Projection } from "./journal/Projection.ts"
export * from "./journal/Session.ts"
export * from "./journal/SessionEvent.ts"
export { SessionInfo } from "./journal/SessionInfo.ts"
export * from "./model/Boundary.ts"
export { canonicalJson, sha256 } from "./model/Canonical.ts"
export { History, summarySource } from "./model/History.ts"
export * from "./model/Message.ts"
export {
  assemble,
  HeaderProjection,
  StatePlacement,
  type StateSections,
  toRequestHeader
} from "./model/ModelRequest.ts"
export * from "./model/ModelTransport.ts"
export * from "./model/PromptSection.ts"
export { rebuildRequests, type RebuiltRequest } from "./model/Rebuild.ts"
export * from "./model/RetryPolicy.ts"
export * from "./model/Usage.ts"
export * from "./plan/PlanGate.ts"
export { planInHand, type ReviewedPlan } from "./plan/PlanInHand.ts"
export * from "./plan/PlanMode.ts"
export { type ReviewOptions, reviewOptions } from "./plan/PlanReview.ts"
export { PlanSignals } from "./plan/PlanSignals.ts"
export {
  closesGate,
  commitPlan,
  effective,
  foldPlanMode,
  needsNotice,
  type PlanFold,
  PlanProjection,
  type PlanState,
  type SelectedBy,
  type Selection,
  selectPlan
} from "./plan/PlanState.ts"
export { AskUser } from "./tools/AskUser.ts"
export { type Batch, type BatchCall, openCalls, ToolBatch } from "./tools/ToolBatch.ts"
export * from "./tools/ToolCatalog.ts"
export * from "./tools/ToolGate.ts"
export * from "./tools/ToolHook.ts"
export { Artifacts, type OutputLimit, type ToolOutcome, ToolOutputLimit } from "./tools/ToolOutcome.ts"
export { type RunOptions, ToolDeadline, ToolRunner } from "./tools/ToolRunner.ts"
export { type Judgement, ToolSafety } from "./tools/ToolSafety.ts"
