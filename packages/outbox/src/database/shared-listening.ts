/**
 * Listening once for all who want to hear of a channel: with `pg` it takes a connection of the user's pool, and several
 * services of a process would take all of them.
 */
import type { Database } from './database.ts'

interface Listener {
  readonly wake: () => void
  readonly lost: () => void
}

/** One channel, and those who listen to it. */
class Channel {
  readonly listeners = new Set<Listener>()
  readonly begun: Promise<() => Promise<void>>
  hasBegun = false

  /** @param over called when it has failed, or is lost */
  constructor(open: Database['listen'], name: string, over: () => void) {
    const wake = () => {
      this.hasBegun = true
      for (const listener of [...this.listeners]) listener.wake()
    }
    const lost = () => {
      over()
      const all = [...this.listeners]
      this.listeners.clear()
      for (const listener of all) listener.lost()
    }
    this.begun = open(name, wake, lost).catch((error: unknown) => {
      over()
      throw error
    })
  }
}

/** The channels to which one pool listens. */
export class SharedListening {
  readonly #open: Database['listen']
  readonly #channels = new Map<string, Channel>()

  /** @param open listens on a connection of its own */
  constructor(open: Database['listen']) {
    this.#open = open
  }

  /** @see Database.listen */
  readonly listen: Database['listen'] = async (name, wake, lost) => {
    const channel = this.#channels.get(name) ?? this.#begin(name)
    const listener = { wake, lost }
    channel.listeners.add(listener)
    if (channel.hasBegun) wake()
    const end = await channel.begun
    return async () => {
      if (!channel.listeners.delete(listener) || channel.listeners.size > 0) return
      this.#forget(name, channel)
      await end()
    }
  }

  #begin(name: string): Channel {
    const channel: Channel = new Channel(this.#open, name, () => this.#forget(name, channel))
    this.#channels.set(name, channel)
    return channel
  }

  #forget(name: string, channel: Channel): void {
    if (this.#channels.get(name) === channel) this.#channels.delete(name)
  }
}
