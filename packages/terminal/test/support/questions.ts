import type { Question } from "@holdfast/core"
import { SessionId } from "@holdfast/core"

const root = { session: SessionId.make("s-1"), path: [] }

export const planReview = (plan: string, over: Partial<Question> = {}): Question => ({
  id: "q-plan",
  asker: root,
  intent: { name: "plan-review", approve: "approve" },
  title: "Plan: add tests",
  detail: plan,
  options: [
    { id: "approve", label: "Approve" },
    { id: "keep", label: "Keep planning" }
  ],
  allowText: true,
  ...over
})

export const commandApproval = (command: string, over: Partial<Question> = {}): Question => ({
  id: "q-command",
  asker: { session: SessionId.make("s-2"), path: ["research", "docs"] },
  intent: { name: "approval", tool: "run_command", allow: ["once", "session"] },
  title: "Run a command",
  detail: JSON.stringify({ command }),
  preview: { kind: "command", command, cwd: "/srv/project" },
  options: [
    { id: "once", label: "Yes, once" },
    { id: "session", label: "Yes, for the rest of the session", description: "run_command npm test" },
    { id: "no", label: "No" }
  ],
  allowText: true,
  ...over
})

export const editApproval = (diff: string, over: Partial<Question> = {}): Question => ({
  ...commandApproval(""),
  id: "q-edit",
  asker: root,
  intent: { name: "approval", tool: "edit_file", allow: ["once"] },
  title: "Edit src/a.ts",
  detail: JSON.stringify({ path: "src/a.ts" }),
  preview: { kind: "diff", path: "src/a.ts", diff },
  ...over
})

export const openQuestion = (over: Partial<Question> = {}): Question => ({
  id: "q-open",
  asker: root,
  intent: { name: "question" },
  title: "Which databases?",
  detail: "Choose what applies.",
  options: [
    { id: "pg", label: "PostgreSQL" },
    { id: "sqlite", label: "SQLite" },
    { id: "file", label: "Files" }
  ],
  allowText: true,
  multiple: true,
  ...over
})
