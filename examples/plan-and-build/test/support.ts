/** Runs of the program, what they left behind, and what must hold of their requests. */
import { type SessionEvent, SessionId, Sessions } from "@holdfast/core"
import { loadDeepSeekTokenizer, renderPrompt, validateRequest } from "@holdfast/deepseek-local"
import { JournalSql } from "@holdfast/journal-sql"
import { assert } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { guidanceMark } from "../src/Story.ts"

export const program = fileURLToPath(new URL("../src/main.ts", import.meta.url))

/** A folder that is gone at the end of the test. */
export const workplace = async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-demo-test-"))
  return {
    journal: join(folder, "sessions.db"),
    requests: join(folder, "requests.jsonl"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true })
  }
}

/** Nothing of the environment of whoever runs the tests may change what the program does. */
export const environment = {
  DEEPSEEK_API_KEY: undefined,
  DEEPSEEK_BASE_URL: undefined,
  HOLDFAST_PLAN_ENFORCEMENT: undefined
}

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the program without a terminal to its end. */
export const run = (...args: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((resolve) => {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !(name in environment)))
    const child = spawn(process.execPath, ["--conditions=source", program, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env
    })
    let out = ""
    let err = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text))
    child.on("close", (code) => resolve({ code, out, err }))
  })

export const sessionIn = (out: string): string => /^session\s+(\S+)$/m.exec(out)?.[1] ?? "(none)"
export const folderIn = (out: string): string => /^folder\s+(\S+)$/m.exec(out)?.[1] ?? "(none)"

/** The events of a session as they are stored. */
export const readEvents = (journal: string, session: string): Promise<ReadonlyArray<SessionEvent>> =>
  Effect.runPromise(
    Effect.flatMap(Sessions, (sessions) => Stream.runCollect(sessions.read(SessionId.make(session)))).pipe(
      Effect.provide(Sessions.layer.pipe(Layer.provide(JournalSql.layerSqlite({ filename: journal }))))
    )
  )

export const ofType = <K extends SessionEvent["type"]>(events: ReadonlyArray<SessionEvent>, type: K) =>
  events.filter((event): event is Extract<SessionEvent, { readonly type: K }> => event.type === type)

interface WireMessage {
  readonly role: string
  readonly content: string
}

/** A request as it was sent, taken apart at the bytes. */
export interface SentRequest {
  readonly body: string
  /** Everything up to the history: settings, tools and the system prompt. */
  readonly header: string
  readonly messages: ReadonlyArray<WireMessage>
  /** The guidance after the history, if there is any. */
  readonly tail: string | undefined
  /** Header and history without their closing brackets: what the next request must begin with. */
  readonly stable: string
}

export const takeApart = (body: string): SentRequest => {
  const { messages } = JSON.parse(body) as { readonly messages: ReadonlyArray<WireMessage> }
  const system = messages[0]
  const last = messages.at(-1)
  assert.strictEqual(system?.role, "system")
  const head = body.indexOf("\"messages\":[") + "\"messages\":[".length
  const tail = last !== undefined && last.role === "user" && last.content.startsWith(guidanceMark) ? last : undefined
  const end = tail === undefined ? "]}" : `,${JSON.stringify(tail)}]}`
  assert.isTrue(body.endsWith(end), "the tail is the last thing in the body")
  return {
    body,
    header: body.slice(0, head + JSON.stringify(system).length),
    messages,
    tail: tail?.content,
    stable: body.slice(0, body.length - end.length)
  }
}

/** Header bytes are the same in all requests, and each history is the beginning of the next one. */
export const assertStable = (requests: ReadonlyArray<SentRequest>): void => {
  requests.forEach((request, index) => {
    const next = requests[index + 1]
    assert.strictEqual(request.header, requests[0]?.header, `the header of request ${index + 1}`)
    if (next !== undefined) {
      assert.isTrue(
        next.body.startsWith(`${request.stable},`),
        `request ${index + 2} begins with all of request ${index + 1}`
      )
    }
  })
}

/** Tokens that belong to a message but not to its text: the mark of the role, the opening of the reply, a joint. */
const FRAME = 4
const BLOCK = 128

/**
 * Each request after the first misses only what is new since the one before it: the reply, results and messages, and the
 * guidance after the history, rounded up to a block of the cache. `usages` are what the provider counted.
 */
export const assertMissesOnlyWhatIsNew = async (
  requests: ReadonlyArray<SentRequest>,
  usages: ReadonlyArray<{ readonly prompt: number; readonly hit: number; readonly miss: number }>
): Promise<void> => {
  const tokenizer = await loadDeepSeekTokenizer()
  assert.isDefined(tokenizer, "exact counts need the tokenizer package, which the repository has")
  assert.strictEqual(usages.length, requests.length)
  requests.forEach((_, index) => {
    const [before, now] = [usages[index - 1], usages[index]]
    const earlier = requests[index - 1]
    if (now === undefined || before === undefined || earlier === undefined) return
    const parsed = validateRequest(JSON.parse(`${earlier.stable}]}`))
    assert.isTrue(parsed.ok, `what stays of request ${index} is a request`)
    if (!parsed.ok) return
    const known = tokenizer.tokenise(renderPrompt(parsed.request)).length - FRAME
    const least = Math.floor(known / BLOCK) * BLOCK
    assert.isAtLeast(now.hit, least, `request ${index + 1} reads again what request ${index} held (${known} tokens)`)
    assert.strictEqual(now.hit + now.miss, now.prompt)
  })
}
