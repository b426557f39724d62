/** The terminal provider in a real pseudo-terminal, and a person who reads its screen and presses keys: for the conformance suite. */
import { Answer, Interaction, InteractionFailed, InteractionUnavailable, type Question } from "@holdfast/core"
import { Person } from "@holdfast/testing"
import { Context, Deferred, Effect, Layer, Schema } from "effect"
import { createServer, type Socket } from "node:net"
import type { AddressInfo } from "node:net"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import type { FromTerminal, ToTerminal } from "../programs/serve.ts"
import { type KeyName, Pty } from "./Pty.ts"

/** A program in a terminal, started once; each build of its layer is a new provider in it. */
export class TerminalProgram implements AsyncDisposable {
  static async start(): Promise<TerminalProgram> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const connected = new Promise<Socket>((resolve) => server.once("connection", resolve))
    // Wide enough that no line of the suite is wrapped, so what was shown can be compared with what was sent.
    const pty = Pty.node(new URL("../programs/serve.ts", import.meta.url), [
      String((server.address() as AddressInfo).port)
    ], {
      columns: 400,
      rows: 60,
      timeout: 60_000
    })
    const gone = pty.exit().then(
      () => Promise.reject(new Error(`The program ended:\n${pty.text()}`)),
      () => new Promise<never>(() => {})
    )
    const socket = await Promise.race([connected, gone])
    gone.catch(() => {})
    return new TerminalProgram(pty, socket, () => server.close())
  }

  readonly pty: Pty
  readonly #socket: Socket
  readonly #stop: () => void
  readonly #opened: Array<(message: FromTerminal) => void> = []
  readonly #asked = new Map<string, Deferred.Deferred<Extract<FromTerminal, { readonly done: "ask" }>>>()

  private constructor(pty: Pty, socket: Socket, stop: () => void) {
    this.pty = pty
    this.#socket = socket
    this.#stop = stop
    createInterface({ input: socket }).on("line", (line) => {
      const message = JSON.parse(line) as FromTerminal
      if (message.done !== "ask") return this.#opened.shift()?.(message)
      const waiting = this.#asked.get(message.id)
      if (waiting !== undefined) Deferred.doneUnsafe(waiting, Effect.succeed(message))
    })
  }

  #send(message: ToTerminal): void {
    this.#socket.write(`${JSON.stringify(message)}\n`)
  }

  #control(message: ToTerminal): Effect.Effect<FromTerminal> {
    return Effect.callback((resume) => {
      this.#opened.push((reply) => resume(Effect.succeed(reply)))
      this.#send(message)
    })
  }

  /** Asks in the program. Interrupting it withdraws the question there and waits for that. */
  #ask(question: Question): Effect.Effect<Answer, InteractionFailed | InteractionUnavailable> {
    return Effect.suspend(() => {
      const ended = Deferred.makeUnsafe<Extract<FromTerminal, { readonly done: "ask" }>>()
      this.#asked.set(question.id, ended)
      this.#send({ do: "ask", question })
      return Deferred.await(ended).pipe(
        Effect.onInterrupt(() =>
          Effect.andThen(Effect.sync(() => this.#send({ do: "withdraw", id: question.id })), Deferred.await(ended))
        ),
        Effect.flatMap(({ detail, end }): Effect.Effect<Answer, InteractionFailed | InteractionUnavailable> => {
          if (Schema.is(Answer)(end)) return Effect.succeed(end)
          if (end === "InteractionUnavailable") return Effect.fail(new InteractionUnavailable({ detail }))
          if (end === "InteractionFailed") return Effect.fail(new InteractionFailed({ provider: "terminal", detail }))
          return Effect.die(new Error(`${String(end)}: ${detail}`))
        })
      )
    })
  }

  readonly layer: Layer.Layer<Interaction | Person> = Layer.effectContext(
    Effect.gen({ self: this }, function*() {
      const opened = yield* Effect.acquireRelease(this.#control({ do: "open" }), () => this.#control({ do: "close" }))
      if (opened.done !== "open") return yield* Effect.die(new Error("the program did not open a provider"))
      const { capacity, name } = opened
      return Context.make(Interaction, Interaction.of({ name, capacity, ask: (question) => this.#ask(question) })).pipe(
        Context.add(Person, this.#person())
      )
    })
  )

  #person(): Person["Service"] {
    const { pty } = this
    return {
      showing: Effect.promise(async () => {
        const shown = await this.#shown()
        return shown === undefined ? [] : [shown.id]
      }),
      read: (id) =>
        Effect.tryPromise(async () => {
          const shown = await this.#shown()
          if (shown?.id !== id) throw new Error(`${id} is not on the screen`)
          return shown.text
        }),
      answer: (id, answer) =>
        Effect.tryPromise(async () => {
          const shown = await this.#shown()
          if (shown === undefined) {
            // Nothing is there to be answered; the keys of a person who is late are pressed all the same.
            pty.press("enter", "enter")
            return
          }
          // A person does not answer a question that they do not see with the one that they see.
          if (shown.id !== id) throw new Error(`${id} is not on the screen`)
          await this.#give(shown.choices, answer)
        })
    }
  }

  async #give(choices: ReadonlyArray<string>, answer: Answer): Promise<void> {
    const { pty } = this
    if (answer._tag === "Dismissed") return pty.escape()
    const labels: Readonly<Record<string, string>> = {
      a: "The first",
      b: "The second",
      approve: "Approve",
      keep: "Keep planning"
    }
    const many = choices.some((choice) => choice.startsWith("☐"))
    let at = 0
    const move = (to: number) => {
      const keys = Array.from({ length: Math.abs(to - at) }, (): KeyName => to > at ? "down" : "up")
      pty.press(...keys)
      at = to
    }
    for (const id of answer.selected) {
      move(choices.findIndex((choice) => choice.endsWith(labels[id] ?? id)))
      if (many) pty.press("space")
    }
    if (answer.text === undefined) return pty.press("enter")
    if (choices.length > 0) {
      move(choices.length - 1)
      pty.press("enter")
      await pty.waitForScreen("Enter sends")
    }
    pty.paste(answer.text)
    await sleep(20)
    pty.press("enter")
  }

  /** The question that takes keys now, as it can be read from the screen and what has scrolled away above it. */
  async #shown(): Promise<
    { readonly id: string; readonly text: string; readonly choices: ReadonlyArray<string> } | undefined
  > {
    const ready = () => /(Enter chooses|Enter sends) · .*$/.test(this.pty.screen())
    if (!ready()) return undefined
    const all = this.pty.text()
    const start = all.lastIndexOf("\n? ")
    const text = all.slice(start + 1)
    const id = /^ {2}.*\((conformance\/.*)\)$/m.exec(text)?.[1]
    if (id === undefined) return undefined
    const rows = text.split("\n")
    return {
      id,
      text: rows.map((row) => row.startsWith("│") ? row.slice(2) : row).join("\n"),
      choices: rows.flatMap((row) => /^[❯ ] \d+\. (.*)$/.exec(row)?.[1] ?? [])
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
    this.#stop()
    await this.pty[Symbol.asyncDispose]()
  }
}
