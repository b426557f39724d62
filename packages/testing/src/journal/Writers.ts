/** Processes that write to a session until they are killed, as tests of two processes need them. */
import type { ChildProcess } from "node:child_process"

/** When a process that runs `crashWriter` has had its first batch acknowledged, which is its second line of output. */
export const acknowledged = (writer: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let output = ""
    writer.stdout?.on("data", (chunk) => {
      output += String(chunk)
      if (output.split("\n").length > 2) resolve()
    })
    writer.on("close", (code) => reject(new Error(`the writer ended with ${code}`)))
  })

/** Kills a process with SIGKILL and waits until it has ended. */
export const killed = (writer: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    writer.on("close", () => resolve())
    writer.kill("SIGKILL")
  })
