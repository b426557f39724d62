/** A CPU profile of exactly what is measured, if `HOLDFAST_BENCH_PROFILE` names a folder. */
import { mkdirSync, writeFileSync } from "node:fs"
import { Session } from "node:inspector/promises"
import { join } from "node:path"

const folder = process.env["HOLDFAST_BENCH_PROFILE"]
const session = new Session()

/** Begins the profile. Numbers that are measured meanwhile are too high. */
export const startProfile = async (): Promise<void> => {
  if (folder === undefined) return
  session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.setSamplingInterval", { interval: 200 })
  await session.post("Profiler.start")
}

/** Ends the profile and writes it as `NAME.cpuprofile`. */
export const endProfile = async (name: string): Promise<void> => {
  if (folder === undefined) return
  const { profile } = await session.post("Profiler.stop")
  session.disconnect()
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(profile))
}
