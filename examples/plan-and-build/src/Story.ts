/**
 * What the stand-in's model does in the demonstration, and in a conversation about the demonstration's project.
 *
 * It is a function of the messages alone: where it stands in its work follows from the results that it can see, so a session that
 * was killed anywhere and resumed goes on to the same end.
 */
import { Scenario } from "@holdfast/deepseek-local"
import { sourcePath, testPath } from "./Project.ts"

interface Edit {
  readonly path: string
  readonly old_string: string
  readonly new_string: string
}

const fix: Edit = {
  path: sourcePath,
  old_string: "  return fields\n",
  new_string: "  fields.push(field)\n  return fields\n"
}

const newTest: Edit = {
  path: testPath,
  old_string: "test(\"keeps commas in quotes\"",
  new_string:
    "test(\"an empty line is one empty field\", () => {\n  assert.deepEqual(parseLine(\"\"), [\"\"])\n})\n\n" +
    "test(\"keeps commas in quotes\""
}

const firstPlan = `# Fix the dropped last field

1. \`${sourcePath}\`: push the field that is still open when the line ends.
2. Run \`node --test\`.
`

const secondPlan = `# Fix the dropped last field and cover the empty line

1. \`${sourcePath}\`: push the field that is still open when the line ends.
2. \`${testPath}\`: add a test for the empty line, which is one empty field.
3. Run \`node --test\` and look at the result.

Nothing else changes; \`parseLine\` keeps its signature.
`

/** The words by which a person who plays along can tell the revised plan from the first one. */
export const revisedPlanMark = "cover the empty line"

type Results = ReadonlyArray<{ readonly tool: string; readonly arguments: string; readonly content: string }>

const about = (results: Results, path: string): Results => results.filter((result) => result.arguments.includes(path))

/** The outcome of a call is not known or the file is not what was read: the model looks before it goes on. */
const unclear = (content: string): boolean =>
  content.includes("outcome is unknown") || content.includes("was interrupted") || content.includes("Read it")

const refusedByGate = (content: string): boolean =>
  content.includes("read-only planning phase") || content.includes("takes effect from the next step")

/** What there is to do about one edit: make it, look at the file first, or nothing more. */
const edit = (results: Results, wanted: Edit): Scenario.Reply | "done" => {
  const last = about(results, wanted.path)
    .filter(({ tool, content }) => tool === "read_file" || (tool === "edit_file" && !refusedByGate(content)))
    .at(-1)
  if (last?.tool === "edit_file") {
    if (unclear(last.content)) return Scenario.call("read_file", { path: wanted.path })
    if (!last.content.includes("was not")) return "done"
  }
  if (last?.tool === "read_file" && last.content.includes(wanted.new_string)) return "done"
  return Scenario.call("edit_file", { ...wanted })
}

const plan = (results: Results): Scenario.Reply => {
  const sentBack = results.some(({ tool, content }) => tool === "exit_plan_mode" && content.includes("did not approve"))
  return sentBack
    ? Scenario.call("exit_plan_mode", { plan: secondPlan }, {
      reasoning: "The person wants a test for the empty line as well. I add it to the plan."
    })
    : Scenario.call("exit_plan_mode", { plan: firstPlan }, {
      reasoning: "The cause is clear: the loop pushes a field at each comma and never after the last one."
    })
}

/** What the harness says in the user's role: guidance after the history, and notices. Nobody's words. */
const isHarness = (text: string): boolean =>
  text.startsWith(guidanceMark) || text.startsWith("The user switched to plan mode") ||
  text.startsWith("The user left plan mode")

/** How the guidance of plan mode begins. */
export const guidanceMark = "# Plan mode is on"

/** The fault in the parser: look, plan, ask, change, test. */
const fixTheParser: Scenario.Scenario = ({ conversation }) => {
  const results = conversation.allResults()
  const of = (tool: string) => results.filter((result) => result.tool === tool)
  const said = (tool: string, text: string) => of(tool).some(({ content }) => content.includes(text))

  const planning = conversation.contains(guidanceMark)
  if (
    !planning && of("enter_plan_mode").every(({ content }) => content.includes("was not")) &&
    !said("exit_plan_mode", "person")
  ) {
    return Scenario.call("enter_plan_mode", { reason: "I want to find the cause before I change anything." }, {
      content: "I will look at the parser and its tests first.",
      reasoning: "A fault in a parser and a missing test. I should understand the code, then propose the change."
    })
  }
  const unread = [sourcePath, testPath].filter((path) => !about(results, path).some(({ tool }) => tool === "read_file"))
  if (unread.length > 0) {
    return Scenario.calls([
      { name: "list_dir", arguments: {} },
      ...unread.map((path) => ({ name: "read_file", arguments: { path } }))
    ], { reasoning: "First the layout, then the parser and what its tests expect." })
  }
  if (!of("edit_file").some(({ content }) => refusedByGate(content)) && !said("exit_plan_mode", "The person")) {
    return Scenario.call("edit_file", { ...fix }, {
      content: "The loop never pushes the field after the last comma. I will fix that right away.",
      reasoning: "It is a one-line fix. Let me just try it."
    })
  }
  if (conversation.resultContains("closed the review", "exit_plan_mode")) {
    return Scenario.text("I stop here until you tell me how to go on.")
  }
  if (!said("exit_plan_mode", "The person approved the plan")) return plan(results)

  for (const wanted of [fix, newTest]) {
    const next = edit(results, wanted)
    if (next !== "done") return next
  }
  const tests = of("run_command").at(-1)
  if (tests === undefined || unclear(tests.content) || tests.content.includes("was not started")) {
    return Scenario.call("run_command", { command: "node --test" }, { reasoning: "Both edits are in. Now the tests." })
  }
  if (tests.content.includes("was not run")) {
    return Scenario.text(
      "The parser now keeps the last field, and there is a test for the empty line. I could not run the tests."
    )
  }
  return /^# fail 0$/m.test(tests.content) || /fail 0/.test(tests.content)
    ? Scenario.text(
      "The parser dropped the field after the last comma because it pushed a field only at a comma. It now pushes the last one " +
        "too, there is a new test for the empty line, and all tests pass."
    )
    : Scenario.text("The change is made, but the tests do not pass. The output above says which one fails.")
}

/** A question about the code: look, then answer, and change nothing. */
const explainQuotes: Scenario.Scenario = Scenario.firstMatch(
  Scenario.when(
    ({ conversation }) => conversation.results("read_file").length === 0,
    Scenario.call("read_file", { path: sourcePath }, { reasoning: "What does the loop do when it sees a quote?" })
  ),
  Scenario.when(
    () => true,
    Scenario.text(
      "It would not: each double quote only switches quoting on or off, so the doubled one is dropped. Treating two quotes in a " +
        "row as one character would be a small change. I can plan it if you want it."
    )
  )
)

/** The next reply: a function of everything that the conversation shows, and of what the person said last. */
export const story: Scenario.Scenario = Scenario.ignoring(
  (_, text) => isHarness(text),
  Scenario.firstMatch(
    Scenario.when(({ conversation }) => /\bquotes?\b/i.test(conversation.userText), explainQuotes),
    Scenario.when(
      ({ conversation }) => /\b(thank|thanks|leave it)\b/i.test(conversation.userText),
      Scenario.text("You are welcome. Nothing else was changed.")
    ),
    Scenario.when(() => true, fixTheParser)
  )
)
