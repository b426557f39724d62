/** Runs one command line to its end, whatever end that is. */
import { Effect, Exit } from "effect"
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { type KeptOutput, OutputBuffer } from "./OutputBuffer.ts"
import { type ProcessGroup, type ShellExit, startGroup } from "./ProcessGroup.ts"
import { processTexts } from "./texts.ts"
import { toWorkspaceError } from "./WorkspaceError.ts"

export interface CommandRequest {
  readonly command: string
  readonly shell: string
  readonly cwd: string
  readonly env: { readonly [name: string]: string }
  readonly timeoutMillis: number
  readonly graceMillis: number
  /** Bytes of output that are held in memory. */
  readonly keepBytes: number
}

export interface CommandOutcome {
  readonly output: KeptOutput
  /** `undefined`: it was ended after its time. */
  readonly exit: ShellExit | undefined
  readonly millis: number
  /** Whether processes of the group were left when the shell had ended. */
  readonly background: boolean
  /** Processes that could not be ended. */
  readonly survivors: number
}

/** After the shell's end, output that is still on its way is read until the pipe is quiet for this long, in milliseconds. */
const QUIET_MILLIS = 100
/** ... and no longer than this in all: a background process may hold the pipe for ever. */
const DRAIN_MILLIS = 600

// The pipe ends when its last holder does. A holder that stays and says nothing is a background process.
const drain = async (group: ProcessGroup, lastData: () => number): Promise<void> => {
  const stop = Date.now() + DRAIN_MILLIS
  const ended = new Promise<true>((resolve) => {
    if (group.output.readableEnded || group.output.destroyed) resolve(true)
    group.output.once("close", () => resolve(true))
  })
  const begun = Date.now()
  while (Date.now() < stop) {
    if (await Promise.race([ended, sleep(10, false)])) return
    if (Date.now() - Math.max(lastData(), begun) >= QUIET_MILLIS) return
  }
}

/**
 * Runs a command. However this effect ends - exit, time-out, interruption - no process of its group is left when it
 * returns, except those that the system does not let go (`survivors`).
 */
export const runCommand = (request: CommandRequest) =>
  Effect.acquireUseRelease(
    Effect.tryPromise({
      try: () => startGroup({ ...request, mark: randomUUID() }),
      catch: toWorkspaceError("start a process in", ".")
    }),
    (group) =>
      Effect.promise(async (signal): Promise<CommandOutcome> => {
        const begun = performance.now()
        const buffer = new OutputBuffer(request.keepBytes)
        let last = Date.now()
        group.output.on("data", (chunk: Buffer) => {
          last = Date.now()
          buffer.push(chunk)
        })
        group.output.on("error", () => undefined)
        const timer = new AbortController()
        const exit = await Promise.race([
          group.exited,
          sleep(request.timeoutMillis, undefined, { signal: AbortSignal.any([signal, timer.signal]) }).catch(() =>
            undefined
          )
        ])
        timer.abort()
        const millis = performance.now() - begun
        if (exit === undefined) {
          const survivors = signal.aborted ? 0 : await group.end()
          await drain(group, () => last)
          return { output: buffer.read(), exit, millis, background: false, survivors }
        }
        await drain(group, () => last)
        const background = await group.alive()
        const survivors = background ? await group.end() : 0
        return { output: buffer.read(), exit, millis, background, survivors }
      }),
    (group, result) =>
      Effect.gen(function*() {
        // An interrupted call has not ended its group yet; the turn is over only when it has.
        const survivors = Exit.isFailure(result) ? yield* Effect.promise(() => group.end()) : 0
        group.release()
        group.output.destroy()
        if (survivors > 0) yield* Effect.logWarning(processTexts.survivors(survivors), request.command)
      })
  )
