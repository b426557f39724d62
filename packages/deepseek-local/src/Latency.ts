/**
 * How long an answer takes. Everything is 0 by default, and then frames are written in large batches.
 */
export interface LatencyProfile {
  /** Milliseconds before anything, e.g. network and queue. */
  readonly firstByteMs: number
  /** Tokens read a second for the part of the prompt that missed the cache; 0 = at once. */
  readonly prefillTokensPerSecond: number
  /** Tokens written a second; 0 = at once. */
  readonly outputTokensPerSecond: number
  /** Tokens in one write when there is an output rate. Recordings show 1 to 4 about every 25 ms. */
  readonly burst: number
  /** Milliseconds between `: keep-alive` comments while nothing has been written yet; 0 = none. */
  readonly keepAliveMs: number
}

/** No waiting at all. */
export const instant: LatencyProfile = {
  firstByteMs: 0,
  prefillTokensPerSecond: 0,
  outputTokensPerSecond: 0,
  burst: 1,
  keepAliveMs: 0
}

/** In the order of what recordings of the live API in summer 2026 show: about 100 tokens a second in bursts of 3. */
export const realistic: LatencyProfile = {
  firstByteMs: 400,
  prefillTokensPerSecond: 20_000,
  outputTokensPerSecond: 100,
  burst: 3,
  keepAliveMs: 1000
}

/** Milliseconds until the first token. */
export const prefillDelay = (profile: LatencyProfile, missedTokens: number): number =>
  profile.firstByteMs +
  (profile.prefillTokensPerSecond > 0 ? (missedTokens / profile.prefillTokensPerSecond) * 1000 : 0)
