/**
 * A channel of the fake RabbitMQ. Commands and answers are under way until a step is taken, and each of both ways
 * keeps its order.
 */
import {
  CHANNEL_CLOSED,
  type DriverChannel,
  type Properties,
  type QueueSettings,
  type QueueState,
  type Received,
  type Returned
} from '../driver.ts'
import type { Consuming, FakeQueue, Stored } from './fake-queue.ts'
import type { FakeRabbitServer } from './fake-server.ts'

interface Unsettled {
  readonly queue: FakeQueue
  readonly message: Stored
  readonly consumer: Consuming | undefined
}

type Fail = (error: Error) => void

export class FakeChannel implements DriverChannel {
  failure: Error | undefined
  /** The port of its connection. */
  readonly port: number
  readonly #server: FakeRabbitServer
  /** The connection to which exclusive queues belong. */
  readonly #owner: object
  readonly #isConfirmed: boolean
  #toServer: (() => void)[] = []
  #toClient: (() => void)[] = []
  readonly #failing = new Set<Fail>()
  readonly #unsettled = new Map<number, Unsettled>()
  #returned: (message: Returned) => void = () => {}
  readonly #closed: (() => void)[] = []
  #prefetch = 0
  #lastTag = 0
  #isOpen = true
  /** Whether the server has refused a command, and takes no more. */
  #isRefused = false
  #ended = () => {}

  constructor(server: FakeRabbitServer, owner: object, isConfirmed: boolean, port = server.port) {
    this.#server = server
    this.port = port
    this.#owner = owner
    this.#isConfirmed = isConfirmed
    server.channels.add(this)
  }

  get isBusy(): boolean {
    return this.#toServer.length + this.#toClient.length > 0
  }

