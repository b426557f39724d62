/** `writer.ts <directory> <session>...`: the writer of the crash tests. */
import { crashWriter } from "@holdfast/testing"
import { JournalFile } from "../../src/index.ts"

await crashWriter(JournalFile.layer({ directory: process.argv[2]! }), process.argv.slice(3))
