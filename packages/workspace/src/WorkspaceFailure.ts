/** The failure of a workspace tool as it is told: its tag, its text, its fields. */
import { Schema, SchemaTransformation } from "effect"
import { WorkspaceError } from "./WorkspaceError.ts"

const encode = Schema.encodeSync(WorkspaceError)
const decode = Schema.decodeUnknownSync(WorkspaceError)

/**
 * `WorkspaceError`, encoded with its message: an error's text is computed and no field of it, and without this whoever
 * reads the encoded failure would get the fields and not the text.
 */
export const WorkspaceFailure = Schema.toType(WorkspaceError).pipe(
  Schema.encodeTo(
    Schema.Struct({ _tag: Schema.String, message: Schema.String, fields: Schema.Json }),
    SchemaTransformation.transform({
      decode: ({ fields }) => decode(fields),
      encode: (error) => ({ _tag: error._tag, message: error.message, fields: encode(error) as Schema.Json })
    })
  )
)
