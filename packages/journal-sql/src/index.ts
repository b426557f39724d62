export { JournalSql, type PostgresOptions } from "./JournalSql.ts"
export type { SqliteOptions } from "./SqliteStore.ts"
