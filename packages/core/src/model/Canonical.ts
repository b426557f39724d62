/** One text for one value: JSON with sorted keys, and hashes of texts. */
import type { Schema } from "effect"
import { createHash } from "node:crypto"

/** The same value with the keys of every object in code-unit order. */
export const canonicalJson = (value: Schema.Json): Schema.Json => {
  if (value === null || typeof value !== "object") return value
  if (Array.isArray(value)) return value.map(canonicalJson)
  const object = value as { readonly [key: string]: Schema.Json }
  return Object.fromEntries(Object.keys(object).sort().map((key) => [key, canonicalJson(object[key]!)]))
}

/** The SHA-256 of a text in hexadecimal: what a decision is bound to, and what tells one header from another. */
export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
