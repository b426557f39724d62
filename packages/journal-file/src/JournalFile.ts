/** The journal in files: a folder a session, a line a transaction. */
import { Journal, JournalConflict, JournalUnavailable, type SessionId } from "@holdfast/core"
import { Effect, Layer, Stream } from "effect"
import { mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { listSessions } from "./Catalogue.ts"
import { syncDirectory } from "./LogFile.ts"
import { missing, readLog, unavailable } from "./LogReader.ts"
import { LogWriter } from "./LogWriter.ts"
import { SessionFolder } from "./SessionFolder.ts"
import { SessionLock } from "./SessionLock.ts"

export interface FileOptions {
  /** The folder that holds the sessions; it is made when it is missing. */
  readonly directory: string
}

/** A folder that vanishes twice between its making and its lock is not bad luck any more. */
const LOCK_TRIES = 3

const attempt = <A>(operation: string, run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: unavailable(operation) })

const make = ({ directory }: FileOptions) =>
  Effect.gen(function*() {
    const live = new Map<SessionId, LogWriter>()
    let accepting = true

    const closed = (operation: string) =>
      new JournalUnavailable({ operation, detail: "the journal is closed", unsure: false })

    /** The folder may go between its making and the lock: an empty one is deleted by whoever closes it. */
    const lock = (operation: string, folder: SessionFolder) =>
      attempt(operation, async () => {
        for (let tries = 1;; tries++) {
          await mkdir(folder.path, { recursive: true, mode: 0o700 })
          try {
            return SessionLock.take(folder.lock)
          } catch (cause) {
            if (tries === LOCK_TRIES) throw cause
          }
        }
      })

    const locked = (operation: string, folder: SessionFolder) =>
      Effect.acquireRelease(lock(operation, folder), (held) => Effect.sync(() => held?.release()))

    const discard = async (folder: SessionFolder) => {
      try {
        // The log is there, and empty, when the disk was too full for its first line.
        if ((await stat(folder.log).catch(missing))?.size === 0) await rm(folder.log)
        await rm(folder.lock, { force: true })
        await rmdir(folder.path)
      } catch {
        // There is something else in it, which is not ours to delete.
      }
    }

    const writer = (session: SessionId) =>
      Effect.gen(function*() {
        if (!accepting) return yield* closed("open a session")
        const folder = SessionFolder.of(directory, session)
        if ((yield* locked("open a session", folder)) === undefined) {
          return yield* new JournalConflict({
            session,
            seq: 0,
            detail: "another program has it open; close it there, or wait until it ends"
          })
        }
        const log = yield* Effect.acquireRelease(
          Effect.tap(
            Effect.mapError(LogWriter.make(session, folder), unavailable("open a session")),
            (made) => Effect.sync(() => live.set(session, made))
          ),
          (made) =>
            Effect.gen(function*() {
              yield* made.close(closed("append"))
              if (live.get(session) !== made) return
              live.delete(session)
              // A session that was opened and never written to leaves nothing behind.
              if (made.length() === 0) yield* Effect.promise(() => discard(folder))
            })
        )
        return { append: log.append }
      })

    /** Renamed first: a deletion that is cut short leaves no half session. */
    const erase = async (folder: SessionFolder) => {
      const doomed = join(directory, `${SessionFolder.removedPrefix}${crypto.randomUUID()}`)
      await rename(folder.path, doomed)
      await syncDirectory(directory)
      await rm(doomed, { recursive: true, force: true })
    }

    const remove = (session: SessionId) =>
      Effect.gen(function*() {
        const folder = SessionFolder.of(directory, session)
        const log = live.get(session)
        if (log !== undefined) {
          live.delete(session)
          yield* log.close(new JournalConflict({ session, seq: log.length(), detail: "the session was deleted" }))
          return yield* attempt("remove", () => erase(folder))
        }
        const there = yield* attempt("remove", () => readdir(folder.path).catch(missing))
        if (there === undefined) return
        if ((yield* locked("remove", folder)) === undefined) {
          const detail = `session ${session} is open in another program`
          return yield* new JournalUnavailable({ operation: "remove", detail, unsure: false })
        }
        yield* attempt("remove", () => erase(folder))
      })

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        accepting = false
        return Effect.forEach([...live.values()], (log) => log.close(closed("append")), { discard: true })
      })
    )

    return Journal.of({
      writer,
      read: (session, from = 0) =>
        Stream.suspend(() => readLog(session, SessionFolder.of(directory, session), from, live.get(session)?.size())),
      list: listSessions(directory),
      remove: (session) => Effect.scoped(remove(session))
    })
  })

/**
 * Keeps each session in a folder of its own, as JSON Lines that people and programs can read. An append returns when its
 * line is flushed to the disk. One process at a time can write to a session; a second one gets `JournalConflict` when it
 * opens it, also by way of a symbolic link.
 *
 * A write that was cut short is moved to a `torn-*.jsonl` beside the log when the session is opened for writing again. A
 * line in the middle that cannot be read is `JournalCorrupt` with its byte offset, after everything before it.
 *
 * @example
 * const journal = JournalFile.layer({ directory: "sessions" })
 */
const layer = (options: FileOptions): Layer.Layer<Journal> => Layer.effect(Journal, make(options))

/** Layers of `Journal`. */
export const JournalFile = { layer }
