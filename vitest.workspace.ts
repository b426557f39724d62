import { defineConfig } from "vitest/config"

/** Sources are run as they are: the `source` export condition leads to the TypeScript files. */
export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/*/test/**/*.test.ts", "scripts/test/**/*.test.ts"],
    execArgv: ["--conditions=source"],
    testTimeout: 30_000,
    hookTimeout: 30_000
  }
})
