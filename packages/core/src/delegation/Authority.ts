/**
 * What a child may call. Authority only shrinks: a child's tools are its parent's authority and its grant, whichever is
 * less. It is a fact of the child's first event, so a resumed child has what it had.
 */
import type { SessionView } from "../journal/Session.ts"
import { SessionInfo } from "../journal/SessionInfo.ts"
import type { CatalogTool } from "../tools/ToolCatalog.ts"
import type { ToolGate } from "../tools/ToolGate.ts"
import * as texts from "./texts.ts"

/** The two tools behind which all MCP servers stand. */
export const MCP_DISPATCHERS = ["mcp_call", "mcp_list_tools"] as const

/** The code of a refusal because of authority. */
export const NOT_GRANTED = "not_granted"

const isDispatcher = (name: string) => MCP_DISPATCHERS.some((dispatcher) => dispatcher === name)

/** Whether a grant entry speaks of tools behind the dispatchers: `mcp__server__tool`, `mcp__server__*` or `mcp__server`. */
export const isMcpEntry = (entry: string): boolean => entry.startsWith("mcp__")

/** `mcp__server` without a tool: every tool of that server, as `mcp__server__*`. */
const isServerEntry = (entry: string): boolean => isMcpEntry(entry) && !entry.slice("mcp__".length).includes("__")

const coversMcp = (entry: string, name: string): boolean =>
  entry === name || (entry.endsWith("__*") && name.startsWith(entry.slice(0, -1))) ||
  (isServerEntry(entry) && name.startsWith(`${entry}__`))

/** Whether a list of grant entries allows a call. `undefined` is the authority of a root: everything. */
export const allows = (authority: ReadonlyArray<string> | undefined, name: string): boolean => {
  if (authority === undefined || authority.includes(name)) return true
  if (isDispatcher(name)) return authority.some((entry) => isMcpEntry(entry) || isDispatcher(entry))
  return isMcpEntry(name) && (authority.includes("mcp_call") || authority.some((entry) => coversMcp(entry, name)))
}

/** The grant of a child without a manifest: every tool that is not dangerous by its class. */
export const defaultGrant = (tools: ReadonlyArray<CatalogTool>): ReadonlyArray<string> =>
  tools.filter((tool) => tool.safety !== "danger").map((tool) => tool.name)

/** Parent's authority and grant, as the entries that the child's first event records. Signals of a root stay with the root. */
export const childAuthority = (
  parent: ReadonlyArray<string> | undefined,
  grant: ReadonlyArray<string>,
  rootOnly: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const entries = grant.flatMap((entry) => {
    if (parent === undefined || allows(parent, entry)) return [entry]
    // A wider wish is cut down to what the parent itself was granted within it.
    return parent.filter((own) => isMcpEntry(own) && (coversMcp(entry, own) || (isDispatcher(entry))))
  })
  return [...new Set(entries)].filter((entry) => !rootOnly.includes(entry)).sort()
}

/** The authority of a session: `undefined` for a root. */
export const authorityOf = (view: SessionView): ReadonlyArray<string> | undefined => view.get(SessionInfo).authority

/** Refuses what a session was not granted, at the entrance of execution: a tool that came later and an inner tool as well. */
export const authorityGate: ToolGate = {
  name: "authority",
  refuse: (view, judgement, level) =>
    level === "ancestor" || allows(authorityOf(view), judgement.name)
      ? undefined
      : { code: NOT_GRANTED, text: texts.notGranted(judgement.name) }
}
