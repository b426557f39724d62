export { journalConformance, journalProperties, type RegisterTest } from "./journal/JournalConformance.ts"
export type { JournalProperty, JournalUnderTest } from "./journal/Property.ts"
export * from "./ChaosScheduler.ts"
