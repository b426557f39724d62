/**
 * An interaction provider on a folder: a question is a file in it, and the answer is what a person writes into that file.
 *
 * Everything that the harness asks of a provider is here: `ask` shows the question and waits as long as it takes; interrupting it takes
 * the file away (into `withdrawn/`); an answered one goes into `answered/`; trouble with the disk is a typed error and never an answer.
 * One program at a time uses a folder.
 */
import {
  type Answer,
  Fence,
  Interaction,
  InteractionFailed,
  InteractionUnavailable,
  type Question
} from "@holdfast/core"
import { Deferred, Effect, Exit, Layer } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { watch } from "node:fs"
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { read, render } from "./QuestionFile.ts"

export interface FolderPersonOptions {
  readonly folder: string
  /** How many questions lie in the folder at once; 2 by default. */
  readonly capacity?: number
}

/** The end of every file that is a question. */
export const ENDING = ".question.md"

const provider = "folder"

const fails = (what: string) => (cause: unknown) =>
  new InteractionFailed({ provider, detail: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })

/** Runs code that touches the disk. */
const disk = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, InteractionFailed> =>
  Effect.tryPromise({ try: run, catch: fails(what) })

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** A name that a person can read and that no other question has. */
const fileName = (question: Question): string => {
  const words = question.title.normalize("NFKD").replaceAll(/[^\p{L}\p{N}]+/gu, "-").replaceAll(/^-+|-+$/g, "").slice(
    0,
    40
  )
  return `${words.toLowerCase()}-${createHash("sha256").update(question.id).digest("hex").slice(0, 8)}${ENDING}`
}

const make = (options: FolderPersonOptions) =>
  Effect.gen(function*() {
    const { folder } = options
    yield* disk("making the folder", async () => {
      await mkdir(join(folder, "answered"), { recursive: true })
      await mkdir(join(folder, "withdrawn"), { recursive: true })
    })

    // Whoever waits for a change takes `changed` before they look, so that no change falls between looking and waiting.
    let changed = Deferred.makeUnsafe<void>()
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const watcher = watch(folder, () => {
          const before = changed
          changed = Deferred.makeUnsafe<void>()
          Deferred.doneUnsafe(before, Effect.void)
        })
        // A folder that is removed ends the watching; the next look at a file says so in its own words.
        watcher.on("error", () => watcher.close())
        return watcher
      }),
      (watcher) => Effect.sync(() => watcher.close())
    )
    /** Waits for the next change in the folder, or a second: some folders tell of no changes. */
    const nextLook = (change: Deferred.Deferred<void>) =>
      Effect.raceFirst(Deferred.await(change), Effect.sleep("1 second"))

    /** The names of the questions that wait for an answer. */
    const open = new Set<string>()

    // An editor that still has a withdrawn question open saves it under its old name. Nobody waits for that file, so it goes, too.
    const tidy = disk("tidying the folder", async () => {
      for (const name of await readdir(folder)) {
        if (name.endsWith(ENDING) && !open.has(name)) await rename(join(folder, name), join(folder, "withdrawn", name))
      }
    })
    // First of all, the questions of a program that is gone.
    yield* tidy
    yield* Effect.forkScoped(Effect.forever(Effect.suspend(() => {
      const change = changed
      return Effect.andThen(Effect.ignore(tidy), nextLook(change))
    })))
    const fence = yield* Fence.make("FolderPerson")

    /** Puts a text in place in one step: nobody ever sees half of a file. With `replace: false`, a file that is there stays. */
    const put = (path: string, text: string, replace: boolean) =>
      disk("writing a question", async () => {
        const draft = join(folder, `.${randomBytes(6).toString("hex")}.tmp`)
        try {
          await writeFile(draft, text, { flag: "wx" })
          if (replace) await rename(draft, path)
          else await link(draft, path)
        } finally {
          await rm(draft, { force: true })
        }
      })

    const content = (path: string): Effect.Effect<string | undefined, InteractionFailed> =>
      disk("reading an answer", async () => {
        try {
          return await readFile(path, "utf8")
        } catch (cause) {
          if (isMissing(cause)) return undefined
          throw cause
        }
      })

    const answerTo = (question: Question, secret: string, path: string): Effect.Effect<Answer, InteractionFailed> =>
      Effect.gen(function*() {
        // A file may be missing or in pieces for a moment while an editor saves it; only what stays so is put right.
        let odd: string | undefined
        while (true) {
          const change = changed
          const text = yield* content(path)
          const reading = text === undefined ? { _tag: "Broken" as const } : read(question, secret, text)
          if (reading._tag === "Sent") return reading.answer
          if (reading._tag === "Unclear") {
            yield* put(path, render(question, secret, reading.reason, reading.draft), true)
          } else if (reading._tag === "Broken") {
            const now = text ?? ""
            if (odd === now) {
              if (text !== undefined) yield* put(`${path}.unreadable`, text, true)
              yield* text === undefined
                ? Effect.catch(put(path, render(question, secret), false), (error) =>
                  // The editor was quicker; or the folder is gone, and then the question cannot be shown any more.
                  Effect.flatMap(content(path), (there) => there === undefined ? Effect.fail(error) : Effect.void))
                : put(
                  path,
                  render(question, secret, "The lines of the answer were gone, so here they are again."),
                  true
                )
              odd = undefined
            } else {
              odd = now
              yield* Effect.sleep("1 second")
              continue
            }
          }
          if (reading._tag !== "Broken") odd = undefined
          yield* nextLook(change)
        }
      })

    const ask = (question: Question): Effect.Effect<Answer, InteractionFailed | InteractionUnavailable> =>
      Effect.suspend(() => {
        const name = fileName(question)
        const path = join(folder, name)
        const secret = randomBytes(6).toString("hex")
        return Effect.acquireUseRelease(
          Effect.suspend(() => (open.add(name),
            Effect.onError(put(path, render(question, secret), true), () => Effect.sync(() => open.delete(name))))
          ),
          () => answerTo(question, secret, path),
          // Also when the ask is interrupted: what the person does with the file from then on has no effect.
          (_, exit) =>
            Effect.andThen(
              Effect.ignore(
                disk("moving a question aside", () =>
                  rename(path, join(folder, Exit.isSuccess(exit) ? "answered" : "withdrawn", name)))
              ),
              Effect.sync(() =>
                open.delete(name)
              )
            )
        )
      }).pipe(
        fence.guard,
        Effect.catchTag(
          "Disposed",
          () => Effect.fail(new InteractionUnavailable({ detail: "the folder is not watched any more" }))
        )
      )

    return Interaction.of({ name: provider, capacity: options.capacity ?? 2, ask })
  })

export const FolderPerson: {
  /**
   * The provider. Its folder is made if it is not there.
   *
   * @example
   * const Person = FolderPerson.layer({ folder: "questions" })
   */
  readonly layer: (options: FolderPersonOptions) => Layer.Layer<Interaction, InteractionFailed>
} = { layer: (options) => Layer.effect(Interaction, make(options)) }