  /** Lets one command reach the server, or one answer the client. */
  step(pick: number): void {
    const [first, second] =
      pick % 2 === 0 ? [this.#toServer, this.#toClient] : [this.#toClient, this.#toServer]
    const task = first.shift() ?? second.shift()
    task?.()
  }

  /** Lets everything reach the server, or the client. */
  flow(to: 'server' | 'client'): void {
    const tasks = (to === 'server' ? this.#toServer : this.#toClient).splice(0)
    for (const task of tasks) task()
  }

  whenReturned(told: (message: Returned) => void): void {
    this.#returned = told
  }

  whenClosed(told: () => void): void {
    this.#closed.push(told)
  }

  // ── exchanges and queues ─────────────────────────────────────────────────────────────────────────────

  declareExchange(name: string, type: 'topic' | 'direct' | 'fanout'): Promise<unknown> {
    return this.#ask(() => this.#server.declareExchange(name, type))
  }

  checkExchange(name: string): Promise<unknown> {
    return this.#ask(() => this.#server.exchange(name))
  }

  bindExchange(to: string, from: string, key: string): Promise<unknown> {
    return this.#ask(() => this.#server.bind(from, { key, to: this.#server.exchange(to) }))
  }

  declareQueue(name: string, settings: QueueSettings): Promise<QueueState> {
    return this.#ask(() => stateOf(this.#server.declareQueue(name, settings, this.#owner)))
  }

  checkQueue(name: string): Promise<QueueState> {
    return this.#ask(() => stateOf(this.#server.existing(name, this.#owner)))
  }

  bindQueue(queue: string, exchange: string, key: string): Promise<unknown> {
    return this.#ask(() =>
      this.#server.bind(exchange, { key, to: this.#server.existing(queue, this.#owner) })
    )
  }

  unbindQueue(queue: string, exchange: string, key: string): Promise<unknown> {
    return this.#ask(() => this.#server.unbind(exchange, queue, key))
  }

  purgeQueue(name: string): Promise<unknown> {
    return this.#ask(() => {
      this.#server.existing(name, this.#owner).messages = []
    })
  }

  deleteQueue(name: string): Promise<unknown> {
    return this.#ask(() => this.#server.deleteQueue(name))
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  publish(
    exchange: string,
    key: string,
    content: Buffer,
    properties: Properties,
    told?: (error: unknown) => void
  ): void {
    if (!this.#isOpen) throw closedError()
    const fail = (error: Error) => told?.(error)
    if (this.#isConfirmed) this.#failing.add(fail)
    this.#command(() =>
      this.#orClose(() => {
        const outcome = this.#server.publish(exchange, key, content, properties)
        if (outcome === 'untaken' && properties.mandatory === true)
          this.#answer(() =>
            this.#returned({ content, fields: { routingKey: key }, properties: { ...properties } })
          )
        if (!this.#isConfirmed) return
        this.#answer(() => {
          this.#failing.delete(fail)
          told?.(outcome === 'refused' ? new Error('message nacked') : null)
        })
      })
    )
  }

  confirmed(): Promise<unknown> {
    return this.#isConfirmed ? this.#ask(() => {}) : Promise.resolve()
  }

  // ── in ───────────────────────────────────────────────────────────────────────────────────────────────

  prefetch(count: number): Promise<unknown> {
    return this.#ask(() => {
      this.#prefetch = count
    })
  }

  consume(name: string, receive: (message: Received | null) => void, noAck: boolean): Promise<string> {
    let found: FakeQueue | undefined
    return this.#ask(
      () => {
        const queue = this.#server.existing(name, this.#owner)
        found = queue
        const tag = `${name} ${++this.#lastTag}`
        const limit = noAck || this.#prefetch === 0 ? Number.POSITIVE_INFINITY : this.#prefetch
        queue.consumers.push({ tag, noAck, limit, unacknowledged: 0, channel: this, receive })
        return tag
      },
      // The answer precedes the first delivery.
      () => found?.deliver()
    )
  }

  cancel(tag: string): Promise<unknown> {
    return this.#ask(() => this.#server.leave((one) => one.channel === this && one.tag === tag))
  }

  deliver(queue: FakeQueue, message: Stored, consumer: Consuming): void {
    const received = this.#sent(queue, message, consumer.noAck ? undefined : consumer, consumer.noAck)
    this.#answer(() => consumer.receive(received))
  }

  canceled({ receive }: Consuming): void {
    this.#answer(() => receive(null))
  }

  get(name: string): Promise<Received | undefined> {
    return this.#ask(() => {
      const queue = this.#server.existing(name, this.#owner)
      const message = queue.messages.shift()
      return message && this.#sent(queue, message, undefined, false)
    })
  }

  #sent(queue: FakeQueue, message: Stored, consumer: Consuming | undefined, noAck: boolean): Received {
    const deliveryTag = ++this.#lastTag
    if (!noAck) this.#unsettled.set(deliveryTag, { queue, message, consumer })
    const { content, routingKey, properties, deliveries } = message
    const counted = queue.isQuorum && deliveries > 0 ? { 'x-delivery-count': deliveries } : undefined
    const headers = { ...(properties.headers as object | undefined), ...counted }
    const fields = { deliveryTag, routingKey, redelivered: deliveries > 0 }
    return { content, fields, properties: { ...properties, headers } }
  }

  acknowledge(deliveryTag: number, isAllUpTo = false): void {
    this.#settle(isAllUpTo ? (tag) => tag <= deliveryTag : (tag) => tag === deliveryTag, true)
  }

  giveBack(deliveryTag: number): void {
    this.#settle((tag) => tag === deliveryTag, false)
  }

  reject(deliveryTag: number): void {
    this.#settle((tag) => tag === deliveryTag, true)
  }

  #settle(isMeant: (tag: number) => boolean, isDone: boolean): void {
    if (!this.#isOpen) throw closedError()
    this.#command(() =>
      this.#orClose(() => {
        if (![...this.#unsettled.keys()].some(isMeant))
          throw new Error(
            '406 (PRECONDITION-FAILED) with message "PRECONDITION_FAILED - unknown delivery tag"'
          )
        this.#give(isMeant, isDone)
      })
    )
  }

  #give(isMeant: (tag: number) => boolean, isDone: boolean): void {
    const given = [...this.#unsettled].filter(([tag]) => isMeant(tag))
    const queues = new Map<FakeQueue, Stored[]>()
    for (const [tag, { queue, message, consumer }] of given) {
      this.#unsettled.delete(tag)
      if (consumer !== undefined) consumer.unacknowledged--
      queues.set(queue, [...(queues.get(queue) ?? []), ...(isDone ? [] : [message])])
    }
    for (const [queue, messages] of queues) queue.takeBack(messages)
    for (const queue of queues.keys()) queue.deliver()
  }

  // ── its end ──────────────────────────────────────────────────────────────────────────────────────────

  /** The client closes the channel: the server takes the commands that were sent before, and nothing arrives any more. */
  close(because?: Error): Promise<unknown> {
    if (!this.#isOpen) return Promise.reject(closedError())
    this.failure ??= because
    this.#isOpen = false
    this.#toClient = []
    this.#fail(closedError())
    return new Promise<void>((resolve) => {
      this.#ended = resolve
      this.#command(() => this.#end())
    })
  }

  /** The server closes the channel, or the connection is lost: what is under way is lost. */
  lose(failure: Error | undefined): void {
    this.#isOpen = false
    this.#toServer = []
    this.#toClient = []
    this.failure ??= failure
    this.#fail(failure ?? closedError())
    this.#end()
  }

  #end(): void {
    this.#server.channels.delete(this)
    // The messages go back before another consumer gets its turn.
    this.#server.leave(
      ({ channel }) => channel === this,
      () => this.#give(() => true, false)
    )
    for (const told of this.#closed) told()
    this.#ended()
  }

  #command(task: () => void): void {
    this.#toServer.push(task)
    this.#server.work()
  }

  #answer(task: () => void): void {
    this.#toClient.push(task)
    this.#server.work()
  }

  #fail(error: Error): void {
    for (const fail of this.#failing) fail(error)
    this.#failing.clear()
  }

  /** Runs a command; if the server refuses it, the channel is closed. */
  #orClose(task: () => void): void {
    if (this.#isRefused) return
    try {
      task()
    } catch (error) {
      this.#isRefused = true
      // The answers that were sent before still arrive.
      this.#answer(() => this.lose(error as Error))
    }
  }

  #ask<Value>(task: () => Value, afterwards = () => {}): Promise<Value> {
    if (!this.#isOpen) return Promise.reject(closedError())
    return new Promise<Value>((resolve, reject) => {
      this.#failing.add(reject)
      this.#command(() =>
        this.#orClose(() => {
          const value = task()
          this.#answer(() => {
            this.#failing.delete(reject)
            resolve(value)
          })
          afterwards()
        })
      )
    })
  }
}

function closedError(): Error {
  return Object.assign(new Error('Channel closed'), { name: CHANNEL_CLOSED })
}

function stateOf({ messages, consumers }: FakeQueue): QueueState {
  return { messageCount: messages.length, consumerCount: consumers.length }
}
