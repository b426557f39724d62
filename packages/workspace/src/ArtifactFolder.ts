/** Keeps texts that are too long for the model as files, one folder for each session. */
import { Effect } from "effect"
import { mkdir, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { codeOf } from "./WorkspaceError.ts"

/** Letters, digits and a few marks; anything else, and a dot at the start, becomes `_`. */
const safeName = (name: string): string => {
  const safe = name.replaceAll(/[^\p{L}\p{N}._-]/gu, "_").replace(/^\.+/, "_").slice(0, 100)
  return safe === "" ? "_" : safe
}

const numbered = (name: string, number: number): string => {
  if (number === 1) return name
  const dot = name.lastIndexOf(".")
  return dot > 0 ? `${name.slice(0, dot)}-${number}${name.slice(dot)}` : `${name}-${number}`
}

/**
 * A way to keep texts, for `CallContext.keep`: writes `dir/<session>/<name>` and returns its path. A name that is taken
 * gets a number; nothing is overwritten. If the text cannot be written, the answer is `undefined` and a warning is
 * logged: the call whose text it is has done its work.
 *
 * @example
 * const keep = artifactFolder("./artifacts")
 * yield* keep("session-1", "call-1.txt", output) // ".../artifacts/session-1/call-1.txt"
 */
export const artifactFolder =
  (dir: string) => (session: string, name: string, text: string): Effect.Effect<string | undefined> => {
    const place = join(resolve(dir), safeName(session))
    return Effect.tryPromise(async () => {
      await mkdir(place, { recursive: true })
      for (let number = 1;; number++) {
        const path = join(place, numbered(safeName(name), number))
        try {
          await writeFile(path, text, { flag: "wx" })
          return path
        } catch (error) {
          if (codeOf(error) !== "EEXIST") throw error
        }
      }
    }).pipe(Effect.catch((error) => Effect.as(Effect.logWarning("A text could not be kept", error.cause), undefined)))
  }
