export * from "./JournalSql.ts"
export type { SqliteOptions } from "./SqliteStore.ts"
