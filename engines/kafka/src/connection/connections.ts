/** Connections to brokers: one for each broker and purpose. */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { Broker, Driver, DriverConnection } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'

/** Milliseconds within which a broker must answer a request. */
const ANSWERED_WITHIN = 30_000

/** The connections to brokers that one client or service has. */
export class Connections {
  readonly #driver: Driver
  readonly #options: CheckedOptions
  readonly #clientId: string
  readonly #lost: () => void
  /** Connections by their key: the purpose and the broker of the connection. */
  readonly #all = new Map<string, Promise<DriverConnection>>()
  /** Ends the attempts to connect that are under way, by the key of the connection. */
  readonly #attempts = new Map<string, AbortController>()
  /** How many requests wait for their answer on each connection. */
  readonly #asked = new Map<DriverConnection, number>()

  /** @param lost is called when a connection on which a request was waiting has ended by itself */
  constructor(driver: Driver, options: CheckedOptions, clientId: string, lost: () => void) {
    this.#driver = driver
    this.#options = options
    this.#clientId = clientId
    this.#lost = lost
  }

  /** Returns the connection that exists under a key, or opens a new one. */
  connect(key: string, broker: Broker): Promise<DriverConnection> {
    const known = this.#all.get(key)
    if (known !== undefined) return known
    let open: DriverConnection | undefined
    const closed = () => {
      // A connection that was replaced, or closed on purpose, is not lost.
      if (this.#all.get(key) !== connected) return
      this.#all.delete(key)
      // Brokers close connections that were idle for 10 minutes: the next request opens a new connection.
      if (open !== undefined && this.#asked.has(open)) this.#lost()
    }
    const attempt = new AbortController()
    this.#attempts.set(key, attempt)
    const connecting = this.#driver.connect(broker, this.#options, this.#clientId, closed, attempt.signal)
    const connected = connecting.then(
      (connection) => {
        open = connection
        return connection
      },
      (error: unknown) => {
        if (this.#all.get(key) === connected) this.#all.delete(key)
        throw error
      }
    )
    this.#all.set(key, connected)
    return connected
  }

  /**
   * Sends a request over a connection. A connection without an answer is closed: nothing is known about the requests
   * on it any more.
   * @param within milliseconds until then
   */
  async ask<Answer>(
    connection: DriverConnection,
    request: (connection: DriverConnection) => Promise<Answer>,
    within = ANSWERED_WITHIN
  ): Promise<Answer> {
    this.#asked.set(connection, (this.#asked.get(connection) ?? 0) + 1)
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      connection.destroy()
    }, within)
    try {
      return await request(connection)
    } catch (error) {
      if (!isLate) throw error
      const { host, port } = connection.broker
      throw new Error(`the broker at ${host}:${port} has not answered within ${within} ms`)
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
    this.#attempts.get(key)?.abort(ConnectionError.closed())
    this.#attempts.delete(key)
    await (await connection)?.close()
  }

  /** Closes all connections. Resolves when all have ended, with an error or without. */
  async dropAll(): Promise<void> {
    await Promise.allSettled([...this.#all.keys()].map((key) => this.drop(key)))
  }
}
