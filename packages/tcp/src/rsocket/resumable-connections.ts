/** The connections of a server that can be resumed, by token; those without a socket wait for a while. */
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

/** Calls `task` after so many milliseconds. Returns the function that prevents it. */
export type Later = (task: () => void, delay: number) => () => void

interface Entry {
  readonly connection: Resumable
  /** Prevents its end, while it waits. */
  spare: (() => void) | undefined
}

/** Finds connections by their resume token. */
export class ResumableConnections {
  /** Bytes of sent frames each of them keeps. */
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

  /** The socket of a connection is lost: it may be resumed until the window closes. */
  wait(token: Uint8Array, connection: Resumable): void {
    const reason = new Error(`not resumed within ${this.#window} ms`)
    const spare = this.#later(() => connection.end(reason), this.#window)
    this.#entries.set(keyOf(token), { connection, spare })
  }

  /** The connection of a token, to be resumed now; `undefined` if there is none. It may still have its old socket. */
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

  /** The server stops: ends the connections that wait. */
  endWaiting(): void {
    for (const { connection, spare } of [...this.#entries.values()]) {
      if (spare !== undefined) connection.end(new Error('the server has stopped'))
    }
  }
}

function keyOf(token: Uint8Array): string {
  return Buffer.from(token).toString('latin1')
}
