/**
 * The kernel of delegation: one child agent from its first fact to its result.
 *
 * `Subagent.run` checks depth and limits, makes the child's session with a part of the parent's authority, lets the child work under the
 * same gate, attention and journal as everybody, and returns data. How the result is told is the caller's business. A child is a fiber
 * of its parent: interrupting the parent interrupts it and waits for its cleanup.
 */
import { Context, Effect, Layer, Option, type Scope, Semaphore } from "effect"
import { Agent, type TurnEnd } from "../agent/Agent.ts"
import { TurnProjection } from "../agent/Turn.ts"
import { type Disposed, Fence } from "../Fence.ts"
import type { Approval } from "../human/Approval.ts"
import { Commands } from "../human/Command.ts"
import { type OpenError, type Session, Sessions, type SessionView, type TransactError } from "../journal/Session.ts"
import { type ChildStatus, type EventData, SessionEvent, SessionId, type TokenUsage } from "../journal/SessionEvent.ts"
import { SessionInfo } from "../journal/SessionInfo.ts"
import { sha256 } from "../model/Canonical.ts"
import type { Boundaries } from "../model/Boundary.ts"
import { ModelTransport } from "../model/ModelTransport.ts"
import { PromptSections } from "../model/PromptSection.ts"
import { Usage } from "../model/Usage.ts"
import { ENTER_PLAN_MODE, EXIT_PLAN_MODE } from "../plan/PlanReview.ts"
import { cwdOf, ToolCatalog } from "../tools/ToolCatalog.ts"
import type { ToolGates } from "../tools/ToolGate.ts"
import type { ToolHooks } from "../tools/ToolHook.ts"
import { cut } from "../tools/ToolOutcome.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import { type AgentManifest, AgentManifests } from "./AgentManifest.ts"
import { authorityOf, childAuthority, defaultGrant } from "./Authority.ts"
import { childOf, Children, WorkDone } from "./Children.ts"
import { childCatalog, childSections } from "./ChildParts.ts"
import { workedFor } from "./Deadline.ts"
import { type ChildResult, fromEvent, statusOf } from "./ChildResult.ts"
import { childDepth, DepthLimit } from "./DepthLimit.ts"
import { type IsolatedWorkspace, Isolation, IsolationUnavailable } from "./Isolation.ts"
import * as texts from "./texts.ts"
import { ChildBusy, NotAChild, type SpawnRefused, UnknownAgent } from "./SpawnRefused.ts"
import { treeFull, TreeLimits } from "./TreeLimits.ts"

export interface ChildRequest {
  readonly parent: Session
  /** The parent's call that asks; the same call after a restart goes on with the same child. */
  readonly call: string
  readonly task: string
  readonly label: string
  /** A declared agent. */
  readonly agent?: string | undefined
  readonly isolation?: "worktree" | undefined
  /** A child of this parent to go on with. Its grant stays what it was. */
  readonly resume?: string | undefined
  /** A limit of the caller's own on children that work at once. */
  readonly permits?: Semaphore.Semaphore | undefined
}

/** A child at work, for interfaces. */
export interface LiveChild {
  readonly session: Session
  readonly label: string
  readonly parent: SessionId
  /** `queued`: it waits for a permit of the tree. */
  readonly state: "queued" | "working" | "waiting-for-children"
}

type RunError = SpawnRefused | TransactError | OpenError | Disposed

