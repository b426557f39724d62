/** The text that a model reads when a caller of `effect/ai` asks for an object; it goes after the system text. */
export const objectInstruction = (schema: string): string =>
  `Reply with one JSON object and nothing else. It must be valid against this JSON Schema:\n${schema}`
