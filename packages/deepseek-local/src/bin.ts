#!/usr/bin/env node
import { readFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import { decodeScenarioFile, fromFile } from "./ScenarioFile.ts"
import type { ServerOptions } from "./Server.ts"
import { startServer } from "./Server.ts"

const usage = `deepseek-local <scenario.json> [--port <number>] [--host <address>] [--tokens estimate|exact|auto]

A stand-in for the DeepSeek API. Prints its base URL, then one line for each request. Any key is accepted.`

const isTokens = (value: string): value is "estimate" | "exact" | "auto" =>
  value === "estimate" || value === "exact" || value === "auto"

const main = async (): Promise<void> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      port: { type: "string" },
      host: { type: "string" },
      tokens: { type: "string" },
      help: { type: "boolean", short: "h" }
    }
  })
  const path = positionals[0]
  if (values.help === true || path === undefined) {
    console.log(usage)
    process.exitCode = values.help === true ? 0 : 2
    return
  }
  const file = decodeScenarioFile(JSON.parse(await readFile(path, "utf8")))
  const tokens = values.tokens ?? file.tokens ?? "auto"
  if (!isTokens(tokens)) throw new Error(`--tokens ${tokens}: expected estimate, exact or auto`)
  const port = values.port === undefined ? file.port : Number(values.port)
  const options: ServerOptions = {
    scenario: fromFile(file),
    tokens,
    recordBodies: false,
    ...(port === undefined ? {} : { port }),
    ...(values.host === undefined ? {} : { host: values.host }),
    ...(file.seed === undefined ? {} : { seed: file.seed }),
    ...(file.validation === undefined ? {} : { validation: { mode: file.validation } }),
    ...(file.contextLimit === undefined ? {} : { contextLimit: file.contextLimit }),
    ...(file.concurrency === undefined ? {} : { concurrency: file.concurrency }),
    ...(file.latency === undefined ? {} : { latency: file.latency }),
    ...(file.cache === undefined ? {} : { cache: file.cache }),
    onRequest: (record) => {
      const { prompt_cache_hit_tokens: hit, prompt_tokens: prompt, completion_tokens: output } = record.usage ?? {}
      const tokensText = prompt === undefined ? "" : ` prompt ${prompt} (hit ${hit}) output ${output}`
      console.log(
        `#${record.index} ${record.status} ${record.outcome}${tokensText}${
          record.error === undefined ? "" : ` ${record.error}`
        }`
      )
    }
  }
  const server = await startServer(options)
  console.log(`${server.url} (tokens: ${server.tokens})`)
  const stop = (): void => {
    void server.close()
  }
  process.once("SIGINT", stop)
  process.once("SIGTERM", stop)
}

main().catch((cause: unknown) => {
  console.error(cause instanceof Error ? cause.message : cause)
  process.exitCode = 1
})
