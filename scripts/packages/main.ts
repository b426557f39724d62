/** Checks what would be published: each package's exports and types by publint, and that the built code loads without sources. */
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { publint } from "publint"
import { formatMessage } from "publint/utils"

const root = resolve(import.meta.dirname, "../../packages")
let faults = 0
for (const name of readdirSync(root).filter((entry) => existsSync(join(root, entry, "package.json")))) {
  const folder = join(root, name)
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly name: string }
  const { messages } = await publint({ pkgDir: folder, pack: false })
  for (const message of messages) console.log(`${manifest.name}: ${formatMessage(message, manifest) ?? message.code}`)
  // Without the `source` condition, as an installed package is loaded.
  const loaded = spawnSync(process.execPath, [
    "--input-type=module",
    "--eval",
    `await import(${JSON.stringify(manifest.name)})`
  ], {
    cwd: folder,
    encoding: "utf8"
  })
  if (loaded.status !== 0) console.log(`${manifest.name} does not load:\n${loaded.stderr}`)
  const failed = messages.filter((message) => message.type !== "suggestion").length + (loaded.status === 0 ? 0 : 1)
  if (failed === 0) console.log(`${manifest.name}: fine`)
  faults += failed
}
process.exitCode = faults === 0 ? 0 : 1
