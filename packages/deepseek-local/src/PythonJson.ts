/**
 * JSON text as Python's `json.dumps(value, ensure_ascii=False)` writes it: a space after every colon and comma.
 * DeepSeek renders tools and non-string arguments this way, and rebuilds the arguments of its own calls with it.
 *
 * @example pythonJson({ city: "Paris" }) // {"city": "Paris"}
 */
export const pythonJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`
  if (typeof value === "object" && value !== null) {
    return `{${
      Object.entries(value).filter(([, item]) => item !== undefined)
        .map(([key, item]) => `${JSON.stringify(key)}: ${pythonJson(item)}`).join(", ")
    }}`
  }
  return JSON.stringify(value) ?? "null"
}
