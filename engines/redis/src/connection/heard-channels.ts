/** The channels on which only that something was said matters, and the functions that are called then. */

export class HeardChannels {
  readonly #all = new Map<string, Set<() => void>>()

  add(channel: string, said: () => void): void {
    const all = this.#all.get(channel) ?? new Set()
    this.#all.set(channel, all.add(said))
  }

  /** @returns whether nobody hears the channel any more */
  remove(channel: string, said: () => void): boolean {
    const all = this.#all.get(channel)
    if (all?.delete(said) !== true || all.size > 0) return false
    return this.#all.delete(channel)
  }

  /** Calls the functions of a channel. @returns whether there are some */
  say(channel: string): boolean {
    const all = this.#all.get(channel)
    for (const said of all ?? []) said()
    return all !== undefined
  }
}
