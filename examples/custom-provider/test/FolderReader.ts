/** A person who answers in a folder: looks at the files, edits them and saves them, and knows nothing else. */
import type { Answer } from "@holdfast/core"
import { Person } from "@holdfast/testing"
import { Effect, Layer } from "effect"
import { readdir, readFile, rm, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { ENDING } from "../src/FolderPerson.ts"

interface QuestionFile {
  readonly id: string
  readonly path: string
  readonly text: string
}

/** The questions that lie in a folder, oldest name first. */
export const questionsIn = async (folder: string): Promise<ReadonlyArray<QuestionFile>> => {
  const found: Array<QuestionFile> = []
  for (const name of (await readdir(folder)).sort()) {
    if (!name.endsWith(ENDING)) continue
    const path = join(folder, name)
    // It may be taken away between the listing and the reading.
    const text = await readFile(path, "utf8").catch(() => undefined)
    const id = text === undefined ? undefined : /^<!-- question (\S+) -->/.exec(text)?.[1]
    if (text !== undefined && id !== undefined) found.push({ id: decodeURIComponent(id), path, text })
  }
  return found
}

/** A file in which the person has ticked these boxes, by position, and written this. */
export const fillIn = (text: string, ticked: ReadonlyArray<number>, words: string, done = true): string => {
  const at = text.lastIndexOf("<!-- answer ")
  let box = -1
  return text.slice(0, at) + text.slice(at)
    .replaceAll(/^- \[[ x]\] /gm, (_: string, offset: number, part: string) => {
      box++
      const last = part.indexOf("\n- [", offset + 1) < 0
      return (last ? done : ticked.includes(box)) ? "- [x] " : "- [ ] "
    })
    .replace(/(<!-- text \w+ -->\n)[\s\S]*(\n<!-- end )/, (_, from: string, to: string) => from + words + to)
}

/** What to tick and to write for an answer; the order of the options is that of the boxes. */
const marksFor = (text: string, answer: Answer): readonly [ReadonlyArray<number>, string] => {
  const boxes = text.slice(text.lastIndexOf("<!-- answer ")).split("\n").filter((line) => line.startsWith("- ["))
  if (answer._tag === "Dismissed") return [[boxes.length - 2], ""]
  const labels: Readonly<Record<string, string>> = {
    a: "The first",
    b: "The second",
    approve: "Approve",
    keep: "Keep planning"
  }
  const ticked = answer.selected.map((id) => boxes.findIndex((line) => line.includes(`**${labels[id]}**`)))
  return [ticked, answer.text ?? ""]
}

const untilTaken = async (path: string, filled: string): Promise<void> => {
  for (let tries = 0; tries < 200; tries++) {
    const now = await readFile(path, "utf8").catch(() => undefined)
    if (now !== filled) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** The driver for the conformance suite. */
export const folderReader = (folder: string): Layer.Layer<Person> =>
  Layer.sync(Person, () => {
    const everywhere = async () => {
      const folders = [folder, join(folder, "withdrawn"), join(folder, "answered")]
      return (await Promise.all(folders.map(questionsIn))).flat()
    }
    const find = async (id: string) => {
      const found = (await everywhere()).find((question) => question.id === id)
      if (found === undefined) throw new Error(`There is no file for ${id}`)
      return found
    }
    return {
      showing: Effect.tryPromise(async () => (await questionsIn(folder)).map(({ id }) => id)),
      read: (id) => Effect.tryPromise(async () => (await find(id)).text),
      answer: (id, answer) =>
        Effect.tryPromise(async () => {
          const { path, text } = await find(id)
          const filled = fillIn(text, ...marksFor(text, answer))
          await writeFile(path, filled)
          // The editor of a late person still has the file open under its old name, and saves it there.
          if (dirname(path) !== folder) await writeFile(join(folder, basename(path)), filled)
          // A file that has not been looked at yet can be changed: the answer is given when it has been taken or complained of.
          else await untilTaken(path, filled)
        }),
      leave: Effect.tryPromise(() => rm(folder, { recursive: true, force: true }))
    }
  })
