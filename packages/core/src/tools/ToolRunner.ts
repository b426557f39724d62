/**
 * Runs the tool calls of one reply: signal, gate, hook, approval, start, body, exactly one result each.
 *
 * Consecutive reading calls run together, any other call is a barrier. Results are logged in call order. What has been
 * decided and done is in the journal; what is kept here is only what the running fibers know before it is logged.
 */
import { Cause, Context, Duration, Effect, Exit, Layer, type Schema } from "effect"
import { type Disposed, Fence } from "../Fence.ts"
import { Approval } from "../human/Approval.ts"
import type { Session, SessionView, TransactError } from "../journal/Session.ts"
import { type CallRecord, type NewEvent, type Permission, SessionEvent } from "../journal/SessionEvent.ts"
import { sha256 } from "../model/Canonical.ts"
import { prepareCall, type PreparedCall, type ReadyCall } from "./PreparedCall.ts"
import { closeBatch, dueResults, interruptedCall, openCalls } from "./ToolBatch.ts"
import { askerOf, type CallContext, CurrentCall, cwdOf, ToolCatalog } from "./ToolCatalog.ts"
import { refusal, ToolGates } from "./ToolGate.ts"
import { type HookedCall, ToolHooks } from "./ToolHook.ts"
import {
  Artifacts,
  cut,
  failedOutcome,
  fromCause,
  refused,
  render,
  type ToolOutcome,
  ToolOutputLimit
} from "./ToolOutcome.ts"
import type { ToolSafety } from "./ToolSafety.ts"
import * as texts from "./texts.ts"

/**
 * How long one tool may run before it is interrupted (default 30 minutes; `undefined`: for ever). Tools that wait for a
 * person or for children are exempt.
 */
export class ToolDeadline extends Context.Reference<Duration.Duration | undefined>("@holdfast/core/ToolDeadline", {
  defaultValue: () => Duration.minutes(30)
}) {}

export interface RunOptions {
  readonly progress?: (call: string, value: unknown) => Effect.Effect<void>
  /** Outcomes that are known beforehand, by call: those calls are not run, and their results are logged in their turn. */
  readonly known?: ReadonlyMap<string, ToolOutcome>
}

