import { assert, it } from "@effect/vitest"
import { allows, childAuthority } from "../../src/index.ts"

for (const entry of ["mcp__srv", "mcp__srv__*"]) {
  it(`${entry} grants every tool of that server through the dispatchers and nothing else`, () => {
    assert.isTrue(allows([entry], "mcp__srv__read"))
    assert.isTrue(allows([entry], "mcp_call"))
    assert.isTrue(allows([entry], "mcp_list_tools"))
    for (const other of ["mcp__srv2__read", "mcp__other__read", "read_file"]) assert.isFalse(allows([entry], other))
  })
}

it("mcp__server__tool grants that one tool", () => {
  assert.isTrue(allows(["mcp__srv__read"], "mcp__srv__read"))
  assert.isFalse(allows(["mcp__srv__read"], "mcp__srv__read_all"))
  assert.isFalse(allows(["mcp__srv__read"], "mcp__srv__write"))
})

it("a child that wishes for a whole server gets what its parent has of it", () => {
  assert.deepStrictEqual(childAuthority(["mcp__srv__read", "mcp__other__read"], ["mcp__srv"], []), ["mcp__srv__read"])
  assert.deepStrictEqual(childAuthority(["mcp__srv__*"], ["mcp__srv"], []), ["mcp__srv__*"])
  assert.deepStrictEqual(childAuthority(["mcp__srv"], ["mcp__srv__write"], []), ["mcp__srv__write"])
  assert.deepStrictEqual(childAuthority(["mcp__srv"], ["mcp__other"], []), [])
})
