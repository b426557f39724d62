export { type FileOptions, JournalFile } from "./JournalFile.ts"
