/** What sessions there are, from the first and the last line of each log. */
import { type JournalUnavailable, SessionId, type SessionSummary } from "@holdfast/core"
import { Effect, Stream } from "effect"
import { open, readdir } from "node:fs/promises"
import { join } from "node:path"
import { missing, readLog, unavailable } from "./LogReader.ts"
import { DamagedTail, readHeader, readTail } from "./LogTail.ts"
import { SessionFolder } from "./SessionFolder.ts"

/** How many sessions are looked at at the same time: Node's pool has four threads; some of the steps wait elsewhere. */
const CONCURRENCY = 16

interface Listed extends SessionSummary {
  readonly stamp: number
}

/** What a session is called whose last line is damaged: how much of it is intact takes a walk through the log. */
interface Damaged {
  readonly session: SessionId
  readonly createdAt: number
}

const look = async (folder: SessionFolder): Promise<Listed | Damaged | undefined> => {
  const file = await open(folder.log, "r").catch(missing)
  if (file === undefined) return undefined
  try {
    const { size } = await file.stat()
    const { header } = await readHeader(file, size)
    if (header === undefined) return undefined
    const damaged = { session: SessionId.make(header.session), createdAt: header.createdAt }
    const tail = await readTail(file, size).catch((cause: unknown) => {
      if (cause instanceof DamagedTail) return undefined
      throw cause
    })
    if (tail === undefined) return damaged
    const { last } = tail
    return last && { ...damaged, events: last.seq + last.count, updatedAt: last.at, stamp: last.stamp }
  } finally {
    await file.close()
  }
}

const summarize = (folder: SessionFolder): Effect.Effect<Listed | undefined, JournalUnavailable> =>
  Effect.flatMap(Effect.tryPromise({ try: () => look(folder), catch: unavailable("list") }), (found) => {
    if (found === undefined || "stamp" in found) return Effect.succeed(found)
    let intact: Listed = { ...found, events: 0, updatedAt: found.createdAt, stamp: 0 }
    return readLog(found.session, folder, 0, undefined).pipe(
      Stream.runForEach(({ at, seq }) =>
        Effect.sync(() => {
          intact = { ...found, events: seq + 1, updatedAt: at, stamp: at * 1000 }
        })
      ),
      Effect.catchTag("JournalCorrupt", () => Effect.void),
      Effect.map(() => intact)
    )
  })

/** A session whose end is damaged is listed with what is intact. A folder whose log has no header is none. */
export const listSessions = (directory: string): Effect.Effect<ReadonlyArray<SessionSummary>, JournalUnavailable> =>
  Effect.gen(function*() {
    const names = yield* Effect.tryPromise({ try: () => readdir(directory).catch(missing), catch: unavailable("list") })
    const found = yield* Effect.forEach(
      (names ?? []).filter((name) => !name.startsWith(".")),
      (name) => summarize(SessionFolder.at(join(directory, name))),
      { concurrency: CONCURRENCY }
    )
    return found.filter((entry) => entry !== undefined).sort((a, b) => b.stamp - a.stamp)
      .map(({ createdAt, events, session, updatedAt }): SessionSummary => ({ session, events, createdAt, updatedAt }))
  })
