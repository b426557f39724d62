/** A rule of one's own over events of one's own, nothing is changed without a ticket: `npm start`. */
import { Console, Effect } from "effect"
import { program } from "./Program.ts"

await Effect.runPromise(program([], Console.log))
