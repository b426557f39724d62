/**
 * Strings as database text.
 *
 * PostgreSQL text cannot hold NUL, and UTF-8 has no form for a lone surrogate: stored as it is, one would come back as
 * U+FFFD and two session names could become one. Such a string, and one that starts with a quote, is stored in its JSON
 * form, which is plain text; every other string is stored as it is. Payloads need none of this: they are JSON already.
 */
const needsQuotes = /^"|\0|[\ud800-\udfff]/u

const encode = (text: string): string => needsQuotes.test(text) ? JSON.stringify(text) : text

const decode = (stored: string): string => {
  if (!stored.startsWith("\"")) return stored
  const text: unknown = JSON.parse(stored)
  return typeof text === "string" ? text : stored
}

export const Text = { encode, decode }
