/** Publishes events to the queues of groups. RabbitMQ confirms an event when all of these queues have stored it. */
import type { Publisher, Store } from '@elysia-microservices/engine'
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { Part } from '../connection/link.ts'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import type { DriverChannel } from '../driver.ts'
import { keyOf, STORED } from '../words/names.ts'
import { type StoredMessage, uniqueOf } from './stored.ts'

/** Publishes events over one connection. */
export class EventStore implements Store<StoredMessage> {
  readonly maxPayload: number
  readonly #connection: RabbitConnection
  readonly #publisher: Publisher<StoredMessage>
  #part: Part | undefined
  /** Events that no queue takes, by channel: RabbitMQ returns such an event before it confirms it. */
  readonly #untaken = new WeakMap<DriverChannel, Set<string>>()
  /** The number of the last event that was also sent to handlers that are not durable. */
  #told = -1

  private constructor(connection: RabbitConnection, publisher: Publisher<StoredMessage>) {
    this.#connection = connection
    this.#publisher = publisher
    this.maxPayload = connection.maxPayload
  }

  /** Connects a publisher to a connection. */
  static async attach(connection: RabbitConnection, publisher: Publisher<StoredMessage>): Promise<void> {
    const store = new EventStore(connection, publisher)
    store.#part = await connection.link.open(
      async (channel) => {
        const untaken = new Set<string>()
        store.#untaken.set(channel, untaken)
        channel.whenReturned(({ properties }) => untaken.add(uniqueOf(properties)))
      },
      // Apart: if the connection is lost at this moment, the channel is opened over the next one.
      { isConfirmed: true, isApart: true, alone: { closed() {}, reopened: () => publisher.restored() } }
    )
    publisher.attach(store)
  }

  get isConnected(): boolean {
    return this.#connection.isConnected && this.#part?.channel !== undefined
  }

  /**
   * Opens a new channel. When a server of a cluster is lost, RabbitMQ 3.10 may leave a channel without answers for a
   * minute, while other channels store events in the same queue.
   */
  async reopen(): Promise<void> {
    await this.#part?.replace()
  }

  append({ address, payload, options }: StoredMessage, number: number): void {
    const unique = uniqueOf(options)
    const channel = this.#part?.channel
    // Without a channel, the publisher appends the event again later.
    if (channel === undefined) return
    channel.publish(STORED, keyOf(address), payload, options, (error: unknown) => {
      const hasFailed = error !== null && error !== undefined
      // The channel was lost, or replaced: the publisher sends the event again over the next one.
      if (hasFailed && channel !== this.#part?.channel) return
      const isUntaken = this.#untaken.get(channel)?.delete(unique) === true
      if (hasFailed) this.#publisher.refused(number, refusal(address, channel.failure), true)
      else if (isUntaken) this.#publisher.refused(number, nobody(address), false)
      else this.#publisher.stored(number, undefined, false)
    })
    if (number <= this.#told) return
    this.#told = number
    this.#connection.tell(address, payload, options.headers)
  }
}

function nobody(address: string): NotStoredError {
  return new NotStoredError(
    `No group stores the event '${address}': a group begins when its first service starts; start the service, or publish later`,
    true
  )
}

/** @param closing why the server has closed the channel; `undefined`: it has refused the event */
function refusal(address: string, closing: Error | undefined): NotStoredError {
  const full = 'the queue of a group is full, or most servers of this queue cannot be reached'
  const why = closing === undefined ? full : `it has closed the channel: ${closing.message}`
  return new NotStoredError(`RabbitMQ does not store the event '${address}' now: ${why}`, true, closing)
}
