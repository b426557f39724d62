/** `pnpm --filter @holdfast/example-hot-reload start` */
import { Effect } from "effect"
import { story } from "./Program.ts"

await Effect.runPromise(story((line) => console.log(line)))
