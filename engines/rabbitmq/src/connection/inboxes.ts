/**
 * Receives messages on queues that belong to one connection: messages to its inboxes, and messages to all services.
 */
import { type Carried, type Hearing, newSecret } from '@elysia-microservices/engine'
import type { DriverChannel } from '../driver.ts'
import type { QueueOptions } from '../options/options.ts'
import { EVERYONE, INBOXES, queueOfProcess } from '../words/names.ts'
import { readReplyOf } from '../words/properties.ts'
import { consume } from './consume.ts'
import type { Link, Part } from './link.ts'

type Receive = (message: Carried) => void

/**
 * Creates a queue for this connection alone. The name is not left to the server, because users have rights by the
 * names of queues.
 */
export async function ownQueue(channel: DriverChannel, options?: QueueOptions): Promise<string> {
  const queue = queueOfProcess(newSecret())
  await channel.declareQueue(queue, { ...options, exclusive: true, autoDelete: true, durable: false })
  return queue
}

/** Receives the messages to all services. After the server was lost, the queue is created again. */
export function listenToAll(link: Link, hearing: Hearing, receive: Receive): Promise<Part> {
  return link.open(async (channel) => {
    const queue = await ownQueue(channel)
    await channel.bindQueue(queue, EVERYONE, '')
    await consume(channel, queue, hearing, ({ content, properties: { messageId } }) =>
      receive({ address: EVERYONE, words: content, reply: readReplyOf(messageId), headers: undefined })
    )
  })
}

/** Receives what is published to an inbox, as long as the channel is open. @returns the consumer's tag */
export async function listenOn(
  channel: DriverChannel,
  hearing: Hearing,
  address: string,
  receive: Receive
): Promise<string> {
  const queue = address.slice(0, -1)
  await channel.declareQueue(queue, { exclusive: true, autoDelete: true, durable: false })
  await channel.bindQueue(queue, INBOXES, queue)
  return consume(channel, queue, hearing, ({ content, properties: { correlationId, messageId } }) => {
    const reply = readReplyOf(messageId)
    receive({ address: address + String(correlationId), words: content, reply, headers: undefined })
  })
}

/** The inboxes of one connection. */
export class Inboxes {
  readonly #link: Link
  readonly #hearing: Hearing
  /** Functions that each close one inbox, over its current channel. */
  #deafening: (() => Promise<unknown>)[] = []

  constructor(link: Link, hearing: Hearing) {
    this.#link = link
    this.#hearing = hearing
  }

  /** Opens an inbox. After the server was lost, the inbox is opened again. */
  open(address: string, receive: Receive): Promise<Part> {
    const queue = address.slice(0, -1)
    this.#hearing.add(queue, receive)
    return this.#link.open(async (channel) => {
      const tag = await listenOn(channel, this.#hearing, address, receive)
      this.#deafening.push(async () => {
        // The queue is unbound before its consumer ends: messages that were published before still arrive, and
        // senders of later messages are told that nobody listens.
        await channel.unbindQueue(queue, INBOXES, queue)
        await channel.cancel(tag)
      })
    })
  }

  /** The server is lost, and all channels with it. */
  lost(): void {
    this.#deafening = []
  }

  /** Closes the inboxes: messages to them come back to their senders from then on. */
  async deafen(): Promise<void> {
    await Promise.allSettled(this.#deafening.map((deafen) => deafen()))
  }
}
