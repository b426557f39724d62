/**
 * An immutable list whose `append` costs the same at any length.
 *
 * Versions share one array: each sees a prefix of it, and the version that is as long as the array extends it in place.
 * Appending to an older version copies. That is what a fold over an append-only log needs.
 */
export interface AppendList<A> extends Iterable<A> {
  readonly length: number
  readonly at: (index: number) => A | undefined
  readonly append: (item: A) => AppendList<A>
  /** The items as an array of the caller's own. */
  readonly toArray: () => ReadonlyArray<A>
}

class Shared<A> implements AppendList<A> {
  readonly #items: Array<A>
  readonly length: number
  constructor(items: Array<A>, length: number) {
    this.#items = items
    this.length = length
  }
  at(index: number): A | undefined {
    const i = index < 0 ? this.length + index : index
    return i < this.length ? this.#items[i] : undefined
  }
  append(item: A): AppendList<A> {
    const items = this.#items.length === this.length ? this.#items : this.#items.slice(0, this.length)
    items.push(item)
    return new Shared(items, this.length + 1)
  }
  toArray(): ReadonlyArray<A> {
    return this.#items.slice(0, this.length)
  }
  *[Symbol.iterator](): Iterator<A> {
    for (let i = 0; i < this.length; i++) yield this.#items[i]!
  }
}

const empty = <A>(): AppendList<A> => new Shared<A>([], 0)

/** Makes append lists. */
export const AppendList = {
  empty,
  from: <A>(items: Iterable<A>): AppendList<A> => {
    const copy = [...items]
    return new Shared(copy, copy.length)
  }
}
