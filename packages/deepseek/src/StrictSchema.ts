/** Which JSON Schemas the strict mode of tools takes. One schema that it does not take makes the server refuse them all. */
import type { Schema } from "effect"

const types = new Set(["object", "string", "number", "integer", "boolean", "array"])
const refused = ["minLength", "maxLength", "minItems", "maxItems", "allOf", "oneOf", "not", "patternProperties"]

type Json = Schema.Json | undefined

const isRecord = (value: Json): value is { readonly [key: string]: Schema.Json } =>
  value !== null && typeof value === "object" && !Array.isArray(value)

const all = (value: Json): boolean => value === undefined || (isRecord(value) && Object.values(value).every(fits))

const fits = (schema: Schema.Json): boolean => {
  if (!isRecord(schema) || refused.some((key) => key in schema)) return false
  if (!all(schema.$defs) || !all(schema.$def) || !all(schema.definitions) || !all(schema.properties)) return false
  if (schema.anyOf !== undefined) return Array.isArray(schema.anyOf) && schema.anyOf.every(fits)
  if (typeof schema.$ref === "string" || Array.isArray(schema.enum)) return true
  if (typeof schema.type !== "string" || !types.has(schema.type)) return false
  if (schema.type === "array") return schema.items !== undefined && fits(schema.items)
  if (schema.type !== "object") return true
  const required = Array.isArray(schema.required) ? schema.required : []
  return schema.additionalProperties === false &&
    Object.keys(isRecord(schema.properties) ? schema.properties : {}).every((key) => required.includes(key))
}

/** Whether the parameters of a tool follow the documented rules: objects closed, every property required, few keywords. */
export const isStrictSchema = (schema: Schema.Json): boolean =>
  isRecord(schema) && schema.type === "object" && fits(schema)
