/** A session that another process writes to while this one has it open. */
import { Journal, SessionEvent, SessionId, Sessions } from "@holdfast/core"
import { acknowledged, killed } from "@holdfast/testing"
import { Effect, Layer, Stream } from "effect"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert } from "vitest"

const script = fileURLToPath(new URL("writer.ts", import.meta.url))
const said = (text: string) => SessionEvent.event("message/user", { text, source: { kind: "user" } })

export interface TwoProcesses {
  readonly layer: Layer.Layer<Journal, unknown>
  /** The file or the address of the journal, for the other process. */
  readonly place: string
}

/** Runs it: the slower one gets a conflict, its handle is dead, and the log is what the other one wrote. */
export const twoProcesses = ({ layer, place }: TwoProcesses): Promise<void> =>
  Effect.runPromise(
    Effect.scoped(Effect.gen(function*() {
      const id = SessionId.make(`two-${crypto.randomUUID()}`)
      const session = yield* (yield* Sessions).create({ id })
      const child = spawn(process.execPath, ["--conditions=source", script, place, id])
      yield* Effect.promise(() => acknowledged(child))
      const error = yield* Effect.flip(session.transact(() => ({ events: [said("late")], value: undefined })))
      assert.deepInclude(error, { _tag: "JournalConflict", session: id })
      // The handle is dead, and says so without asking the journal again.
      const again = yield* Effect.flip(session.transact(() => ({ events: [said("later")], value: undefined })))
      assert.strictEqual(again, error)
      yield* Effect.promise(() => killed(child))
      const stored = yield* Stream.runCollect((yield* Journal).read(id))
      assert.deepStrictEqual(stored.map(({ seq }) => seq), stored.map((_, i) => i))
      assert.deepStrictEqual(stored.filter(({ type }) => type === "message/user"), [])
    })).pipe(Effect.provide(Sessions.layer.pipe(Layer.provideMerge(layer))))
  )
