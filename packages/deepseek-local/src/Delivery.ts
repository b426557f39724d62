import type { ServerResponse } from "node:http"
import type { Clock } from "./Clock.ts"
import type { Fault } from "./Faults.ts"
import { findFault } from "./Faults.ts"
import type { LatencyProfile } from "./Latency.ts"

/** How the delivery of an answer ended. */
export type Outcome = "completed" | "error" | "reset" | "stalled" | "cut" | "aborted"

/** One answer on its way out. */
export interface Delivery {
  readonly response: ServerResponse
  readonly clock: Clock
  /** Aborts when the client goes away or the server closes. */
  readonly signal: AbortSignal
  readonly faults: ReadonlyArray<Fault>
  readonly latency: LatencyProfile
}

/** Large enough that 100000 frames are some hundred writes, small enough to keep memory flat. */
const batchBytes = 65_536

const write = (delivery: Delivery, text: string): Promise<void> =>
  new Promise((resolve) => {
    const { response, signal } = delivery
    if (signal.aborted || response.destroyed || text === "") return resolve()
    if (response.write(text)) return resolve()
    const finish = (): void => {
      response.off("drain", finish)
      signal.removeEventListener("abort", finish)
      resolve()
    }
    response.once("drain", finish)
    signal.addEventListener("abort", finish)
  })

/** Resets the connection, after giving what was written time to leave the machine's buffers. */
const reset = async (delivery: Delivery): Promise<Outcome> => {
  if (delivery.response.headersSent) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  delivery.response.socket?.resetAndDestroy()
  return "reset"
}

const stall = async (delivery: Delivery, every: number | undefined, ms: number): Promise<Outcome | undefined> => {
  const end = delivery.clock.now() + ms
  while (!delivery.signal.aborted && delivery.clock.now() < end) {
    await delivery.clock.sleep(Math.min(every ?? Infinity, end - delivery.clock.now(), 2 ** 31 - 1), delivery.signal)
    if (every !== undefined) await write(delivery, ": keep-alive\n\n")
  }
  return delivery.signal.aborted ? "stalled" : undefined
}

/** Waits for the first token; `idle` is what the API writes meanwhile, comments in a stream and empty lines else. */
export const waitForStart = async (delivery: Delivery, delay: number, idle: string): Promise<void> => {
  const { clock, latency, signal } = delivery
  const comments = findFault(delivery.faults, "keep-alive")
  for (let count = 0; count < (comments?.count ?? 0) && !signal.aborted; count++) {
    await write(delivery, idle)
    if (comments?.every !== undefined) await clock.sleep(comments.every, signal)
  }
  let left = delay
  while (left > 0 && !signal.aborted) {
    const step = latency.keepAliveMs > 0 ? Math.min(latency.keepAliveMs, left) : left
    await clock.sleep(step, signal)
    left -= step
    if (left > 0) await write(delivery, idle)
  }
}

const interruptions: ReadonlySet<string> = new Set(["reset", "stall", "cut-frame", "malformed-frame", "error-object"])

/** What has to happen before frame number `at`; after the last frame, also what was set beyond it. */
const interruption = (faults: ReadonlyArray<Fault>, at: number, last: boolean): Fault | undefined =>
  faults.find((fault) => {
    const after = "afterFrames" in fault ? fault.afterFrames : undefined
    if (!interruptions.has(fault.type)) return fault.type === "eof" && (last || after === at)
    return last ? (after ?? 0) >= at : (after ?? 0) === at
  })

/** Lets a fault happen; `undefined` means that the stream goes on after it. */
const interrupt = async (delivery: Delivery, fault: Fault, frame: string): Promise<Outcome | undefined> => {
  const { response } = delivery
  switch (fault.type) {
    case "reset":
      return reset(delivery)
    case "stall":
      return stall(delivery, fault.keepAliveEvery, fault.for ?? Infinity)
    case "malformed-frame":
      response.write(`data: {"id":"broken","choices":[{\n\n`)
      return undefined
    case "cut-frame":
      response.write(frame.slice(0, Math.floor(frame.length / 2)))
      break
    case "error-object": {
      const code = fault.code ?? "server_error"
      const error = { message: fault.message ?? "Server Error", type: "server_error", param: null, code }
      response.write(`data: ${JSON.stringify({ error })}\n\n`)
      break
    }
    default:
      break
  }
  response.end()
  return "cut"
}

const done = "data: [DONE]\n\n"

/** Streams frames with the faults and the pace of the delivery; the head has been sent. */
export const deliverStream = async (delivery: Delivery, frames: Iterable<string>): Promise<Outcome> => {
  const { clock, faults, latency, response, signal } = delivery
  const paced = latency.outputTokensPerSecond > 0
  const start = clock.now()
  let buffer = ""
  let count = 0
  const flush = async (): Promise<void> => {
    const text = buffer
    buffer = ""
    await write(delivery, text)
  }
  const check = async (frame: string): Promise<Outcome | undefined> => {
    const fault = faults.length === 0 ? undefined : interruption(faults, count, frame === done)
    if (fault === undefined) return undefined
    await flush()
    return signal.aborted ? "aborted" : interrupt(delivery, fault, frame)
  }
  for (const frame of frames) {
    if (signal.aborted) return "aborted"
    // No await without faults: it would be one for each of 100000 frames.
    const outcome = faults.length === 0 ? undefined : await check(frame)
    if (outcome !== undefined) return outcome
    buffer += frame
    count += 1
    if (paced && count % Math.max(1, latency.burst) === 0) {
      await flush()
      await clock.sleep(start + (count / latency.outputTokensPerSecond) * 1000 - clock.now(), signal)
    } else if (buffer.length >= batchBytes) await flush()
  }
  const outcome = await check(done)
  if (outcome !== undefined) return outcome
  buffer += done
  await flush()
  if (signal.aborted) return "aborted"
  response.end()
  return "completed"
}

/** Sends an answer that is not streamed, with the faults that make sense for it. */
export const deliverPlain = async (delivery: Delivery, body: string): Promise<Outcome> => {
  const { faults, response, signal } = delivery
  if (signal.aborted) return "aborted"
  const stalled = findFault(faults, "stall")
  if (stalled !== undefined) {
    const outcome = await stall(delivery, undefined, stalled.for ?? Infinity)
    if (outcome !== undefined) return outcome
  }
  if (findFault(faults, "reset") !== undefined) {
    await write(delivery, body.slice(0, Math.floor(body.length / 2)))
    return reset(delivery)
  }
  const cut = findFault(faults, "eof") ?? findFault(faults, "cut-frame") ?? findFault(faults, "malformed-frame")
  response.end(cut === undefined ? body : body.slice(0, Math.floor(body.length / 2)))
  return cut === undefined ? "completed" : "cut"
}