export class ToolRunner extends Context.Service<ToolRunner, {
  /** Looks at the calls of a reply before it is logged: which can start at once with it. Runs nothing. */
  readonly prepare: (session: Session, calls: ReadonlyArray<CallRecord>) => Effect.Effect<ReadonlyArray<PreparedCall>>
  /** The `tool/started` events that can be logged together with the reply: its leading reading calls. */
  readonly startable: (view: SessionView, calls: ReadonlyArray<PreparedCall>) => ReadonlyArray<NewEvent>
  /** Brings every open call of the newest reply to its result. Interrupting it logs results for all of them. */
  readonly run: (
    session: Session,
    calls: ReadonlyArray<PreparedCall>,
    options?: RunOptions
  ) => Effect.Effect<void, TransactError | Disposed>
}>()("@holdfast/core/ToolRunner") {
  static readonly layer: Layer.Layer<ToolRunner, never, ToolCatalog | ToolGates | ToolHooks | Approval> = Layer.effect(
    ToolRunner,
    Effect.gen(function*() {
      const catalog = yield* ToolCatalog
      const gates = yield* ToolGates
      const hooks = yield* ToolHooks
      const approval = yield* Approval
      const artifacts = yield* Artifacts
      const limit = yield* ToolOutputLimit
      const deadline = yield* ToolDeadline
      const fence = yield* Fence.make("ToolRunner")

      const gated = (view: SessionView, call: ReadyCall) => refusal(gates.gates(), view, call.judgement)
      const hooked = (session: Session, call: ReadyCall): HookedCall => ({
        ...call.judgement,
        call: call.record.id,
        tool: call.tool.name,
        arguments: call.args,
        view: session.view()
      })

      /** What stops a call before anybody is bothered with it. */
      const fault = (view: SessionView, call: PreparedCall): ToolOutcome | undefined => {
        if (call._tag === "Fault") return call.outcome
        const closed = gated(view, call)
        if (closed !== undefined) return refused(closed.code, "gate", closed.text)
        return call.tool.safety !== "signal" && Exit.isFailure(call.params) ? call.invalid : undefined
      }

      const startEvent = (call: ReadyCall, permission: Permission): NewEvent =>
        SessionEvent.event("tool/started", {
          call: call.record.id,
          name: call.judgement.name,
          hash: hashOf(call),
          permission,
          ...(call.text === call.record.arguments ? {} : { arguments: call.text })
        })

      const contextOf = (
        session: Session,
        call: Pick<CallRecord, "id" | "name">,
        safety?: ToolSafety,
        facts: Map<string, Schema.Json> = new Map()
      ): CallContext => {
        return {
          session: session.id,
          call: call.id,
          tool: call.name,
          safety,
          path: askerOf(session.view()).path,
          cwd: cwdOf(session.view()),
          state: (projection) => session.view().get(projection),
          record: (name, value) => void facts.set(name, value),
          keep: (name, text) => artifacts.keep(session.id, name, text)
        }
      }

      /** The body, from the tick that starts it to its outcome. */
      const body = (session: Session, call: ReadyCall, options: RunOptions): Effect.Effect<ToolOutcome> =>
        Effect.suspend(() => {
          const params = call.params
          if (Exit.isFailure(params)) return Effect.succeed(call.invalid)
          const facts = new Map<string, Schema.Json>()
          const start = Effect.suspend(() => {
            const closed = gated(session.view(), call)
            if (closed !== undefined) return Effect.succeed(refused(closed.code, "gate", closed.text))
            return call.tool.run(params.value, {
              id: call.record.id,
              progress: (value) => options.progress?.(call.record.id, value) ?? Effect.void
            }).pipe(Effect.map((value): ToolOutcome => ({ outcome: "ok", content: render(value) })))
          }).pipe(Effect.provideService(CurrentCall, contextOf(session, call.record, call.judgement.safety, facts)))
          const bounded = deadline === undefined || call.tool.traits.waits === true
            ? start
            : Effect.timeoutOrElse(start, {
              duration: deadline,
              orElse: () => Effect.succeed(failedOutcome("tool_timeout", texts.timedOut(call.tool.name, deadline)))
            })
          return Effect.exit(bounded).pipe(
            Effect.map((exit) => Exit.isSuccess(exit) ? exit.value : fromCause(call.judgement.name, exit.cause)),
            Effect.flatMap((outcome) => shorten(session, call, outcome)),
            Effect.map((outcome) => facts.size === 0 ? outcome : { ...outcome, facts: Object.fromEntries(facts) })
          )
        })

      const shorten = (session: Session, call: ReadyCall, outcome: ToolOutcome): Effect.Effect<ToolOutcome> => {
        if (outcome.content.length <= limit.characters) return Effect.succeed(outcome)
        const name = `${call.record.id}.txt`
        return Effect.exit(artifacts.keep(session.id, name, outcome.content)).pipe(Effect.map((kept) => {
          const where = Exit.isSuccess(kept) ? kept.value : undefined
          return {
            ...outcome,
            content: cut(outcome.content, limit.characters, where),
            ...(where === undefined ? {} : { artifact: where })
          }
        }))
      }

      /** Runs the body so that its outcome is kept even when the turn is interrupted in the same moment. */
      const execute = (session: Session, call: ReadyCall, outcomes: Map<string, ToolOutcome>, options: RunOptions) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function*() {
            const exit = yield* Effect.exit(restore(body(session, call, options)))
            const outcome = Exit.isSuccess(exit) ? exit.value : fromCause(call.judgement.name, exit.cause)
            const hookExit = yield* Effect.exit(restore(after(session, call, outcome)))
            outcomes.set(call.record.id, Exit.isSuccess(hookExit) ? hookExit.value : outcome)
          })
        )

      const after = (session: Session, call: ReadyCall, outcome: ToolOutcome): Effect.Effect<ToolOutcome> =>
        Effect.gen(function*() {
          let current = outcome
          for (const hook of hooks.items()) {
            if (hook.after === undefined) continue
            const exit = yield* Effect.exit(hook.after(hooked(session, call), current))
            if (Exit.isSuccess(exit) && exit.value !== undefined) current = exit.value
          }
          return current
        })

      const before = (session: Session, call: ReadyCall): Effect.Effect<ReadyCall | ToolOutcome> =>
        Effect.gen(function*() {
          let current = call
          for (const hook of hooks.items()) {
            if (hook.before === undefined) continue
            const exit = yield* Effect.exit(hook.before(hooked(session, current)))
            if (Exit.isFailure(exit)) {
              if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
              return refused("hook_failed", "hook", texts.hookFailed(call.judgement.name))
            }
            const decision = exit.value
            if (decision === undefined) continue
            if ("refuse" in decision) {
              return refused("hook_refused", "hook", texts.hookRefused(call.judgement.name, decision.refuse))
            }
            const again = yield* prepareCall(catalog, {
              ...current.record,
              arguments: JSON.stringify(decision.arguments)
            }, contextOf(session, current.record))
            if (again._tag === "Fault") return again.outcome
            const stopped = fault(session.view(), again)
            if (stopped !== undefined) return stopped
            current = { ...again, record: call.record }
          }
          return current
        })

      /** Hooks, approval and the start of one call that is a barrier. */
      const single = (
        session: Session,
        prepared: ReadyCall,
        outcomes: Map<string, ToolOutcome>,
        options: RunOptions
      ): Effect.Effect<void, TransactError | Disposed> =>
        Effect.gen(function*() {
          const pending = (view: SessionView) => dueResults(view, outcomes)
          const call = yield* before(session, prepared)
          if (!("record" in call)) return void outcomes.set(prepared.record.id, call)
          const id = call.record.id
          const permission = yield* permit(session, call, pending)
          if ("outcome" in permission) return void outcomes.set(id, permission)
          const closed = yield* session.transact((view) => {
            const reason = gated(view, call)
            return reason === undefined
              ? { events: [...pending(view), startEvent(call, permission)], value: undefined }
              : { events: [], value: reason }
          })
          if (closed !== undefined) return void outcomes.set(id, refused(closed.code, "gate", closed.text))
          yield* execute(session, call, outcomes, options)
        })

      const permit = (
        session: Session,
        call: ReadyCall,
        pending: (view: SessionView) => ReadonlyArray<NewEvent>
      ): Effect.Effect<Permission | ToolOutcome, TransactError | Disposed> =>
        Effect.gen(function*() {
          const { safety } = call.judgement
          const traits = call.tool.traits
          const params = Exit.isSuccess(call.params) ? call.params.value : undefined
          if (safety === "signal") return { by: "none" } as const
          const context = contextOf(session, call.record, safety)
          const shown = yield* Effect.exit(Effect.sync(() => ({
            asks: safety === "mutate" || safety === "danger" || traits.needsApproval?.(params) === true,
            title: traits.title?.(params) ?? call.judgement.name,
            grantKey: traits.grantKey?.(params, context),
            grantLabel: traits.grantLabel?.(params)
          })))
          // A tool that cannot say what it would do is not run, and nobody is asked about it.
          if (Exit.isFailure(shown)) return failedOutcome("tool_defect", texts.cannotTell(call.judgement.name))
          const { asks, grantKey, grantLabel, title } = shown.value
          if (!asks) return { by: "none" } as const
          const preview = traits.preview === undefined
            ? Exit.succeed({ kind: "text" as const, text: call.text })
            : yield* Effect.exit(
              Effect.provideService(Effect.suspend(() => traits.preview!(params, context)), CurrentCall, context)
            )
          if (Exit.isFailure(preview)) {
            if (Cause.hasInterruptsOnly(preview.cause)) return yield* Effect.interrupt
            return failedOutcome("tool_failed", fromCause(call.judgement.name, preview.cause).content)
          }
          const decision = yield* approval.decide(session, {
            call: call.record.id,
            tool: call.judgement.name,
            safety,
            title,
            arguments: call.text,
            hash: hashOf(call),
            asker: askerOf(session.view()),
            preview: preview.value,
            grantKey,
            grantLabel
          }, { pending, gated: (view) => gated(view, call) !== undefined }).pipe(
            // Approval was closed; if the session is closed too, the next append says so.
            Effect.catchTag(
              "Disposed",
              () => Effect.succeed({ _tag: "Refused" as const, outcome: "withdrawn" as const, text: undefined })
            )
          )
          if (decision._tag === "Allowed") return decision.permission
          // The gate's own words say more than that the request lost its point.
          const closed = gated(session.view(), call)
          if (decision.outcome === "gated" && closed !== undefined) return refused(closed.code, "gate", closed.text)
          return refused(
            `approval_${decision.outcome}`,
            decision.outcome === "no" || decision.outcome === "dismissed" ? "person" : decision.outcome,
            texts.approvalRefused(call.judgement.name, decision.outcome, decision.text)
          )
        })

      const signal = (session: Session, call: ReadyCall, outcomes: Map<string, ToolOutcome>) =>
        Effect.uninterruptibleMask((restore) =>
          restore(call.tool.signal!(call.args, {
            id: call.record.id,
            name: call.tool.name,
            session,
            asker: askerOf(session.view()),
            pending: (view) => dueResults(view, outcomes)
          })).pipe(
            Effect.catchDefect(() => Effect.succeed(failedOutcome("tool_defect", texts.defect(call.tool.name)))),
            // A signal whose service was closed is a call that did not happen; a closed session fails the next append.
            Effect.catchTag(
              "Disposed",
              () => Effect.succeed(refused("tool_closed", "session", texts.noLongerAvailable(call.tool.name)))
            ),
            Effect.map((outcome) => void outcomes.set(call.record.id, outcome))
          )
        )

      const runAll = (
        session: Session,
        calls: ReadonlyArray<PreparedCall>,
        outcomes: Map<string, ToolOutcome>,
        options: RunOptions
      ) =>
        Effect.gen(function*() {
          const open = openCalls(session.view())
          const started = new Set(open.filter((call) => call.status === "started").map((call) => call.record.id))
          const rest = calls.filter(({ record: { id } }) =>
            !outcomes.has(id) && open.some(({ record }) => record.id === id)
          )
          while (rest.length > 0) {
            const group = takeGroup(rest)
            const runnable: Array<ReadyCall> = []
            for (const call of group) {
              const stopped = started.has(call.record.id) ? undefined : fault(session.view(), call)
              if (stopped !== undefined) outcomes.set(call.record.id, stopped)
              else if (call._tag === "Ready") runnable.push(call)
            }
            const [first] = runnable
            if (first === undefined) continue
            if (first.tool.signal !== undefined) yield* signal(session, first, outcomes)
            else if (!isPlainRead(first) || hooks.items().some((hook) => hook.before !== undefined)) {
              for (const call of runnable) yield* single(session, call, outcomes, options)
            } else {
              const starting = runnable.filter((call) => !started.has(call.record.id))
              if (starting.length > 0) {
                yield* session.transact((view) => ({
                  events: [
                    ...dueResults(view, outcomes),
                    ...starting.map((call) => startEvent(call, { by: "none" }))
                  ],
                  value: undefined
                }))
              }
              yield* Effect.forEach(runnable, (call) => execute(session, call, outcomes, options), {
                concurrency: "unbounded",
                discard: true
              })
            }
          }
          yield* session.transact((view) => ({ events: dueResults(view, outcomes), value: undefined }))
        })

      return ToolRunner.of({
        prepare: (session, calls) =>
          Effect.forEach(calls, (call) => prepareCall(catalog, call, contextOf(session, call))),
        startable: (view, calls) => {
          if (hooks.items().some((hook) => hook.before !== undefined)) return []
          const events: Array<NewEvent> = []
          for (const call of calls) {
            if (call._tag === "Fault" || !isPlainRead(call) || fault(view, call) !== undefined) break
            events.push(startEvent(call, { by: "none" }))
          }
          return events
        },
        run: (session, calls, options = {}) =>
          Effect.suspend(() => {
            const outcomes = new Map<string, ToolOutcome>(options.known)
            return runAll(session, calls, outcomes, options).pipe(
              Effect.onInterrupt(() =>
                Effect.ignore(session.transact((view) => ({
                  events: closeBatch(view, outcomes, interruptedCall(catalog, view)),
                  value: undefined
                })))
              )
            )
          }).pipe(fence.guard)
      })
    })
  )
}

/** A reading call that asks nobody: the only kind that shares its time with others. */
const isPlainRead = (call: ReadyCall): boolean =>
  call.judgement.safety === "read" && call.tool.signal === undefined &&
  !(Exit.isSuccess(call.params) && mayAsk(call, call.params.value))

const mayAsk = (call: ReadyCall, params: unknown): boolean => {
  try {
    return call.tool.traits.needsApproval?.(params) === true
  } catch {
    // It is then looked at alone, and refused.
    return true
  }
}

/** Takes the next calls that run together off the front: a run of reading calls, or one call alone. */
const takeGroup = (rest: Array<PreparedCall>): ReadonlyArray<PreparedCall> => {
  const alone = (call: PreparedCall) => call._tag === "Ready" && !isPlainRead(call)
  const end = rest.findIndex(alone)
  return rest.splice(0, end === 0 ? 1 : end === -1 ? rest.length : end)
}

const hashOf = (call: ReadyCall): string => sha256(`${call.tool.name}\n${call.text}`)
