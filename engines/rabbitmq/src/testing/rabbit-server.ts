/**
 * A RabbitMQ server for unit tests of consumers: queues, channels and links, whose every step a test takes itself. It
 * does what RabbitMQ does with quorum queues, as far as durable handlers use them.
 */
import type { ConfirmChannel, ConsumeMessage } from 'amqplib'
import type { Link, Part, PartOptions } from '../connection/link.ts'

interface Stored {
  readonly content: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  deliveries: number
}

interface Consuming {
  readonly tag: string
  readonly channel: TestChannel
  readonly receive: (message: ConsumeMessage) => void
}

class TestQueue {
  messages: Stored[] = []
  readonly isSingle: boolean
  consumers: Consuming[] = []

  constructor(isSingle: boolean) {
    this.isSingle = isSingle
  }

  /** Delivers as many messages as the consumers may have. */
  deliver(): void {
    const active = this.isSingle ? this.consumers.slice(0, 1) : this.consumers
    for (const consumer of active)
      while (this.messages.length > 0 && consumer.channel.hasRoom)
        consumer.channel.deliver(this, this.messages.shift() as Stored, consumer)
  }
}

/** One server: a test publishes, pauses and looks directly. */
export class TestServer {
  readonly queues = new Map<string, TestQueue>()
  readonly channels = new Set<TestChannel>()

  queue(name: string, isSingle = false): TestQueue {
    const known = this.queues.get(name) ?? new TestQueue(isSingle)
    this.queues.set(name, known)
    return known
  }

  publish(name: string, content: Buffer, headers: Readonly<Record<string, unknown>>): void {
    const queue = this.queue(name)
    queue.messages.push({ content, headers, deliveries: 0 })
    queue.deliver()
  }

  /** Takes one step on a channel that has something to do. @returns whether there was one */
  step(pick: number): boolean {
    const busy = [...this.channels].filter(({ isBusy }) => isBusy)
    busy[pick % Math.max(1, busy.length)]?.step(pick)
    return busy.length > 0
  }
}

/** The part of the driver's channel that consumers use. Commands and answers are under way until a step. */
export class TestChannel {
  readonly #server: TestServer
  readonly #closed: (error: Error) => void
  #toServer: (() => void)[] = []
  #toClient: (() => void)[] = []
  readonly #failing = new Set<(error: Error) => void>()
  readonly #unsettled = new Map<number, { readonly queue: TestQueue; readonly message: Stored }>()
  #prefetch = Number.POSITIVE_INFINITY
  #lastTag = 0
  #isOpen = true
  #ended = () => {}

  constructor(server: TestServer, closed: (error: Error) => void) {
    this.#server = server
    this.#closed = closed
    server.channels.add(this)
  }

  get isBusy(): boolean {
    return this.#toServer.length + this.#toClient.length > 0
  }

  get hasRoom(): boolean {
    return this.#unsettled.size < this.#prefetch
  }

  step(pick: number): void {
    const [first, second] =
      pick % 2 === 0 ? [this.#toServer, this.#toClient] : [this.#toClient, this.#toServer]
    const task = first.shift() ?? second.shift()
    task?.()
  }

  deliver(queue: TestQueue, message: Stored, { receive, tag }: Consuming): void {
    const deliveryTag = ++this.#lastTag
    this.#unsettled.set(deliveryTag, { queue, message })
    const headers = {
      ...message.headers,
      ...(message.deliveries > 0 && { 'x-delivery-count': message.deliveries })
    }
    const fields = { deliveryTag, consumerTag: tag, routingKey: 'p' }
    this.#toClient.push(() =>
      receive({ content: message.content, fields, properties: { headers } } as ConsumeMessage)
    )
  }

