/** The screen and the keyboard together: what every part of this package stands on. */
import { Layer, type Terminal } from "effect"
import { Keyboard } from "./Keyboard.ts"
import { Screen } from "./Screen.ts"

export const TerminalUi: {
  /**
   * One screen and one keyboard over a `Terminal`. Compose it once in a program, with `NodeTerminal.layer` below it.
   *
   * @example
   * const Ui = TerminalUi.layer.pipe(Layer.provide(NodeTerminal.layer))
   */
  readonly layer: Layer.Layer<Screen | Keyboard, never, Terminal.Terminal>
} = { layer: Layer.mergeAll(Screen.layer, Keyboard.layer) }
