import { assert, describe, it } from "@effect/vitest"
import { cost, isPeak, prices } from "@holdfast/deepseek"

const usage = { prompt: 1_000_000, hit: 900_000, miss: 100_000, completion: 10_000, reasoning: 4000 }
const saturday = Date.UTC(2026, 9, 3, 2)
const monday = Date.UTC(2026, 9, 5, 2)

describe("cost", () => {
  it("counts hits, misses and output at the rates of the model and the hour", () => {
    const offPeak = 0.9 * 0.003 + 0.1 * 0.15 + 0.01 * 0.6
    assert.approximately(cost(usage, "deepseek-flash", saturday)!, offPeak, 1e-12)
    assert.approximately(cost(usage, "deepseek-flash", monday)!, offPeak * 2, 1e-12)
  })

  it("keeps the price of the day on which a request was sent", () => {
    const before = cost(usage, "deepseek-flash", Date.UTC(2026, 8, 5))!
    assert.approximately(before, 0.9 * 0.007 + 0.1 * 0.22 + 0.01 * 0.66, 1e-12)
    assert.isAbove(cost(usage, "deepseek-v4-pro", Date.UTC(2026, 8, 13))!, cost(usage, "deepseek-v4-pro", saturday)!)
  })

  it("does not guess", () => {
    assert.strictEqual(cost(usage, "other", saturday), undefined)
    assert.strictEqual(cost(usage, "deepseek-flash", Date.UTC(2020, 0, 1)), undefined)
  })

  it("knows the peak hours", () => {
    const at = (day: number, hour: number) => isPeak(Date.UTC(2026, 9, day, hour))
    assert.deepStrictEqual([0, 1, 3, 4, 5, 6, 9, 10].map((hour) => at(5, hour)), [
      false,
      true,
      true,
      false,
      false,
      true,
      true,
      false
    ])
    assert.isFalse(at(4, 2))
    assert.isTrue(prices.every((row) => row.peak.miss === 2 * row.offPeak.miss))
  })
})
