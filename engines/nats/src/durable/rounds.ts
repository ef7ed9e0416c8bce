/**
 * Looks after the groups of all durable handlers of one service in one process: after each of those that are in use, and
 * after a few of the others in turn, so that handlers without events cost the server nothing that grows with their number.
 */
import { repeat } from '@elysia-microservices/engine'

/** Milliseconds between looks at groups in use. */
export const LOOK = 5_000
/**
 * Groups not in use that are looked at each time. The server tells by itself if a consumer is deleted; these looks find
 * what nothing tells, such as a pause, which a consumer that has to be created again gets too.
 */
const IN_TURN = 2

/** The group of one handler. */
export interface Watched {
  /** Whether nothing happens, and nobody reads the figures. */
  readonly isQuiet: boolean
  /** Asks the server for the state. */
  look(): void
}

/** The groups of one service. */
export class Rounds {
  readonly #all = new Set<Watched>()
  #end: (() => void) | undefined

  get size(): number {
    return this.#all.size
  }

  add(one: Watched): void {
    this.#all.add(one)
    this.#end ??= repeat(() => this.look(), LOOK)
  }

  remove(one: Watched): void {
    this.#all.delete(one)
    if (this.#all.size > 0) return
    this.#end?.()
    this.#end = undefined
  }

  /** Looks at the groups once. */
  look(): void {
    const quiet: Watched[] = []
    for (const one of this.#all)
      if (one.isQuiet) quiet.push(one)
      else one.look()
    for (const one of quiet.slice(0, IN_TURN)) {
      // At the end, so that the others are next.
      this.#all.delete(one)
      this.#all.add(one)
      one.look()
    }
  }
}
