/**
 * The two repairs of tool arguments that cannot change what the model meant.
 *
 * In 11766 measured calls, two lacked one closing brace and one had one too many; in both shapes only one object can
 * have been meant. Others (a key closed early) are ambiguous and are left alone.
 */

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === "object" && !Array.isArray(value)
  } catch {
    return false
  }
}

/**
 * The text of a JSON object: the arguments themselves if they are one, the repaired text if one `}` at the end is missing
 * or too many, else `undefined`. Only for calls that the model has ended (`finish_reason` `tool_calls`): in a cut reply
 * a missing brace means that something else is missing too.
 *
 * @example
 * repairArguments(`{"a": {"b": 1}`) // `{"a": {"b": 1}}`
 */
export const repairArguments = (text: string): string | undefined => {
  if (isObject(text)) return text
  const trimmed = text.trimEnd()
  // A number or a word at the end may itself have been cut.
  if (/["}\]]$/.test(trimmed) && isObject(`${trimmed}}`)) return `${trimmed}}`
  if (!trimmed.endsWith("}")) return undefined
  const shorter = trimmed.slice(0, -1)
  return isObject(shorter) ? shorter : undefined
}
