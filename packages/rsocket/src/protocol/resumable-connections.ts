/**
 * The connections of a server that can be resumed, by token. A connection without a socket waits for a limited time.
 * The number of waiting connections and their bytes are limited, because a peer chooses its tokens and could make as
 * many as it likes.
 */
import { text } from '@elysia-microservices/transport/kit'
import type { Output } from '../connection/protocol.ts'
import type { ResumeRequest } from './frames.ts'
import type { ResumeState, ServerResumeOptions } from './resume.ts'

/** A connection that outlives its socket. */
export interface Resumable {
  /** The user of the connection, who alone may resume it; `undefined`: everybody who has the token. */
  readonly user?: string | undefined
  /** Continues over another socket. */
  goOn(output: Output, request: ResumeRequest): void
  /** The connection has ended for good. */
  end(reason?: Error): void
}

/** Calls `task` after `delay` milliseconds. Returns a function that cancels the call. */
export type Later = (task: () => void, delay: number) => () => void

/** Share of the places and bytes that the connections of one address may take. */
const SHARE_OF_AN_ADDRESS = 0.25

/** The number of waiting connections, and the bytes that are stored for them. */
interface Load {
  connections: number
  bytes: number
}

interface Entry {
  readonly connection: Resumable
  /** The data of the wait; `undefined` while the connection does not wait. */
  waiting: Waiting | undefined
}

interface Waiting {
  readonly address: string
  readonly resumption: ResumeState
  /** Cancels the timer that ends the waiting time. */
  readonly spare: () => void
}

/** Finds connections by their resume tokens. */
export class ResumableConnections {
  /** Most bytes of sent frames that each connection stores. */
  readonly bufferSize: number
  readonly #options: Required<ServerResumeOptions>
  readonly #later: Later
  readonly #givenUp: (why: string) => void
  /** Connections in the order in which they were made, or began to wait. */
  readonly #entries = new Map<string, Entry>()
  readonly #total: Load = { connections: 0, bytes: 0 }
  readonly #byAddress = new Map<string, Load>()

  /** @param givenUp is called with the reason when a connection is dropped because of a limit */
  constructor(options: Required<ServerResumeOptions>, later: Later, givenUp: (why: string) => void) {
    this.#options = options
    this.bufferSize = options.bufferSize
    this.#later = later
    this.#givenUp = givenUp
  }

  /** Number of connections that wait at the moment, and the bytes that are stored for them. */
  get waiting(): Readonly<Load> {
    return this.#total
  }

  /** Whether a connection with this token exists. */
  has(token: Uint8Array): boolean {
    return this.#entries.has(keyOf(token))
  }

  /** Stores a connection under its token. */
  add(token: Uint8Array, connection: Resumable): void {
    this.#entries.set(keyOf(token), { connection, waiting: undefined })
  }

  /**
   * The socket of a connection is lost: the connection waits until it is resumed or the window ends.
   * @param address the address of the client
   */
  wait(resumption: ResumeState, connection: Resumable, address: string): void {
    const { window } = this.#options
    const key = keyOf(resumption.token)
    // Otherwise an earlier entry under this token would stay counted for ever.
    this.forget(resumption.token)
    const spare = this.#later(() => connection.end(new Error(`not resumed within ${window} ms`)), window)
    this.#entries.set(key, { connection, waiting: { address, resumption, spare } })
    this.#load(address, 1, resumption.kept)
    resumption.grown = (bytes) => {
      this.#load(address, 0, bytes)
      // The limit is checked in a microtask, because the connection that grows is in the middle of sending an answer.
      if (bytes > 0) queueMicrotask(() => this.#limit(address))
    }
    this.#limit(address)
  }

  /** Returns the connection with this token, without resuming it; `undefined` if there is none. */
  find(token: Uint8Array): Resumable | undefined {
    return this.#entries.get(keyOf(token))?.connection
  }

  /**
   * Returns the connection to resume now; `undefined` if there is none. The connection may still have its old socket.
   */
  take(token: Uint8Array): Resumable | undefined {
    const entry = this.#entries.get(keyOf(token))
    if (entry !== undefined) this.#waitsNoMore(entry)
    return entry?.connection
  }

  /** Removes a connection that has ended. */
  forget(token: Uint8Array): void {
    const key = keyOf(token)
    const entry = this.#entries.get(key)
    if (entry !== undefined) this.#waitsNoMore(entry)
    this.#entries.delete(key)
  }

  /** Ends all waiting connections, because the server stops. */
  endWaiting(): void {
    for (const { connection, waiting } of [...this.#entries.values()]) {
      if (waiting !== undefined) connection.end(new Error('the server has stopped'))
    }
  }

  #waitsNoMore(entry: Entry): void {
    const { waiting } = entry
    if (waiting === undefined) return
    entry.waiting = undefined
    waiting.spare()
    waiting.resumption.grown = undefined
    this.#load(waiting.address, -1, -waiting.resumption.kept)
  }

  #load(address: string, connections: number, bytes: number): void {
    const own = this.#byAddress.get(address) ?? { connections: 0, bytes: 0 }
    for (const load of [own, this.#total]) {
      load.connections += connections
      load.bytes += bytes
    }
    if (own.connections === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, own)
  }

  /** Drops the oldest connections, first of the address and then of all addresses, until no limit is exceeded. */
  #limit(address: string): void {
    const own = this.#byAddress.get(address)
    while (own !== undefined && this.#isTooMuch(own, SHARE_OF_AN_ADDRESS)) this.#giveUpOldest(address)
    while (this.#isTooMuch(this.#total, 1)) this.#giveUpOldest()
  }

  #isTooMuch({ connections, bytes }: Load, share: number): boolean {
    const { waiting, waitingSize } = this.#options
    return connections > waiting * share || bytes > waitingSize * share
  }

  /** @param address drops only a connection of this address; `undefined`: of any address */
  #giveUpOldest(address?: string): void {
    for (const entry of this.#entries.values()) {
      const { connection, waiting } = entry
      if (waiting === undefined || (address !== undefined && waiting.address !== address)) continue
      const { connections, bytes } = this.#total
      const where = address === undefined ? '' : ` (the address ${address} may have a quarter of that)`
      const why = `${connections} connections with ${bytes} bytes wait to be resumed, more than rsocket.resume allows${where}`
      // The entry is removed before its end, because if `end` failed, the caller's loop would never stop.
      this.#waitsNoMore(entry)
      connection.end(new Error(why))
      return this.#givenUp(why)
    }
  }
}

function keyOf(token: Uint8Array): string {
  return text.latin1(token, 0, token.length)
}
