// LangGraph's SQLite checkpointer saving the state of a conversation after each step, with the durability of the others. It is run in a
// folder where `@langchain/langgraph-checkpoint-sqlite` is installed, because its native module is built for one version of Node.
const { createRequire } = require("node:module")
const { join } = require("node:path")
const load = createRequire(join(process.cwd(), "package.json"))
const { SqliteSaver } = load("@langchain/langgraph-checkpoint-sqlite")
const [folder, steps] = [process.argv[2], Number(process.argv[3])]
const saver = SqliteSaver.fromConnString(join(folder, "langgraph.db"))
saver.db.pragma("journal_mode = WAL")
saver.db.pragma("synchronous = FULL")
const text = "x".repeat(900)
const run = async () => {
  const messages = []
  let parent
  const cpu = process.cpuUsage()
  const begun = process.hrtime.bigint()
  for (let i = 0; i < steps; i++) {
    messages.push({ role: "user", text: `${i} ${text}` })
    const id = `1ef${String(i).padStart(29, "0")}`
    const checkpoint = {
      v: 4, id, ts: new Date(0).toISOString(), channel_values: { messages }, channel_versions: { messages: i + 1 }, versions_seen: {}
    }
    const config = { configurable: { thread_id: "t", checkpoint_ns: "", ...(parent === undefined ? {} : { checkpoint_id: parent }) } }
    await saver.put(config, checkpoint, { source: "loop", step: i, parents: {} })
    parent = id
  }
  const wall = Number(process.hrtime.bigint() - begun) / 1000
  const used = process.cpuUsage(cpu)
  const bytes = saver.db.pragma("page_count", { simple: true }) * saver.db.pragma("page_size", { simple: true })
  console.log(JSON.stringify({ wall: wall / steps, cpu: (used.user + used.system) / steps, bytes }))
}
void run()
