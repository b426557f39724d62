/** The tokens of a reply, from whatever names the endpoint gives them. */
import type { TokenUsage } from "@holdfast/core"
import type { UsageFields } from "./Profile.ts"

const at = (usage: unknown, path: string): number | undefined => {
  let value = usage
  for (const key of path.split(".")) {
    if (value === null || typeof value !== "object") return undefined
    value = (value as { readonly [key: string]: unknown })[key]
  }
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.trunc(value) : undefined
}

const first = (usage: unknown, paths: ReadonlyArray<string>): number => {
  for (const path of paths) {
    const value = at(usage, path)
    if (value !== undefined) return value
  }
  return 0
}

/** Reads a `usage` object. What is missing counts as 0, and cache hits never exceed the prompt, so that `hit + miss` is it. */
export const readUsage = (usage: unknown, fields: UsageFields): TokenUsage => {
  const prompt = first(usage, fields.prompt)
  const hit = Math.min(prompt, first(usage, fields.hit))
  return {
    prompt,
    hit,
    miss: prompt - hit,
    completion: first(usage, fields.completion),
    reasoning: first(usage, fields.reasoning)
  }
}
