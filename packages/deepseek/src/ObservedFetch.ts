/**
 * A `fetch` for one request that tells when bytes arrive, keeps a reply that is no event stream, and decides which headers
 * leave the process.
 */

/** Bytes of a reply that is no event stream that are kept to tell what it is. */
const plainLimit = 16_384

/** The client also adds headers from its own environment variables, meant for another vendor. */
const allowed = (name: string): boolean =>
  name === "accept" || name === "content-type" || name === "user-agent" || name.startsWith("x-stainless-")

export interface ObservedFetch {
  readonly fetch: typeof globalThis.fetch
  /** The beginning of a successful reply that is no event stream. */
  readonly plain: () => string | undefined
  /** Whether the body was read to its end. */
  readonly ended: () => boolean
}

export interface ObservedFetchOptions {
  readonly fetch: typeof globalThis.fetch
  readonly key: string
  /** Called for each piece of the body. */
  readonly onBytes: () => void
  /** Whether all that matters of the reply has been read, so that its connection is worth keeping. */
  readonly complete: () => boolean
}

/** Wraps `fetch` for one request. */
export const observedFetch = ({ complete, fetch, key, onBytes }: ObservedFetchOptions): ObservedFetch => {
  let kept: Array<Uint8Array> | undefined
  let keptBytes = 0
  let ended = false
  const observe = (bytes: Uint8Array) => {
    onBytes()
    if (kept === undefined || keptBytes >= plainLimit) return
    kept.push(bytes.slice(0, plainLimit - keptBytes))
    keptBytes += bytes.length
  }
  return {
    ended: () => ended,
    plain: () => kept === undefined ? undefined : Buffer.concat(kept).toString("utf8").trim(),
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers)
      for (const name of Array.from(headers.keys())) if (!allowed(name)) headers.delete(name)
      headers.set("authorization", `Bearer ${key}`)
      const response = await fetch(url, { ...init, headers })
      if (response.body === null) return response
      if (response.ok && !/event-stream/i.test(response.headers.get("content-type") ?? "")) kept = []
      return new Response(observedBody(response.body, { observe, complete, end: () => void (ended = true) }), {
        status: response.status,
        statusText: response.statusText,
        headers: response.headers
      })
    }
  }
}

/** The same body, read on demand. */
const observedBody = (
  body: ReadableStream<Uint8Array>,
  { complete, end, observe }: {
    readonly observe: (bytes: Uint8Array) => void
    readonly complete: () => boolean
    readonly end: () => void
  }
): ReadableStream<Uint8Array> => {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await reader.read()
      if (done) {
        end()
        return controller.close()
      }
      observe(value)
      controller.enqueue(value)
    },
    cancel: (reason) => complete() ? void drain(reader) : reader.cancel(reason)
  }, { highWaterMark: 0 })
}

/** How long the end of a complete reply may take to arrive, in milliseconds. */
const drainLimit = 500

/**
 * Reads the few bytes between `[DONE]` and the end of the body. A connection whose body was cancelled is closed, and the
 * next request would pay for a new one.
 */
const drain = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> => {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), drainLimit)
  timer.unref?.()
  try {
    while (!(await reader.read()).done) { /* nothing in it matters */ }
  } catch {
    // The reply was complete.
  } finally {
    clearTimeout(timer)
  }
}
