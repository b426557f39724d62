/**
 * Puts the tool calls of a reply together from their fragments, at a cost linear in their length.
 *
 * Servers are not careful with `index` and `id`: an index may be missing, start anywhere or be used again for the next
 * call, an id may be missing, blank or the same twice. Which call a fragment belongs to is decided here, once.
 */

/** A call so far. `arguments` joins the fragments. */
export interface OpenCall {
  /** Place among the calls of the reply, in order of appearance. */
  readonly place: number
  id: string
  name: string
  readonly fragments: Array<string>
}

/** What a fragment did. */
export interface Fragment {
  readonly call: OpenCall
  readonly text: string
  /** The call's name became known with this fragment. */
  readonly named: boolean
}

const string = (value: unknown): string => typeof value === "string" ? value : ""

/** The calls of one reply. */
export class ToolCalls {
  readonly calls: Array<OpenCall> = []
  private readonly byIndex = new Map<number, OpenCall>()

  /** Takes one element of `delta.tool_calls`; `undefined` if there is nothing in it. */
  push(value: unknown): Fragment | undefined {
    if (value === null || typeof value !== "object") return undefined
    const delta = value as { index?: unknown; id?: unknown; function?: unknown }
    const part = (delta.function ?? {}) as { name?: unknown; arguments?: unknown }
    const id = string(delta.id).trim()
    const name = string(part.name)
    const text = typeof part.arguments === "object" && part.arguments !== null
      ? JSON.stringify(part.arguments)
      : string(part.arguments)
    if (id === "" && name === "" && text === "") return undefined
    const index = typeof delta.index === "number" ? delta.index : undefined
    const call = this.callOf(index, id, name)
    const named = call.name === "" && name !== ""
    if (named) call.name = name
    if (call.id === "") call.id = id
    if (text !== "") call.fragments.push(text)
    return { call, text, named }
  }

  private callOf(index: number | undefined, id: string, name: string): OpenCall {
    const known = index === undefined
      ? this.withoutIndex(id, name)
      : this.byIndex.get(index)
    if (known !== undefined && !startsAnother(known, id, name)) return known
    const call: OpenCall = { place: this.calls.length, id: "", name: "", fragments: [] }
    this.calls.push(call)
    if (index !== undefined) this.byIndex.set(index, call)
    return call
  }

  private withoutIndex(id: string, name: string): OpenCall | undefined {
    const same = id === "" ? undefined : this.calls.findLast((call) => call.id === id)
    return same ?? (id !== "" && name !== "" ? undefined : this.calls[this.calls.length - 1])
  }
}

/** A second name at the same place, or a new id together with a name, is the next call and not a part of this one. */
const startsAnother = (call: OpenCall, id: string, name: string): boolean => {
  if (name === "" || call.name === "") return false
  return (id !== "" && call.id !== "" && id !== call.id) || name !== call.name
}
