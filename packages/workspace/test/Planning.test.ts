import { assert, it } from "@effect/vitest"
import { ToolCatalog } from "@holdfast/core"
import { Effect, Layer } from "effect"
import { inOrder } from "../../core/test/support/ScriptedModel.ts"
import { log, results, select, start, world } from "../../core/test/support/World.ts"
import { WorkspaceTools } from "../src/index.ts"
import { put, temporaryFolder } from "./support.ts"

const reading: { readonly [tool: string]: object } = {
  read_file: { path: "a.txt" },
  list_dir: {},
  glob: { pattern: "*.txt" },
  grep: { pattern: "text" }
}

const changing: { readonly [tool: string]: object } = {
  write_file: { path: "b.txt", content: "new" },
  edit_file: { path: "a.txt", old_string: "text", new_string: "other" },
  delete_path: { path: "a.txt" },
  run_command: { command: "touch c.txt" }
}

it.live("PM G14: every tool here that only reads runs while planning, every other is refused", () =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* temporaryFolder
    yield* put(root, { "a.txt": "some text" })
    const calls = Object.entries({ ...reading, ...changing })
    const w = world({
      script: inOrder({ calls }, { text: "done" }),
      extra: Layer.orDie(Layer.effectDiscard(Effect.void).pipe(Layer.provideMerge(WorkspaceTools.layer({ root }))))
    })
    yield* Effect.gen(function*() {
      const shipped = (yield* ToolCatalog).all().map((tool) => tool.name).filter((name) =>
        !["look", "change", "wreck", "plain", "ask_user", "enter_plan_mode", "exit_plan_mode"].includes(name)
      )
      assert.deepStrictEqual(shipped, calls.map(([name]) => name).sort())
      const agent = yield* start()
      yield* select(agent, true)
      yield* agent.prompt("look around")
      for (const result of results(yield* log(agent.session))) {
        const expected = result.name in reading ? ["ok", undefined] : ["refused", "plan_gate"]
        assert.deepStrictEqual([result.outcome, result.code], expected, result.name)
      }
    }).pipe(Effect.provide(w.layer))
  })))
