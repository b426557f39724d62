import { Journal, SessionId } from "@holdfast/core"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { JournalSql } from "../src/index.ts"

const s = SessionId.make("s")
const ev = (seq: number, data = {}) => ({ session: s, seq, at: seq, type: "x-t", version: 1, data })
it.effect("smoke", () =>
  Effect.gen(function*() {
    const j = yield* Journal
    const w = yield* j.writer(s)
    yield* w.append([ev(0), ev(1)])
    yield* w.append([ev(2)])
    const e = yield* Effect.flip(w.append([ev(2)]))
    assert.strictEqual(e._tag, "JournalConflict")
    console.log(e.message, yield* Stream.runCollect(j.read(s)), yield* j.list)
    yield* j.remove(s)
    console.log(yield* Stream.runCollect(j.read(s)), yield* j.list)
  }).pipe(Effect.provide(JournalSql.layerSqlite({ filename: join(mkdtempSync(join(tmpdir(), "hf-")), "a/b.db") }))))
