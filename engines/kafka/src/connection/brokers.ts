/**
 * The brokers of a Kafka cluster: the list of brokers, the connections to them, and the search for brokers after all
 * connections were lost.
 */
import {
  backoffDelay,
  ConnectionError,
  UnauthenticatedError,
  unlessAborted
} from '@elysia-microservices/transport/kit'
import type { Broker, Driver, DriverConnection } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { Connections } from './connections.ts'
import { isUnauthenticated, isUnreached, reasonOf, systemErrorIn } from './errors.ts'

/** Milliseconds between attempts to reach a broker: the defaults of Kafka's own clients. */
const AGAIN_AFTER = { minDelay: 50, maxDelay: 1_000 }
/** Milliseconds after the loss of a broker until the cluster is asked which brokers lead its partitions now. */
const SHORTLY = 100

/** Is called when all brokers are lost, and when a broker can be reached again. */
export interface BrokersListener {
  /** Aborts when nobody wants the brokers any more. Default: never. */
  readonly signal?: AbortSignal | undefined
  lost(): void
  restored(): void
}

/** The brokers that one client or service is connected to. */
export abstract class Brokers {
  readonly options: CheckedOptions
  readonly #listener: BrokersListener
  readonly #brokers = new Map<number, Broker>()
  readonly #connections: Connections
  #isLookingAgain = false
  #isConnected = false
  #isClosed = false

  protected constructor(
    driver: Driver,
    options: CheckedOptions,
    clientId: string,
    listener: BrokersListener
  ) {
    this.options = options
    this.#listener = listener
    this.#connections = new Connections(driver, options, clientId, () => this.#lost())
  }

  /** Asks again for everything that is known about the cluster. */
  protected abstract refreshAll(): Promise<void>

  /**
   * Connects.
   * @throws {ConnectionError} no broker can be reached
   * @throws {UnauthenticatedError} the broker does not accept the credentials
   */
  protected async connect(): Promise<void> {
    try {
      await unlessAborted(this.#find(), this.#listener.signal)
    } catch (error) {
      await this.close()
      if (this.#listener.signal?.aborted === true) throw error
      const message = `Cannot reach Kafka at ${this.options.where}: ${reasonOf(error)}`
      if (isUnauthenticated(error)) throw new UnauthenticatedError(message, error)
      const advice = 'start a broker there, or check options.url'
      throw new ConnectionError(`${message}; ${advice}`, false, systemErrorIn(error))
    }
    this.#isConnected = true
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Asks for the list of brokers: first the brokers named in the options, then the brokers already known. */
  async #find(): Promise<void> {
    let failure: unknown
    for (const [index, broker] of [...this.options.brokers, ...this.#brokers.values()].entries()) {
      if (this.#isClosed) throw ConnectionError.closed()
      try {
        const connection = await this.#connections.connect(`first ${index}`, broker)
        const { brokers } = await this.#connections.ask(
          connection,
          (first) => first.metadata([]),
          this.options.connectTimeout
        )
        this.know(this.options.advertised ? brokers : brokers.map((one) => ({ ...one, ...broker })))
        return
      } catch (error) {
        failure ??= error
      }
    }
    throw failure
  }

  /**
   * Replaces the list of known brokers. A broker that has just started may answer with an empty list: then the known
   * brokers stay.
   */
  protected know(brokers: readonly (Broker & { readonly nodeId: number })[]): void {
    if (brokers.length > 0) this.#brokers.clear()
    for (const { nodeId, host, port } of brokers) this.#brokers.set(nodeId, { host, port })
  }

  /**
   * @param purpose names a connection of its own for each kind of request. A fetch waits for records and would delay
   * all other answers on its connection
   */
  async connection(node: number, purpose: string): Promise<DriverConnection> {
    if (!this.#isConnected) throw new ConnectionError(`Kafka at ${this.options.where} is lost`, false)
    const broker = this.#brokers.get(node)
    try {
      if (broker !== undefined) return await this.#connections.connect(`${purpose} ${node}`, broker)
    } catch (error) {
      this.#lookAgain()
      throw new ConnectionError(`Kafka's broker ${node} cannot be reached`, false, systemErrorIn(error))
    }
    this.#lookAgain()
    throw new ConnectionError(`Kafka's broker ${node} is not known in the cluster`, false)
  }

  /**
   * Refreshes what is known about the cluster after a broker is lost: other brokers lead its partitions, or will
   * soon.
   */
  #lookAgain(): void {
    if (this.#isLookingAgain) return
    this.#isLookingAgain = true
    void soon(SHORTLY)
      .then(() => this.refreshAll())
      .catch((error) => {
        // No broker answers.
        if (isUnreached(error)) this.#lost()
      })
      .then(() => {
        this.#isLookingAgain = false
      })
  }

  /** Sends a request to one broker. */
  async ask<Answer>(
    node: number,
    purpose: string,
    request: (broker: DriverConnection) => Promise<Answer>
  ): Promise<Answer> {
    return this.#connections.ask(await this.connection(node, purpose), request)
  }

  /** Sends a request to any broker that can be reached. */
  async askAny<Answer>(request: (broker: DriverConnection) => Promise<Answer>): Promise<Answer> {
    const [first = -1, ...others] = this.nodes
    let connecting = this.connection(first, 'main')
    for (const node of others) connecting = connecting.catch(() => this.connection(node, 'main'))
    return this.#connections.ask(await connecting, request)
  }

  /** Closes a connection on which a request waits whose answer is no longer wanted. */
  async drop(node: number, purpose: string): Promise<void> {
    await this.#connections.drop(`${purpose} ${node}`)
  }

  #lost(): void {
    if (!this.#isConnected || this.#isClosed) return
    this.#isConnected = false
    void this.#connections.dropAll()
    this.#listener.lost()
    void this.#findAgain()
  }

  async #findAgain(): Promise<void> {
    for (let attempt = 0; !this.#isClosed; attempt++) {
      await soon(backoffDelay(AGAIN_AFTER, attempt, Math.random()))
      try {
        await this.#find()
        if (this.#isClosed) return void this.#connections.dropAll()
        this.#isConnected = true
        await this.refreshAll()
        return this.#listener.restored()
      } catch {
        this.#isConnected = false
        void this.#connections.dropAll()
      }
    }
  }

  /** The ids of the known brokers. */
  get nodes(): readonly number[] {
    return [...this.#brokers.keys()]
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#isConnected = false
    await this.#connections.dropAll()
  }
}

export function soon(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
