/**
 * What a request costs, from a table of dated prices.
 *
 * Prices change several times a year and differ by the time of day, so each row has the moment from which it holds. A
 * row that has passed stays: the cost of an old session does not change.
 */
import type { TokenUsage } from "@holdfast/core"

/** US dollars for a million tokens. */
export interface Rates {
  readonly hit: number
  readonly miss: number
  readonly output: number
}

/** The prices of a model from a moment on. */
export interface PriceRow {
  readonly model: string
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly offPeak: Rates
  readonly peak: Rates
}

const twice = (rates: Rates): Rates => ({ hit: rates.hit * 2, miss: rates.miss * 2, output: rates.output * 2 })

const row = (model: string, from: string, offPeak: Rates): PriceRow => ({
  model,
  from: Date.parse(from),
  offPeak,
  peak: twice(offPeak)
})

const flash = { hit: 0.003, miss: 0.15, output: 0.6 }
const flashBefore = { hit: 0.007, miss: 0.22, output: 0.66 }
const pro = { hit: 0.022, miss: 0.66, output: 1.98 }

/**
 * DeepSeek's list prices as quoted from its pricing page on 2026-09-13, and the flash prices of the four weeks before;
 * peak is twice off-peak. From 2026-09-14 04:00 UTC the API serves `deepseek-v4-pro` by the flash model at the flash
 * price, says its change log, while the pricing page still lists pro prices; the row follows the change log.
 */
export const prices: ReadonlyArray<PriceRow> = [
  row("deepseek-v4-flash", "2026-08-16T00:00:00Z", flashBefore),
  row("deepseek-flash", "2026-08-16T00:00:00Z", flashBefore),
  row("deepseek-v4-pro", "2026-08-16T00:00:00Z", pro),
  row("deepseek-v4-flash", "2026-09-10T00:00:00Z", flash),
  row("deepseek-flash", "2026-09-10T00:00:00Z", flash),
  row("deepseek-v4-pro", "2026-09-14T04:00:00Z", flash)
]

/** Whether a moment is in peak hours: Monday to Friday, 01:00 to 04:00 and 06:00 to 10:00 UTC. Holidays are not known. */
export const isPeak = (at: number): boolean => {
  const date = new Date(at)
  const day = date.getUTCDay()
  const hour = date.getUTCHours()
  return day >= 1 && day <= 5 && ((hour >= 1 && hour < 4) || (hour >= 6 && hour < 10))
}

/**
 * The cost of a request in US dollars, or `undefined` for a model or a time that the table does not know.
 *
 * `at` is when the request was sent, in milliseconds since the epoch.
 *
 * @example
 * cost({ prompt: 1e6, hit: 0, miss: 1e6, completion: 0, reasoning: 0 }, "deepseek-flash", Date.UTC(2026, 9, 3)) // 0.15
 */
export const cost = (
  usage: TokenUsage,
  model: string,
  at: number,
  table: ReadonlyArray<PriceRow> = prices
): number | undefined => {
  let found: PriceRow | undefined
  for (const candidate of table) {
    if (candidate.model === model && candidate.from <= at && (found === undefined || candidate.from >= found.from)) {
      found = candidate
    }
  }
  if (found === undefined) return undefined
  const rates = isPeak(at) ? found.peak : found.offPeak
  return (usage.hit * rates.hit + usage.miss * rates.miss + usage.completion * rates.output) / 1_000_000
}
