/** Subscribes for a service over one connection: a queue for each handler, and Nest's queue if it has one. */
import {
  type Carried,
  type Carrier,
  type Hearing,
  newSecret,
  type Subject,
  textOf
} from '@elysia-microservices/transport/engine'
import { ListenError, ProtocolError } from '@elysia-microservices/transport/kit'
import { noHandlerPacket } from '@elysia-microservices/transport/nest'
import type { Channel, ConsumeMessage } from 'amqplib'
import type { CheckedOptions, NestQueue } from '../options/options.ts'
import { readHeaders } from '../words/headers.ts'
import { bindingOf, CALLS, queueOfService, replyOf, routeOfKey } from '../words/names.ts'
import { routeOfMessage } from '../words/properties.ts'
import { acknowledging, afterAll } from './acknowledging.ts'
import { consume } from './consume.ts'
import { Handling, Overlapping } from './handlers.ts'
import type { Link, Part } from './link.ts'

/** Milliseconds for which a queue that nobody uses stays, such as a durable one after a restart of the server. */
const UNUSED_FOR = 60_000
/** Channels on which a service sets up its queues at a time. */
const MOST_CHANNELS = 4

/** The handlers of a service, and the connection that they take messages over. */
export interface TakingInit {
  readonly carrier: Carrier
  readonly link: Link
  readonly hearing: Hearing
  readonly options: CheckedOptions
  readonly subjects: readonly Subject[]
  readonly receive: (subject: Subject, message: Carried) => void
}

/** The queues of a service's handlers. */
export class Taking {
  readonly #init: TakingInit
  #taken: Part[] = []
  #leaving: (() => Promise<void>)[] = []
  #hasLeft = false

  constructor(init: TakingInit) {
    this.#init = init
  }

  /** Declares the queues, and consumes; again whenever the server was lost. @throws {ListenError} the server does not allow it */
  async start(): Promise<void> {
    const { carrier, link, options, subjects } = this.#init
    const id = newSecret()
    // One after the other on a channel: several channels are set up at a time.
    const channels = Math.min(MOST_CHANNELS, subjects.length)
    const openings = Array.from({ length: channels }, (_, index) => {
      const some = subjects.filter((_one, at) => at % channels === index)
      return link.open((channel) => this.#takeSome(channel, some, id))
    })
    if (options.nest !== undefined) {
      const { nest } = options
      openings.push(
        link.open(async (channel) => {
          if (!this.#hasLeft) await this.#takeNest(channel, nest)
        })
      )
    }
    const opened = await Promise.allSettled(openings)
    // Messages of Nest's queue that are handled while we leave are acknowledged over its channel, which stays.
    const kept = options.nest?.noAck === false ? openings.length - 1 : openings.length
    for (const one of opened.slice(0, kept)) if (one.status === 'fulfilled') this.#taken.push(one.value)
    // Queues that are lost with the server are declared again when there is one.
    for (const one of opened)
      if (one.status === 'rejected' && carrier.isConnected)
        throw new ListenError(`RabbitMQ at ${carrier.server}`, one.reason as Error)
  }

  async #takeSome(channel: Channel, some: readonly Subject[], id: string): Promise<void> {
    const { hearing, link, subjects, receive } = this.#init
    const tags: string[] = []
    this.#leaving.push(async () => void (await Promise.all(tags.map((tag) => channel.cancel(tag)))))
    for (const subject of some) {
      const { queue, address, isExact } = subject
      const name = queueOfService(queue ?? id, address)
      await channel.assertQueue(
        name,
        queue === undefined
          ? { exclusive: true, autoDelete: true, durable: false }
          : { autoDelete: true, durable: !link.allowsTransient, expires: UNUSED_FOR }
      )
      await channel.bindQueue(name, CALLS, bindingOf(address))
      const overlapping = new Overlapping(subject, subjects)
      const tag = await consume(channel, name, hearing, (message) => {
        const route = isExact ? address : routeOfKey(message.fields.routingKey)
        if (overlapping.isFirst(route)) receive(subject, this.#carriedOf(message, route))
      })
      tags.push(tag)
    }
  }

  async #takeNest(
    channel: Channel,
    { name, options, exchange, noAck, prefetchCount }: NestQueue
  ): Promise<void> {
    const { hearing, subjects, receive } = this.#init
    const { queue } = await channel.assertQueue(name, options)
    if (exchange !== undefined) {
      await channel.assertExchange(exchange, 'topic', { durable: true })
      for (const { address } of subjects) await channel.bindQueue(queue, exchange, bindingOf(address))
    }
    const handling = new Handling(subjects)
    const handle = (message: ConsumeMessage, ended?: () => void): boolean => {
      const route = routeOfMessage(message)
      const carried = this.#carriedOf(message, route)
      const matching = handling.of(route)
      if (matching.length === 0) this.#notHandled(message, carried)
      const tell = ended && afterAll(matching.length, ended)
      for (const subject of matching)
        receive(subject, tell === undefined ? carried : { ...carried, ended: tell() })
      return matching.length > 0
    }
    if (!noAck) await channel.prefetch(prefetchCount)
    const receiveOne = noAck
      ? (message: ConsumeMessage) => void handle(message)
      : (message: ConsumeMessage) => acknowledging(channel, message, (ended) => handle(message, ended))
    const tag = await consume(channel, queue, hearing, receiveOne, noAck)
    this.#leaving.push(async () => void (await channel.cancel(tag)))
  }

  /** As Nest's services say it. */
  #notHandled({ content }: ConsumeMessage, { address, reply }: Carried): void {
    const { carrier } = this.#init
    if (reply === '' || !carrier.isInbox(reply))
      throw new ProtocolError(
        `No handler of this service takes the event '${address.slice(0, 300)}', which came by the queue of options.queue`
      )
    let id: unknown = null
    try {
      id = (JSON.parse(textOf(content)) as { id?: unknown }).id
    } catch {
      // The words of a channel.
    }
    carrier.publish(reply, noHandlerPacket(JSON.stringify(id ?? null)))
  }

  #carriedOf({ content, properties }: ConsumeMessage, route: string): Carried {
    const { replyTo, correlationId, headers, priority } = properties
    return {
      address: route,
      words: content,
      reply: replyOf(replyTo, correlationId, this.#init.options.replyQueues),
      headers: headers === undefined && priority === undefined ? undefined : readHeaders(headers, priority)
    }
  }

  /** With the server its channels are lost. */
  lost(): void {
    this.#leaving = []
  }

  /** Takes nothing new; resolves when what the server has already sent has been received. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    const leaving = this.#leaving
    this.#leaving = []
    const taken = this.#taken
    this.#taken = []
    // The server answers in order: what it has sent before is received before.
    await Promise.all(leaving.map((leave) => leave().catch(() => {})))
    for (const part of taken) await part.remove()
  }
}
