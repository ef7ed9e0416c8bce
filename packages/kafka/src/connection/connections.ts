/** Connections to brokers. The only place that knows how the driver connects. */
import { type API, Connection, type SASLOptions } from '@platformatic/kafka'
import type { CheckedOptions } from '../options/options.ts'

/** Milliseconds for an answer. */
const ANSWERED_WITHIN = 30_000

export interface Broker {
  readonly host: string
  readonly port: number
}

/** The connections of one end. */
export class Connections {
  readonly #options: CheckedOptions
  readonly #clientId: string
  readonly #lost: () => void
  /** By what they are for, and their broker. */
  readonly #all = new Map<string, Promise<Connection>>()
  /** How many questions wait for their answer, by connection. */
  readonly #asked = new Map<Connection, number>()

  /** @param lost is called when one has ended by itself that something was asked over */
  constructor(options: CheckedOptions, clientId: string, lost: () => void) {
    this.#options = options
    this.#clientId = clientId
    this.#lost = lost
  }

  /** Gives the connection that is there, or makes it. */
  connect(key: string, { host, port }: Broker): Promise<Connection> {
    const known = this.#all.get(key)
    if (known !== undefined) return known
    const { timeout, tls, sasl, servername } = this.#options
    const connection = new Connection(this.#clientId, {
      connectTimeout: timeout,
      requestTimeout: ANSWERED_WITHIN,
      ...(tls && { tls, tlsServerName: servername ?? host }),
      ...(sasl && { sasl: sasl as SASLOptions })
    })
    // The driver tells of each failure by the answer, too.
    connection.on('error', () => {})
    const connected = Promise.resolve(connection.connect(host, port)).then(
      () => connection,
      (error: unknown) => {
        if (this.#all.get(key) === connected) this.#all.delete(key)
        throw error
      }
    )
    connection.once('close', () => {
      // One that was replaced, or is closed on purpose, is nobody's loss.
      if (this.#all.get(key) !== connected) return
      this.#all.delete(key)
      // Brokers end connections on which nothing was asked for 10 minutes: the next question makes another.
      if (this.#asked.has(connection)) this.#lost()
    })
    this.#all.set(key, connected)
    return connected
  }

  /** Asks over a connection. */
  async ask<Args extends unknown[], Answer>(
    connection: Connection,
    api: API<Args, Answer>,
    ...args: Args
  ): Promise<Answer> {
    this.#asked.set(connection, (this.#asked.get(connection) ?? 0) + 1)
    try {
      return await api.async(connection, ...args)
    } finally {
      const left = (this.#asked.get(connection) ?? 1) - 1
      if (left > 0) this.#asked.set(connection, left)
      else this.#asked.delete(connection)
    }
  }

  /** Ends one. */
  async drop(key: string): Promise<void> {
    const connection = this.#all.get(key)
    this.#all.delete(key)
    await (await connection)?.close()
  }

  /** Ends all. Resolves when they have ended, whatever they say. */
  async dropAll(): Promise<void> {
    await Promise.allSettled([...this.#all.keys()].map((key) => this.drop(key)))
  }
}
