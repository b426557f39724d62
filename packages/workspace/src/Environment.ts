/** What of the harness's environment a command gets to see. */
import { delimiter, isAbsolute } from "node:path"
import { isInside } from "./Identity.ts"

export interface EnvironmentOptions {
  /** Names that are passed on although they look like secrets. */
  readonly allow?: ReadonlyArray<string>
  /** Further names that are not passed on. */
  readonly deny?: ReadonlyArray<string>
  /** Variables to add or to replace. */
  readonly set?: { readonly [name: string]: string }
}

/** Names that hold secrets by custom: `OPENAI_API_KEY`, `GITHUB_TOKEN`, `AWS_SECRET_ACCESS_KEY`, `PGPASSWORD`. */
const SECRET_NAME =
  /PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API_?KEY|(^|_)(KEY|KEYS|ACCESS_KEY_ID|TOKENS?|COOKIE|PAT)(_|$)|[^_]TOKEN$|_(PWD|AUTH)$/

// `authToken` is `AUTH_TOKEN`.
const looksSecret = (name: string): boolean =>
  SECRET_NAME.test(name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toUpperCase())

/** Values that hold a password: `postgres://user:password@host`. */
const SECRET_VALUE = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i

// Without a terminal, these keep programs from waiting for one or from writing colours.
const PLAIN = { TERM: "dumb", NO_COLOR: "1", PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0" }

/** The environment of a command: that of the harness without what looks like a secret. */
export const commandEnvironment = (
  own: { readonly [name: string]: string | undefined },
  options: EnvironmentOptions = {}
): { [name: string]: string } => {
  const allow = new Set(options.allow)
  const deny = new Set(options.deny)
  const passed = Object.entries(own).filter((entry): entry is [string, string] => {
    const [name, value] = entry
    if (value === undefined || deny.has(name)) return false
    return allow.has(name) || !(looksSecret(name) || SECRET_VALUE.test(value))
  })
  return { ...Object.fromEntries(passed), ...PLAIN, ...options.set }
}

/**
 * The environment of a command that runs unasked because it only reads: programs are not looked for inside the
 * workspace, the shell loads no file and no function of the environment first, and git neither writes its index nor asks
 * a monitor program.
 */
export const readOnlyEnvironment = (
  env: { readonly [name: string]: string },
  root: string
): { [name: string]: string } => {
  const path = (env["PATH"] ?? "/usr/bin:/bin").split(delimiter)
    .filter((folder) => isAbsolute(folder) && !isInside(root, folder))
  const passed = Object.entries(env).filter(([name]) => !/^(BASH_ENV|ENV|BASH_FUNC_.*|GIT_EXTERNAL_DIFF)$/.test(name))
  return {
    ...Object.fromEntries(passed),
    PATH: path.join(delimiter),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: "false"
  }
}
