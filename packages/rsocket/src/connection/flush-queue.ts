/**
 * Connections with something to write. They write in a microtask of our own, behind the microtasks already waiting: so
 * calls that are made as answers come share one write, and later calls need not wait for all of them. A microtask is
 * also cheaper than a tick: with one request each on 100 connections, Bun serves 3 % more.
 */

import { nextTurn } from '../host.ts'

/** Writes what it has collected. */
export interface Flushable {
  flush(): void
}

/** Flushes all connections that have asked, together. */
export class FlushQueue {
  readonly #later: (task: () => void) => void
  #asked: Flushable[] = []
  /** An empty list for the next flush. */
  #spare: Flushable[] = []

  /** @param later calls its task later, when all connections of one flush have asked */
  constructor(later: (task: () => void) => void) {
    this.#later = later
  }

  /** Adds a connection. Call it once before each flush. */
  add(connection: Flushable): void {
    if (this.#asked.push(connection) > 1) return
    // Not as a method: browsers refuse to call `queueMicrotask` with a `this`.
    const later = this.#later
    later(this.#flush)
  }

  readonly #flush = (): void => {
    const connections = this.#asked
    this.#asked = this.#spare
    let next = 0
    try {
      while (next < connections.length) (connections[next++] as Flushable).flush()
    } finally {
      // A connection that throws (its logger may) must not keep the others from writing.
      while (next < connections.length) this.add(connections[next++] as Flushable)
      connections.length = 0
      this.#spare = connections
    }
  }
}

// Made when a session first writes: clients of pages, which have none, then come without the class.
let behindMicrotasks: FlushQueue | undefined
let atTurnEnd: FlushQueue | undefined

/** Flushes a connection together with all others of the process, behind the waiting microtasks. Call it once before each flush. */
export function flushSoon(connection: Flushable): void {
  behindMicrotasks ??= new FlushQueue(queueMicrotask)
  behindMicrotasks.add(connection)
}

/** The same when the turn ends. */
export function flushAtTurnEnd(connection: Flushable): void {
  atTurnEnd ??= new FlushQueue(nextTurn)
  atTurnEnd.add(connection)
}
