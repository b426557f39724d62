/** The tool that runs processes: `run_command`. */
import { type CallContext, CurrentCall, type InvalidTool, ToolCatalog, type ToolNameTaken } from "@holdfast/core"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { existsSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"
import { type CommandOutcome, runCommand } from "./Command.ts"
import { classifyCommand, possiblePaths } from "./CommandClassifier.ts"
import { commandEnvironment, type EnvironmentOptions, readOnlyEnvironment } from "./Environment.ts"
import { cutMiddle, ends, type KeptOutput, outputText } from "./OutputBuffer.ts"
import { descriptions, parameters, previewTexts, processTexts } from "./texts.ts"
import { WorkspaceFailure } from "./WorkspaceFailure.ts"
import { Workspace } from "./Workspace.ts"

const DEFAULT_SECONDS = 120
const MAX_SECONDS = 600

export interface CommandOptions {
  /** The shell, called with `-c`. Default: `/bin/bash` where there is one, else `/bin/sh`. */
  readonly shell?: string
  /** What of the harness's environment commands see. Default: all that does not look like a secret. */
  readonly environment?: EnvironmentOptions
  /** Milliseconds between SIGTERM and SIGKILL. Default 1000: a call that is interrupted is over within two seconds. */
  readonly graceMillis?: number
  /** Characters of output that the model sees. Default 30,000, about 8,000 tokens. */
  readonly maxCharacters?: number
  /** Bytes of output that are kept for the artifact, head and tail together. Default 8,000,000. */
  readonly keepBytes?: number
  /** Whether commands that only read are of class `read` (see `classifyCommand`). Default `false`. */
  readonly readOnlyCommands?: boolean
}

const RunCommand = Tool.make("run_command", {
  description: descriptions.runCommand,
  parameters: Schema.Struct({
    command: Schema.NonEmptyString.annotate({ description: parameters.command }),
    timeout_seconds: Schema.optionalKey(
      Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 1, maximum: MAX_SECONDS })))
        .annotate({ description: parameters.timeout })
    )
  }),
  success: Schema.String,
  failure: WorkspaceFailure
}).annotate(Tool.Readonly, false).annotate(Tool.Destructive, true).annotate(Tool.Idempotent, false)
  .annotate(Tool.OpenWorld, true)

/** The declaration of the process tool. */
export const CommandToolkit = Toolkit.make(RunCommand)

type Params = Tool.Parameters<typeof RunCommand>

/** The room that the notes after the output take, at most. */
const NOTE_CHARACTERS = 600

const describe = (outcome: CommandOutcome, seconds: number): string => {
  const duration = processTexts.duration(outcome.millis)
  const { exit } = outcome
  if (exit === undefined) return processTexts.timedOut(seconds)
  return exit.signal === null
    ? processTexts.exit(exit.code ?? 0, duration)
    : processTexts.signal(exit.signal, duration)
}

/** What the model sees of the output: without control sequences, and without its middle if it is long. */
const shorten = (output: KeptOutput, limit: number): { readonly text: string; readonly cut: boolean } => {
  // Eight bytes for each shown character leave room for control sequences and for characters of several bytes.
  const outer = ends(output, limit * 8)
  const text = stripVTControlCharacters(outputText(outer, () => ""))
  return text.length > limit
    ? { text: cutMiddle(text, limit, (cut) => processTexts.cut(cut + outer.lost)), cut: true }
    : outer.lost > 0
    ? { text: stripVTControlCharacters(outputText(outer, processTexts.cut)), cut: true }
    : { text, cut: false }
}

const make = (options: CommandOptions) =>
  CommandToolkit.toLayer(Effect.gen(function*() {
    const workspace = yield* Workspace
    const shell = options.shell ?? (existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh")
    const limit = Math.max(1000, (options.maxCharacters ?? 30_000) - NOTE_CHARACTERS)

    return CommandToolkit.of({
      run_command: Effect.fn("run_command")(function*(params) {
        const call = yield* CurrentCall
        const { root } = yield* workspace.bounds
        const seconds = params.timeout_seconds ?? DEFAULT_SECONDS
        const env = { ...commandEnvironment(process.env, options.environment), PWD: root }
        // Nobody was asked about a command that only reads: a path that has become a link out of the workspace since then stops it.
        const unasked = call?.safety === "read"
        if (unasked) {
          yield* Effect.forEach(possiblePaths(params.command), (path) => workspace.locate(path, "read"), {
            discard: true
          })
        }
        const outcome = yield* workspace.guard(runCommand({
          command: params.command,
          shell,
          cwd: root,
          env: unasked ? readOnlyEnvironment(env, root) : env,
          timeoutMillis: seconds * 1000,
          graceMillis: options.graceMillis ?? 1000,
          keepBytes: options.keepBytes ?? 8_000_000
        }))
        const shown = shorten(outcome.output, limit)
        const notes: Array<string> = []
        if (shown.cut) {
          const whole = outputText(outcome.output, processTexts.cut)
          const kept = call === undefined ? undefined : yield* call.keep(`${call.call}.txt`, whole)
          if (kept !== undefined) {
            notes.push(outcome.output.lost === 0 ? processTexts.kept(kept) : processTexts.keptInPart(kept))
          }
        }
        if (outcome.background) notes.push(processTexts.backgroundEnded)
        if (outcome.survivors > 0) notes.push(processTexts.survivors(outcome.survivors))
        notes.push(describe(outcome, seconds))
        const text = shown.text.replace(/\s+$/, "")
        return `${text === "" ? processTexts.noOutput : text}\n\n${notes.join("\n")}`
      })
    })
  }))

/** A command line as a title: the preview shows the whole of it. */
const oneLine = (command: string): string => {
  const line = command.trim().replaceAll(/\s+/g, " ")
  return line.length <= 100 ? line : `${line.slice(0, 97)}...`
}

// A link in the workspace can lead out of it, which no look at the words of a command line shows.
const onlyReadsInside = (workspace: Workspace["Service"], command: string): Effect.Effect<boolean> =>
  classifyCommand(command) === "danger"
    ? Effect.succeed(false)
    : Effect.isSuccess(Effect.forEach(possiblePaths(command), (path) => workspace.locate(path, "read")))

/** The process tool, of class `danger`. */
export const CommandTools: {
  /**
   * Adds `run_command`.
   *
   * @example
   * CommandTools.layer({ environment: { allow: ["NPM_TOKEN"] } })
   */
  readonly layer: (
    options?: CommandOptions
  ) => Layer.Layer<never, ToolNameTaken | InvalidTool, ToolCatalog | Workspace>
} = {
  layer: (options = {}) =>
    ToolCatalog.add(CommandToolkit, {
      traits: Effect.map(Workspace, (workspace) => ({
        run_command: {
          title: (params: Params) => `run_command ${oneLine(params.command)}`,
          preview: (params: Params, call: CallContext) =>
            Effect.map(workspace.bounds, ({ root }) => ({
              kind: "command" as const,
              command: params.command,
              cwd: root
            })).pipe(Effect.provideService(CurrentCall, call)),
          grantKey: (params: Params) => `run_command:${params.command}`,
          grantLabel: () => previewTexts.exactCommand,
          ...(options.readOnlyCommands === true
            ? {
              classify: (params: Params) =>
                Effect.map(onlyReadsInside(workspace, params.command), (reads) => ({
                  safety: reads ? "read" as const : "danger" as const
                }))
            }
            : {})
        }
      }))
    }).pipe(Layer.provide(make(options)))
}
