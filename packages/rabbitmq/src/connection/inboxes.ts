/** Receives messages on queues of a connection's own: those to its inboxes, and those to all. */
import { type Carried, type Hearing, newSecret } from '@elysia-microservices/transport/engine'
import type { Channel } from 'amqplib'
import { EVERYONE, INBOXES } from '../words/names.ts'
import { readReplyOf } from '../words/properties.ts'
import { consume } from './consume.ts'
import type { Link, Part } from './link.ts'

type Receive = (message: Carried) => void

/** A queue of this connection alone. Its name is ours, because rights are by name. */
export async function ownQueue(channel: Channel, prefix: string): Promise<string> {
  const queue = `${prefix}.${newSecret()}`
  await channel.assertQueue(queue, { exclusive: true, autoDelete: true, durable: false })
  return queue
}

/** Receives what is said to all, again whenever the server was lost. */
export function listenToAll(link: Link, hearing: Hearing, receive: Receive): Promise<Part> {
  return link.open(async (channel) => {
    const queue = await ownQueue(channel, EVERYONE)
    await channel.bindQueue(queue, EVERYONE, '')
    await consume(channel, queue, hearing, ({ content, properties: { messageId } }) =>
      receive({ address: EVERYONE, words: content, reply: readReplyOf(messageId), headers: undefined })
    )
  })
}

/** Receives what is published to an inbox, as long as a channel is there. @returns the consumer's tag */
export async function listenOn(
  channel: Channel,
  hearing: Hearing,
  address: string,
  receive: Receive
): Promise<string> {
  const queue = address.slice(0, -1)
  await channel.assertQueue(queue, { exclusive: true, autoDelete: true, durable: false })
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
  /** Ends each of them over the channel that there is. */
  #deafening: (() => Promise<unknown>)[] = []

  constructor(link: Link, hearing: Hearing) {
    this.#link = link
    this.#hearing = hearing
  }

  /** Opens an inbox, again whenever the server was lost. */
  open(address: string, receive: Receive): Promise<Part> {
    const queue = address.slice(0, -1)
    this.#hearing.add(queue, receive)
    return this.#link.open(async (channel) => {
      const tag = await listenOn(channel, this.#hearing, address, receive)
      this.#deafening.push(async () => {
        // Messages published before reach the queue while somebody takes it; senders of later ones hear that nobody
        // listens.
        await channel.unbindQueue(queue, INBOXES, queue)
        await channel.cancel(tag)
      })
    })
  }

  /** The server is lost, and its channels with it. */
  lost(): void {
    this.#deafening = []
  }

  /** Ends them: what is published there from then on comes back to its sender. */
  async deafen(): Promise<void> {
    await Promise.allSettled(this.#deafening.map((deafen) => deafen()))
  }
}
