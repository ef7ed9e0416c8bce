/** Connections to brokers. The only place that knows how the driver connects. */
import { LONGEST_TIME } from '@elysia-microservices/transport/kit'
import { type API, Connection, type SASLOptions } from '@platformatic/kafka'
import type { CheckedOptions } from '../options/options.ts'

/** Milliseconds within which a broker must answer a request. */
const ANSWERED_WITHIN = 30_000

export interface Broker {
  readonly host: string
  readonly port: number
}

/** The connections to brokers that one client or service has. */
export class Connections {
  readonly #options: CheckedOptions
  readonly #clientId: string
  readonly #lost: () => void
  /** Connections by their key: the purpose and the broker of the connection. */
  readonly #all = new Map<string, Promise<Connection>>()
  /** How many requests wait for their answer on each connection. */
  readonly #asked = new Map<Connection, number>()

  /** @param lost is called when a connection on which a request was waiting has ended by itself */
  constructor(options: CheckedOptions, clientId: string, lost: () => void) {
    this.#options = options
    this.#clientId = clientId
    this.#lost = lost
  }

  /** Returns the connection that exists under a key, or opens a new one. */
  connect(key: string, { host, port }: Broker): Promise<Connection> {
    const known = this.#all.get(key)
    if (known !== undefined) return known
    const { connectTimeout, tls, sasl, servername } = this.#options
    const connection = new Connection(this.#clientId, {
      connectTimeout,
      // The driver ends a request that times out a second time when its connection is closed, and then throws where
      // nobody can catch it. `ask` limits the time instead.
      requestTimeout: LONGEST_TIME,
      // The driver keeps none in its queue: when a connection ends, it fails the requests of its queue from within each
      // other, so a thousand of them would end the process.
      maxInflights: Number.MAX_SAFE_INTEGER,
      ...(tls && { tls, tlsServerName: servername ?? host }),
      ...(sasl && { sasl: sasl as SASLOptions })
    })
    // Nothing to do: the driver reports each failure as the failure of a request, too.
    connection.on('error', () => {})
    const connected = Promise.resolve(connection.connect(host, port)).then(
      () => connection,
      (error: unknown) => {
        if (this.#all.get(key) === connected) this.#all.delete(key)
        throw error
      }
    )
    connection.once('close', () => {
      // Ends the driver's timer for logging in again, which would keep the process running.
      void connection.close()
      // A connection that was replaced, or closed on purpose, is not lost.
      if (this.#all.get(key) !== connected) return
      this.#all.delete(key)
      // Brokers close connections that were idle for 10 minutes: the next request opens a new connection.
      if (this.#asked.has(connection)) this.#lost()
    })
    this.#all.set(key, connected)
    return connected
  }

  /**
   * Sends a request over a connection. A connection without an answer is closed: nothing is known about the requests
   * on it any more.
   * @param within milliseconds until then
   */
  async ask<Args extends unknown[], Answer>(
    connection: Connection,
    api: API<Args, Answer>,
    args: Args,
    within = ANSWERED_WITHIN
  ): Promise<Answer> {
    this.#asked.set(connection, (this.#asked.get(connection) ?? 0) + 1)
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      connection.socket.destroy()
    }, within)
    try {
      return await api.async(connection, ...args)
    } catch (error) {
      if (!isLate) throw error
      const { host, port } = connection
      throw new Error(`The Kafka broker at ${host}:${port} has not answered for ${within} ms`, {
        cause: error
      })
    } finally {
      clearTimeout(late)
      const left = (this.#asked.get(connection) ?? 1) - 1
      if (left > 0) this.#asked.set(connection, left)
      else this.#asked.delete(connection)
    }
  }

  /** Closes one connection. */
  async drop(key: string): Promise<void> {
    const connection = this.#all.get(key)
    this.#all.delete(key)
    await (await connection)?.close()
  }

  /** Closes all connections. Resolves when all have ended, with an error or without. */
  async dropAll(): Promise<void> {
    await Promise.allSettled([...this.#all.keys()].map((key) => this.drop(key)))
  }
}
