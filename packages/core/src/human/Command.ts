/**
 * What a person types with a leading slash: said to the harness, never to the model.
 *
 * Commands and their replies stay out of the history. A command may steer a message to the model, which then is an
 * ordinary user message.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { Disposed } from "../Fence.ts"
import type { Session, TransactError } from "../journal/Session.ts"
import { Registry } from "../Registry.ts"

export interface CommandContext {
  readonly session: Session
  /** Sends a text to the model as a user message of the next step. */
  readonly steer: (text: string) => Effect.Effect<void, TransactError | Disposed>
}

export interface Command {
  readonly name: string
  readonly summary: string
  /** `args` is what follows the name, as it was typed. The result is shown to the person. */
  readonly run: (args: string, context: CommandContext) => Effect.Effect<string, TransactError | Disposed>
}

/** There is no such command. `known` are those that there are. */
export class UnknownCommand extends Schema.TaggedError<UnknownCommand>()("UnknownCommand", {
  name: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message() {
    return `There is no command /${this.name}. Known: ${this.known.map((name) => `/${name}`).join(", ") || "none"}`
  }
}

/** A line that starts with a slash and a letter is a command: its name, and the rest as it was typed. */
export const parseCommand = (line: string): { readonly name: string; readonly args: string } | undefined => {
  const match = /^\/([A-Za-z][A-Za-z0-9_-]*)(?:\s([\s\S]*))?$/.exec(line)
  return match === null ? undefined : { name: match[1]!, args: match[2] ?? "" }
}

export class Commands extends Context.Service<Commands, Registry<Command>>()("@holdfast/core/Commands") {
  static readonly layer: Layer.Layer<Commands> = Layer.sync(Commands, () => Registry.make())
}

/** Runs a command by its exact name. */
export const runCommand = (
  commands: Commands["Service"],
  name: string,
  args: string,
  context: CommandContext
): Effect.Effect<string, UnknownCommand | TransactError | Disposed> => {
  const command = commands.items().find((item) => item.name === name)
  return command === undefined
    ? Effect.fail(new UnknownCommand({ name, known: commands.items().map((item) => item.name) }))
    : command.run(args, context)
}