  #ask<Value>(task: () => Value): Promise<Value> {
    if (!this.#isOpen) return Promise.reject(new Error('Channel closed'))
    return new Promise<Value>((resolve, reject) => {
      this.#failing.add(reject)
      this.#toServer.push(() => {
        const value = task()
        this.#toClient.push(() => {
          this.#failing.delete(reject)
          resolve(value)
        })
      })
    })
  }

  assertQueue(
    name: string,
    options: { arguments?: Record<string, unknown> }
  ): Promise<{ messageCount: number }> {
    return this.#ask(() => ({
      messageCount: this.#server.queue(name, options.arguments?.['x-single-active-consumer'] === true)
        .messages.length
    }))
  }

  deleteQueue(name: string): Promise<unknown> {
    return this.#ask(() => this.#server.queues.delete(name))
  }

  assertExchange(): Promise<unknown> {
    return this.#ask(() => {})
  }

  bindQueue(): Promise<unknown> {
    return this.#ask(() => {})
  }

  prefetch(count: number): Promise<unknown> {
    return this.#ask(() => {
      this.#prefetch = count
    })
  }

  checkQueue(name: string): Promise<{ messageCount: number; consumerCount: number }> {
    return this.#ask(() => {
      const { messages, consumers } = this.#server.queue(name)
      return { messageCount: messages.length, consumerCount: consumers.length }
    })
  }

  consume(name: string, receive: (message: ConsumeMessage) => void): Promise<{ consumerTag: string }> {
    return this.#ask(() => {
      const queue = this.#server.queue(name)
      const tag = `${name} ${queue.consumers.length} ${++this.#lastTag}`
      queue.consumers.push({ tag, channel: this, receive })
      // The answer precedes the first delivery.
      queueMicrotask(() => queue.deliver())
      return { consumerTag: tag }
    })
  }

  cancel(tag: string): Promise<unknown> {
    return this.#ask(() => this.#leaveQueues((consumer) => consumer.tag === tag))
  }

  ack({ fields: { deliveryTag } }: ConsumeMessage, isAllUpTo = false): void {
    this.#settle(isAllUpTo ? (tag) => tag <= deliveryTag : (tag) => tag === deliveryTag, true)
  }

  nack({ fields: { deliveryTag } }: ConsumeMessage): void {
    this.#settle((tag) => tag === deliveryTag, false)
  }

  #settle(isMeant: (tag: number) => boolean, isDone: boolean): void {
    if (!this.#isOpen) throw new Error('Channel closed')
    this.#toServer.push(() => this.#give(isMeant, isDone))
  }

  #give(isMeant: (tag: number) => boolean, isDone: boolean): void {
    const given = [...this.#unsettled].filter(([tag]) => isMeant(tag)).reverse()
    const queues = new Set<TestQueue>()
    for (const [tag, { queue, message }] of given) {
      this.#unsettled.delete(tag)
      queues.add(queue)
      if (isDone) continue
      message.deliveries++
      queue.messages.unshift(message)
    }
    for (const queue of queues) queue.deliver()
  }

  #leaveQueues(isMeant: (consumer: Consuming) => boolean): void {
    for (const queue of this.#server.queues.values())
      queue.consumers = queue.consumers.filter((one) => one.channel !== this || !isMeant(one))
    for (const queue of this.#server.queues.values()) queue.deliver()
  }

  /** The client closes the channel: the server takes the commands that were sent before, and nothing arrives any more. */
  close(): Promise<void> {
    if (!this.#isOpen) return Promise.reject(new Error('Channel closed'))
    this.#isOpen = false
    this.#toClient = []
    this.#fail(new Error('Channel closed'))
    return new Promise((resolve) => {
      this.#ended = resolve
      this.#toServer.push(() => this.#end())
    })
  }

  /** The connection is lost, or the server closes the channel: what is under way is lost. */
  lose(isAlone: boolean): void {
    const wasOpen = this.#isOpen
    this.#isOpen = false
    this.#toServer = []
    this.#toClient = []
    this.#end()
    this.#fail(new Error('Channel lost'))
    if (isAlone && wasOpen) this.#closed(new Error('closed by the server'))
  }

  #end(): void {
    this.#server.channels.delete(this)
    this.#ended()
    const all = new Set(this.#unsettled.keys())
    // The messages go back before another consumer gets its turn.
    for (const queue of this.#server.queues.values())
      queue.consumers = queue.consumers.filter(({ channel }) => channel !== this)
    this.#give((tag) => all.has(tag), false)
    for (const queue of this.#server.queues.values()) queue.deliver()
  }

  #fail(error: Error): void {
    for (const fail of this.#failing) fail(error)
    this.#failing.clear()
  }
}

interface TestPart extends PartOptions {
  channel: TestChannel | undefined
  readonly setUp: (channel: ConfirmChannel) => Promise<unknown>
}

/** A connection of one process, which the test loses and restores. */
export class TestLink {
  isConnected = true
  readonly #server: TestServer
  readonly #parts = new Set<TestPart>()
  readonly #mine = new Set<TestChannel>()

  constructor(server: TestServer) {
    this.#server = server
  }

  get asLink(): Link {
    return this as unknown as Link
  }

  async open(setUp: TestPart['setUp'], options: PartOptions = {}): Promise<Part> {
    const part: TestPart = { ...options, setUp, channel: undefined }
    this.#parts.add(part)
    if (this.isConnected) await this.#setUp(part).catch(() => this.#again(part))
    return {
      get channel() {
        return part.channel as unknown as ConfirmChannel
      },
      renew: async () => {
        const before = part.channel
        part.channel = undefined
        await before?.close().catch(() => {})
        if (this.isConnected) await this.#setUp(part).catch(() => this.#again(part))
      },
      replace: async () => {},
      remove: async () => {
        this.#parts.delete(part)
        await part.channel?.close().catch(() => {})
      }
    }
  }

  async #setUp(part: TestPart): Promise<void> {
    const channel: TestChannel = new TestChannel(this.#server, (error) => {
      if (part.channel !== channel) return
      part.channel = undefined
      part.alone?.closed(error)
      this.#again(part)
    })
    this.#mine.add(channel)
    await part.setUp(channel as unknown as ConfirmChannel)
    part.channel = channel
  }

  async aside<Value>(task: (channel: ConfirmChannel) => Promise<Value>): Promise<Value> {
    if (!this.isConnected) throw new Error('There is no connection')
    const channel = new TestChannel(this.#server, () => {})
    this.#mine.add(channel)
    return task(channel as unknown as ConfirmChannel).finally(() => channel.close().catch(() => {}))
  }

  #again(part: TestPart): void {
    if (!this.isConnected || !this.#parts.has(part)) return
    this.#setUp(part).then(
      () => part.alone?.reopened(),
      () => this.#again(part)
    )
  }

  /** The server closes all channels of this connection, but not the connection. */
  closeChannels(): void {
    for (const channel of this.#mine) channel.lose(true)
    this.#mine.clear()
  }

  lose(): void {
    this.isConnected = false
    for (const part of this.#parts) part.channel = undefined
    for (const channel of this.#mine) channel.lose(false)
    this.#mine.clear()
  }

  restore(): void {
    this.isConnected = true
    for (const part of this.#parts) this.#again(part)
  }
}
