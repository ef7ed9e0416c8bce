/**
 * The subscriptions of a service over one connection: a queue for each handler, and the queue shared with NestJS if
 * there is one.
 */
import {
  type Carried,
  type Carrier,
  type Hearing,
  newSecret,
  OncePerQueue,
  type Subject,
  textOf
} from '@elysia-microservices/engine'
import { ListenError, ProtocolError } from '@elysia-microservices/transport/kit'
import { noHandlerPacket } from '@elysia-microservices/transport/nest'
import type { DriverChannel, Received } from '../driver.ts'
import type { CheckedOptions, NestQueue } from '../options/options.ts'
import { readHeaders } from '../words/headers.ts'
import { bindingOf, CALLS, queueOfProcess, queueOfService, replyOf, routeOfKey } from '../words/names.ts'
import { routeOfMessage } from '../words/properties.ts'
import { acknowledging, afterAll } from './acknowledging.ts'
import { consume } from './consume.ts'
import { ownQueue } from './inboxes.ts'
import type { Link, Part } from './link.ts'

/**
 * Milliseconds after which RabbitMQ deletes a queue that nobody uses, such as a durable queue after a restart of the
 * server.
 */
const UNUSED_FOR = 60_000
/** Channels on which a service sets up its queues at the same time. */
const MOST_CHANNELS = 4

/** The handlers of a service, and the connection over which they receive messages. */
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
  readonly #once: OncePerQueue
  #taken: Part[] = []
  #leaving: (() => Promise<void>)[] = []
  #hasLeft = false

  constructor(init: TakingInit) {
    this.#init = init
    this.#once = new OncePerQueue(init.subjects)
  }

  /**
   * Declares the queues and begins to consume. After the server was lost, this is repeated. @throws {ListenError} the
   * server does not allow it to this user
   */
  async start(): Promise<void> {
    const { carrier, link, options, subjects } = this.#init
    // A channel sets up one queue after the other, so several channels are used.
    const channels = Math.min(MOST_CHANNELS, subjects.length)
    const openings = Array.from({ length: channels }, (_, index) => {
      const some = subjects.filter((_one, at) => at % channels === index)
      return link.open((channel) => this.#takeSome(channel, some))
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
    // The channel of the queue shared with NestJS stays open while the service stops: messages that are still being
    // handled are acknowledged on it.
    const kept = options.nest?.noAck === false ? openings.length - 1 : openings.length
    for (const one of opened.slice(0, kept)) if (one.status === 'fulfilled') this.#taken.push(one.value)
    // Queues that are lost together with the server are declared again later.
    for (const one of opened)
      if (one.status === 'rejected' && carrier.isConnected)
        throw new ListenError(`RabbitMQ at ${carrier.server}`, one.reason as Error)
  }

  async #takeSome(channel: DriverChannel, some: readonly Subject[]): Promise<void> {
    const { hearing, link, receive } = this.#init
    const tags: string[] = []
    this.#leaving.push(async () => void (await Promise.all(tags.map((tag) => channel.cancel(tag)))))
    for (const subject of some) {
      const { queue, address, isExact } = subject
      const name = queue === undefined ? queueOfProcess(newSecret()) : queueOfService(queue, address)
      await channel.declareQueue(
        name,
        queue === undefined
          ? { exclusive: true, autoDelete: true, durable: false }
          : { autoDelete: true, durable: !link.allowsTransient, expires: UNUSED_FOR }
      )
      await channel.bindQueue(name, CALLS, bindingOf(address))
      const tag = await consume(channel, name, hearing, (message) => {
        const route = isExact ? address : routeOfKey(message.fields.routingKey)
        if (isExact || this.#once.of(route).includes(subject))
          receive(subject, this.#carriedOf(message, route))
      })
      tags.push(tag)
    }
  }

  async #takeNest(channel: DriverChannel, nest: NestQueue): Promise<void> {
    const { hearing, receive } = this.#init
    const { noAck, prefetchCount } = nest
    const name = await this.#declareNest(channel, nest)
    const handle = (message: Received, ended?: () => void, settle?: Carried['settle']): boolean => {
      const route = routeOfMessage(message)
      const carried = { ...this.#carriedOf(message, route), ...(settle && { settle }) }
      const matching = this.#once.of(route)
      if (matching.length === 0) this.#notHandled(message, carried)
      const tell = ended && afterAll(matching.length, ended)
      for (const subject of matching)
        receive(subject, tell === undefined ? carried : { ...carried, ended: tell() })
      return matching.length > 0
    }
    if (!noAck) await channel.prefetch(prefetchCount)
    const receiveOne = noAck
      ? (message: Received) => void handle(message)
      : (message: Received) =>
          acknowledging(channel, message, (ended, settle) => handle(message, ended, settle))
    const tag = await consume(channel, name, hearing, receiveOne, noAck)
    this.#leaving.push(async () => void (await channel.cancel(tag)))
  }

  /** Declares the queue and the exchange that leads to it. Returns the name of the queue. */
  async #declareNest(
    channel: DriverChannel,
    { name, options, exchange, exchangeType, noAssert }: NestQueue
  ): Promise<string> {
    const queue = name === '' ? await ownQueue(channel, options) : name
    if (queue === name)
      if (noAssert) await channel.checkQueue(name)
      else await channel.declareQueue(name, options)
    if (exchange === undefined) return queue
    await channel.declareExchange(exchange, exchangeType)
    const keys =
      exchangeType === 'fanout' ? [''] : this.#init.subjects.map(({ address }) => bindingOf(address))
    for (const key of keys) await channel.bindQueue(queue, exchange, key)
    return queue
  }

  /** Answers a request without a handler as NestJS services do. */
  #notHandled({ content }: Received, { address, reply }: Carried): void {
    const { carrier } = this.#init
    if (reply === '' || !carrier.isInbox(reply))
      throw new ProtocolError(
        `This service has no handler for the event '${address.slice(0, 300)}', which came through the queue options.nest.queue`
      )
    let id: unknown = null
    try {
      id = (JSON.parse(textOf(content)) as { id?: unknown }).id
    } catch {
      // The content is not JSON: it is a message of this library's protocol.
    }
    carrier.publish(reply, noHandlerPacket(JSON.stringify(id ?? null)))
  }

  #carriedOf({ content, properties }: Received, route: string): Carried {
    const { replyTo, correlationId, headers, priority } = properties
    return {
      address: route,
      words: content,
      reply: replyOf(replyTo, correlationId, this.#init.options.replyQueues),
      headers: headers === undefined && priority === undefined ? undefined : readHeaders(headers, priority)
    }
  }

  /** The server is lost, and all channels with it. */
  lost(): void {
    this.#leaving = []
  }

  /** Stops receiving. Resolves when all messages that the server has already sent have been received. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    const leaving = this.#leaving
    this.#leaving = []
    const taken = this.#taken
    this.#taken = []
    // The server answers in order, so all messages that it has sent before arrive before this answer.
    await Promise.all(leaving.map((leave) => leave().catch(() => {})))
    for (const part of taken) await part.remove()
  }
}