export class Subagent extends Context.Service<Subagent, {
  readonly run: (request: ChildRequest) => Effect.Effect<ChildResult, RunError>
  /** Gives back the working permit of an agent while `self` waits for its children. */
  readonly waiting: <A, E, R>(parent: Session, self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly live: () => ReadonlyArray<LiveChild>
  readonly manifests: ReadonlyArray<AgentManifest>
}>()("@holdfast/core/Subagent") {
  static readonly layer: Layer.Layer<
    Subagent,
    never,
    Sessions | ModelTransport | ToolCatalog | ToolGates | ToolHooks | Approval | PromptSections | Boundaries
  > = Layer.effect(
    Subagent,
    Effect.gen(function*() {
      const sessions = yield* Sessions
      const catalog = yield* ToolCatalog
      const sections = yield* PromptSections
      const transport = yield* ModelTransport
      const context = yield* Effect.context<Sessions | ToolGates | ToolHooks | Approval | Boundaries>()
      const isolation = yield* Effect.serviceOption(Isolation)
      const manifests = yield* AgentManifests
      const depthLimit = yield* DepthLimit
      const limits = yield* TreeLimits
      const fence = yield* Fence.make("Subagent")
      const trees = new Map<SessionId, Semaphore.Semaphore>()
      const live = new Map<SessionId, LiveChild>()
      const claimed = new Set<SessionId>()

      const permitsOf = (view: SessionView): Semaphore.Semaphore => {
        const id = rootOf(view).id
        const known = trees.get(id) ?? Semaphore.makeUnsafe(limits.alive)
        trees.set(id, known)
        return known
      }

      const setState = (id: SessionId, state: LiveChild["state"]) => {
        const child = live.get(id)
        if (child !== undefined) live.set(id, { ...child, state })
      }

      /** The child's own agent: the parent's harness over a catalogue and sections of the child's. */
      const agentFor = (session: Session, manifest: AgentManifest | undefined) =>
        Effect.gen(function*() {
          const own = yield* childSections(sections, manifest?.body ?? texts.childSection)
          const model = manifest?.model
          const parts = Context.make(ToolCatalog, childCatalog(catalog, session)).pipe(
            Context.add(PromptSections, own),
            Context.add(
              ModelTransport,
              model === undefined ? transport : { ...transport, settings: { ...transport.settings, model } }
            )
          )
          const layer = Agent.layer.pipe(Layer.provide(ToolRunner.layer), Layer.provide(Commands.layer))
          const scope = yield* Effect.scope
          // With a memo map of its own: the parent's would hand out the parent's agent.
          const built = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope).pipe(
            Effect.provideContext(Context.merge(context, parts))
          )
          return yield* Context.get(built, Agent).open(session)
        })

      const manifestOf = (name: string | undefined): AgentManifest | undefined | UnknownAgent => {
        if (name === undefined) return undefined
        return manifests.find((manifest) => manifest.name === name) ??
          new UnknownAgent({ name, known: manifests.map((manifest) => manifest.name) })
      }

      /** Counts the child, writes it into the parent's journal and makes its session. */
      const spawn = (request: ChildRequest, manifest: AgentManifest | undefined) =>
        Effect.gen(function*() {
          const { call, isolation: place, label, parent } = request
          const id = SessionId.make(`${parent.id}.${sha256(`${parent.id}\n${call}`).slice(0, 12)}`)
          const depth = childDepth(parent.view(), depthLimit)
          if (typeof depth !== "number") return yield* depth
          yield* count(parent, id, depth)
          yield* parent.transact(() => ({
            events: [SessionEvent.event("child/spawned", {
              child: id,
              call,
              label,
              depth,
              ...(manifest === undefined ? {} : { agent: manifest.name }),
              ...(place === undefined ? {} : { isolation: place })
            })],
            value: undefined
          }))
          return id
        })

      const count = (parent: Session, child: SessionId, depth: number) =>
        Effect.gen(function*() {
          const root = sessions.live(rootOf(parent.view()).id)
          // A child that was opened alone, without its root, has nobody else to count with.
          const counting = root ?? parent
          const full = yield* counting.transact((view) => {
            const reached = treeFull(view, limits)
            return {
              events: reached === undefined ? [SessionEvent.event("tree/counted", { child, depth })] : [],
              value: reached
            }
          })
          if (full !== undefined) return yield* full
        })

      const grantFor = (parent: Session, manifest: AgentManifest | undefined) =>
        childAuthority(authorityOf(parent.view()), manifest?.tools ?? defaultGrant(catalog.all()), [
          ENTER_PLAN_MODE,
          EXIT_PLAN_MODE
        ])

      const open = (
        request: ChildRequest,
        id: SessionId,
        manifest: AgentManifest | undefined,
        cwd: string | undefined
      ) =>
        Effect.catchTag(sessions.open(id), "SessionNotFound", () =>
          sessions.create({
            id,
            depth: request.parent.view().get(SessionInfo).depth + 1,
            parent: { session: request.parent.id, call: request.call },
            title: request.label,
            authority: grantFor(request.parent, manifest),
            ...(manifest === undefined ? {} : { agent: manifest.name }),
            ...(cwd === undefined ? {} : { cwd })
          }))

      const place = (request: ChildRequest, id: SessionId, wanted: boolean) =>
        Effect.gen(function*() {
          if (!wanted) return undefined
          if (Option.isNone(isolation)) {
            return yield* new IsolationUnavailable({
              reason: "none",
              detail: "this program has no isolated workspaces"
            })
          }
          const parentCwd = cwdOf(request.parent.view())
          if (parentCwd === undefined) {
            return yield* new IsolationUnavailable({ reason: "no-folder", detail: "the parent works in no folder" })
          }
          return yield* isolation.value.open({ child: id, label: request.label, parentCwd })
        })

      /** Lets the child work until its turn has ended or its time is over. */
      const work = (session: Session, request: ChildRequest, manifest: AgentManifest | undefined, again: boolean) =>
        Effect.scoped(Effect.gen(function*() {
          const agent = yield* agentFor(session, manifest)
          const { phase, turn } = session.view().get(TurnProjection)
          // A restarted call finds its child in the middle of its turn, or with its turn already ended.
          const turnEnd = phase !== "idle"
            ? agent.resume("continue").pipe(Effect.catchTag("NothingToResume", () => agent.prompt(request.task)))
            : turn > 0 && !again
            ? Effect.succeed(session.view().get(TurnProjection).end ?? { turn, reason: "closed" as const })
            : agent.prompt(request.task)
          return yield* Effect.raceFirst(
            turnEnd,
            Effect.as(workedFor(session, limits.deadline), "deadline" as const)
          )
        }))

      /** One caller at a time; the check and the claim are one step. */
      const claim = (id: SessionId): Effect.Effect<void, ChildBusy, Scope.Scope> =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            if (claimed.has(id)) return Effect.fail(new ChildBusy({ child: id }))
            claimed.add(id)
            return Effect.void
          }),
          () => Effect.sync(() => void claimed.delete(id))
        )

