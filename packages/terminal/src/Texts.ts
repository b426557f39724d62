/** Every text that this package shows to a person, in one place. */
export const Texts = {
  root: "the agent",
  child: (path: ReadonlyArray<string>) => `child agent ${path.join(" › ")}`,
  asks: {
    "plan-review": (who: string) => `${who} asks for a review of its plan`,
    approval: (who: string) => `${who} asks for permission`,
    question: (who: string) => `${who} asks`
  },
  write: {
    "plan-review": "Write feedback",
    approval: "No, and tell the agent what to do instead",
    question: "Write an answer"
  },
  folder: (cwd: string) => `in the folder ${cwd}`,
  file: (path: string) => `file ${path}`,
  arguments: "with these arguments",
  command: "runs this command line",
  changes: "makes this change",
  escaped: (count: number) =>
    count === 1
      ? "1 character that a terminal would act on or hide is shown as <U+XXXX>."
      : `${count} characters that a terminal would act on or hide are shown as <U+XXXX>.`,
  longer: (rows: number, screens: number) =>
    `The text above has ${rows} rows, ${screens} screens: v reads it from the top.`,
  hint: (many: boolean, multiple: boolean) =>
    `↑/↓${many ? " or a number" : ""} moves · ${
      multiple ? "Space marks · " : ""
    }Enter chooses · Esc closes without an answer`,
  hintView: " · v reads it all",
  hintWrite: "Enter sends · Esc goes back",
  hintPage: (from: number, to: number, total: number) =>
    `rows ${from}–${to} of ${total} · Space/PgDn on · b/PgUp back · g/G ends · q goes back to the answers`,
  starting: "one moment …",
  answered: (label: string) => `answered: ${label}`,
  wrote: (text: string) => `answered: ${text}`,
  dismissed: "closed without an answer",
  withdrawn: (title: string) => `withdrawn: ${title}`,
  noTerminal: "standard input and output are not an interactive terminal",
  inputEnded: "standard input has ended",
  interrupting: (seconds: number) => `Interrupting. Ctrl-C again within ${seconds} s exits.`,
  exitHint: (seconds: number) => `Ctrl-C again within ${seconds} s exits.`,
  exiting: "Exiting.",
  scripted: {
    text: "a text",
    options: (labels: ReadonlyArray<string>) => `  possible answers: ${labels.join(" / ")}`,
    answers: (answer: string) => `✔ answered by a script, not by a person: ${answer}`,
    nothing: "✗ the script has no answer for this question",
    noAnswer: "the script has no answer left for this question"
  },
  progress: {
    thinking: "thinking",
    thought: (chars: number) => `thought (${chars} characters)`,
    tokens: (count: string) => `${count} tokens`,
    tool: (title: string) => `▸ ${title}`,
    finished: (mark: string, title: string, summary: string) =>
      `${mark} ${title}${summary === "" ? "" : `: ${summary}`}`,
    waiting: (asker: string, title: string) => `… ${asker} waits for a person: ${title}`,
    retrying: (wait: string, reason: string) => `↻ trying again in ${wait}: ${reason}`,
    pausing: "waiting before the next attempt",
    planOn: "◆ plan mode is on: nothing will be changed",
    planOff: "◇ plan mode is off",
    ended: (reason: string, detail: string | undefined) =>
      `■ turn ended: ${reason}${detail === undefined || detail === "" ? "" : ` (${detail})`}`,
    notice: (text: string) => `· ${text}`
  },
  marks: { ok: "✓", failed: "✗", refused: "⊘", interrupted: "◌" }
} as const
