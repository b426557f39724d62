import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { commandEnvironment } from "../src/Environment.ts"
import { cutMiddle, ends, OutputBuffer, outputText } from "../src/OutputBuffer.ts"

describe("OutputBuffer", () => {
  it.prop("keeps the first and the last bytes and counts the others", {
    chunks: Schema.Array(Schema.String),
    limit: Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 2, maximum: 40 })))
  }, ({ chunks, limit }) => {
    const buffer = new OutputBuffer(limit)
    for (const chunk of chunks) buffer.push(Buffer.from(chunk))
    const all = Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)))
    const { head, lost, tail } = buffer.read()
    assert.strictEqual(head.length + lost + tail.length, all.length)
    assert.isAtMost(head.length + tail.length, limit)
    assert.deepStrictEqual(head, all.subarray(0, head.length))
    assert.deepStrictEqual(tail, all.subarray(all.length - tail.length))
    if (all.length <= Math.floor(limit / 2) * 2) assert.strictEqual(lost, 0)
  })

  it("cuts between characters", () => {
    const buffer = new OutputBuffer(10)
    buffer.push(Buffer.from("\u00e4\u00f6\u{1F600}xxxx\u{1F600}\u00e4\u00f6"))
    assert.strictEqual(outputText(buffer.read(), (bytes) => `[${bytes}]`), "\u00e4\u00f6[10]\u00e4\u00f6")
    assert.strictEqual(cutMiddle("ab\u{1F600}cd\u{1F600}ef", 6, (n) => `[${n}]`), "ab[6]ef")
  })

  it("has no NUL in its text", () => {
    const buffer = new OutputBuffer(10)
    buffer.push(Buffer.from("a\0b"))
    assert.strictEqual(outputText(buffer.read(), () => ""), "a\uFFFDb")
  })

  it("the ends of kept output are its outer bytes", () => {
    const whole = { head: Buffer.from("abcdef"), tail: Buffer.from("ghij"), lost: 0 }
    assert.deepStrictEqual(ends(whole, 20), whole)
    assert.deepStrictEqual(ends(whole, 4), { head: Buffer.from("ab"), tail: Buffer.from("ij"), lost: 6 })
    assert.deepStrictEqual(ends({ ...whole, lost: 5 }, 4), {
      head: Buffer.from("ab"),
      tail: Buffer.from("ij"),
      lost: 11
    })
  })
})

describe("commandEnvironment", () => {
  const kept = (env: { readonly [name: string]: string }, options = {}) => {
    const result = commandEnvironment(env, options)
    return Object.keys(env).filter((name) => name in result)
  }

  it("drops what looks like a secret", () => {
    for (
      const name of [
        "OPENAI_API_KEY",
        "DEEPSEEK_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "npm_config__authToken",
        "DB_PASSWORD",
        "PGPASSWORD",
        "MY_SECRET",
        "SSH_PRIVATE_KEY",
        "API_KEY",
        "token",
        "GH_PAT",
        "APIKEY",
        "CLIENT_SECRET_V2",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "STRIPE_KEY"
      ]
    ) {
      assert.deepStrictEqual(kept({ [name]: "x" }), [], name)
    }
    assert.deepStrictEqual(kept({ DATABASE_URL: "postgres://u:p@h/d", PROXY: "http://me:pw@proxy" }), [])
  })

  it("passes on what does not", () => {
    const plain = {
      PATH: "/bin",
      HOME: "/h",
      LANG: "C",
      KEYBOARD: "de",
      TOKENIZER: "x",
      MONKEY: "y",
      SSH_AUTH_SOCK: "/s",
      URL: "https://host/a@b",
      PWD: "/",
      OLDPWD: "/",
      DATABASE_URL: "postgres://host/d"
    }
    assert.deepStrictEqual(kept(plain), Object.keys(plain))
  })

  it("does as the program says", () => {
    assert.deepStrictEqual(kept({ A_TOKEN: "x", B: "y" }, { allow: ["A_TOKEN"], deny: ["B"] }), ["A_TOKEN"])
    assert.strictEqual(commandEnvironment({}, { set: { X_API_KEY: "x" } })["X_API_KEY"], "x")
  })
})