      const run = (request: ChildRequest): Effect.Effect<ChildResult, RunError> =>
        Effect.scoped(Effect.gen(function*() {
          const { parent } = request
          const earlier = request.resume === undefined
            ? childOf(parent.view(), request.call)
            : parent.view().get(Children).get(SessionId.make(request.resume))
          if (request.resume !== undefined && earlier === undefined) {
            return yield* new NotAChild({ child: request.resume })
          }
          if (request.resume === undefined && earlier?.ended !== undefined) {
            return fromEvent(earlier.ended, earlier.spawned.label)
          }
          const manifest = manifestOf(earlier === undefined ? request.agent : earlier.spawned.agent)
          if (manifest instanceof UnknownAgent) return yield* manifest
          const wanted = (earlier?.spawned.isolation ?? request.isolation) === "worktree"
          const id = earlier?.spawned.child ?? (yield* spawn(request, manifest))
          yield* claim(id)
          const label = earlier?.spawned.label ?? request.label
          const isolated = yield* Effect.tapError(
            place(request, id, wanted),
            (error) => logEnd(parent, request.call, id, "Failed", error.message)
          )
          const session = yield* open({ ...request, label }, id, manifest, isolated?.cwd)
          yield* Effect.acquireRelease(
            Effect.sync(() => void live.set(id, { session, label, parent: parent.id, state: "queued" })),
            () => Effect.sync(() => void live.delete(id))
          )
          const permits = permitsOf(parent.view())
          const working = permits.withPermit(Effect.suspend(() => {
            setState(id, "working")
            return work(session, request, manifest, request.resume !== undefined)
          }))
          const bounded = request.permits === undefined ? working : request.permits.withPermit(working)
          return yield* bounded.pipe(
            Effect.flatMap((end) => settle(request, session, label, end, isolated)),
            Effect.onInterrupt(() => Effect.ignore(settle(request, session, label, "interrupted", isolated)))
          )
        })).pipe(fence.guard)

      const settle = (
        request: ChildRequest,
        session: Session,
        label: string,
        end: TurnEnd | "deadline" | "interrupted",
        isolated: IsolatedWorkspace | undefined
      ) =>
        Effect.gen(function*() {
          const view = session.view()
          const work = view.get(WorkDone)
          const { detail, status } = statusOf(end, work, limits.deadline)
          const collected = isolated === undefined ? undefined : yield* Effect.result(isolated.harvest)
          const violations = isolated === undefined ? [] : yield* isolated.violations
          const failed = collected?._tag === "Failure" ? [collected.failure.message] : []
          const patch = collected?._tag === "Success" ? collected.success : undefined
          const notes = [...(detail === undefined ? [] : [detail]), ...failed, ...violations]
          const usage = view.get(Usage)
          const ended: EventData<"child/ended"> = {
            child: session.id,
            call: request.call,
            status: failed.length > 0 && status === "Completed" ? "Failed" : status,
            output: cut(work.lastText, limits.outputCharacters, texts.pointer(session.id)),
            ...(notes.length === 0 ? {} : { detail: notes.join("; ") }),
            gatedCalls: work.gated,
            changed: patch === undefined ? [...work.changed].sort() : patch.files.map((file) => file.path),
            ranCommands: isolated === undefined && work.ranCommands,
            ...(patch === undefined || patch.files.length === 0 ? {} : { patch: patch.artifact }),
            usage: {
              prompt: usage.prompt,
              hit: usage.hit,
              miss: usage.miss,
              completion: usage.completion,
              reasoning: usage.reasoning
            }
          }
          yield* request.parent.transact(() => ({
            events: [SessionEvent.event("child/ended", ended)],
            value: undefined
          }))
          return fromEvent(ended, label)
        })

      const waiting = <A, E, R>(parent: Session, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
        if (!live.has(parent.id)) return self
        const permits = permitsOf(parent.view())
        return Effect.acquireUseRelease(
          Effect.andThen(permits.release(1), Effect.sync(() => setState(parent.id, "waiting-for-children"))),
          () => self,
          () => Effect.andThen(permits.take(1), Effect.sync(() => setState(parent.id, "working")))
        )
      }

      return Subagent.of({ run, waiting, live: () => [...live.values()], manifests })
    })
  )
}

const rootOf = (view: SessionView): SessionView => view.parent === undefined ? view : rootOf(view.parent)

const noUsage: TokenUsage = { prompt: 0, hit: 0, miss: 0, completion: 0, reasoning: 0 }

/** A child that came to nothing before it worked is ended as well, so that nobody waits for it after a restart. */
const logEnd = (parent: Session, call: string, child: SessionId, status: ChildStatus, detail: string) =>
  parent.transact(() => ({
    events: [SessionEvent.event("child/ended", {
      child,
      call,
      status,
      output: "",
      detail,
      gatedCalls: 0,
      changed: [],
      ranCommands: false,
      usage: noUsage
    })],
    value: undefined
  }))
