/**
 * Which version of a file a session has seen.
 *
 * A tool that reads or writes a file leaves the fact `workspace.read { path, hash }` with its result in the journal; this
 * fold over the results is what a session knows, also after a restart and in a fork.
 */
import { Projection } from "@holdfast/core"
import { HashMap, Schema } from "effect"
import { createHash } from "node:crypto"

/** The name of the fact. */
export const FILE_VERSION_FACT = "workspace.read"

/** The fact: a path from the root, and the SHA-256 of the file's bytes in hex; `null` for a file that was deleted. */
export const FileVersion = Schema.Struct({ path: Schema.String, hash: Schema.NullOr(Schema.String) })
export type FileVersion = typeof FileVersion.Type

/** The hash of a version. */
export const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const isFileVersion = Schema.is(FileVersion)

/** The last version of each file that the session has read or written, by path from the root. */
export const FileVersions: Projection<HashMap.HashMap<string, string>> = Projection.make({
  name: "workspace/file-versions",
  initial: HashMap.empty<string, string>(),
  on: {
    "tool/result": (state, data) => {
      const fact = data.facts?.[FILE_VERSION_FACT]
      if (!isFileVersion(fact)) return state
      return fact.hash === null ? HashMap.remove(state, fact.path) : HashMap.set(state, fact.path, fact.hash)
    }
  }
})
