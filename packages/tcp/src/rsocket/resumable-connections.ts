/** The connections of a server that can be resumed, by token. A connection without a socket waits for a limited time. */
import type { Output } from '../connection/protocol.ts'
import type { ResumeRequest } from './frames.ts'
import type { ResumeOptions } from './resume.ts'

/** A connection that outlives its socket. */
export interface Resumable {
  /** Goes on with another socket. */
  goOn(output: Output, request: ResumeRequest): void
  /** The connection is over. */
  end(reason?: Error): void
}

/** Calls `task` after `delay` milliseconds. Returns a function that prevents it. */
export type Later = (task: () => void, delay: number) => () => void

interface Entry {
  readonly connection: Resumable
  /** Prevents the end of a waiting connection. */
  spare: (() => void) | undefined
}

/** Finds connections by their resume token. */
export class ResumableConnections {
  /** Bytes of sent frames that each connection keeps. */
  readonly bufferSize: number
  readonly #window: number
  readonly #later: Later
  readonly #entries = new Map<string, Entry>()

  constructor(options: Required<ResumeOptions>, later: Later) {
    this.#window = options.window
    this.bufferSize = options.bufferSize
    this.#later = later
  }

  has(token: Uint8Array): boolean {
    return this.#entries.has(keyOf(token))
  }

  add(token: Uint8Array, connection: Resumable): void {
    this.#entries.set(keyOf(token), { connection, spare: undefined })
  }

  /** The socket of a connection is lost: the connection waits until the window closes. */
  wait(token: Uint8Array, connection: Resumable): void {
    const reason = new Error(`not resumed within ${this.#window} ms`)
    const spare = this.#later(() => connection.end(reason), this.#window)
    this.#entries.set(keyOf(token), { connection, spare })
  }

  /** The connection to resume now; `undefined` if the token has none. It may still have its old socket. */
  take(token: Uint8Array): Resumable | undefined {
    const entry = this.#entries.get(keyOf(token))
    if (entry === undefined) return undefined
    entry.spare?.()
    entry.spare = undefined
    return entry.connection
  }

  /** A connection is over. */
  forget(token: Uint8Array): void {
    this.#entries.get(keyOf(token))?.spare?.()
    this.#entries.delete(keyOf(token))
  }

  /** Ends all waiting connections, because the server stops. */
  endWaiting(): void {
    for (const { connection, spare } of [...this.#entries.values()]) {
      if (spare !== undefined) connection.end(new Error('the server has stopped'))
    }
  }
}

function keyOf(token: Uint8Array): string {
  return Buffer.from(token).toString('latin1')
}
