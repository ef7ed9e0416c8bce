/** The driver over amqplib. No other file knows amqplib, except `socket.ts`, which mends what amqplib does not handle. */
import { unanswered } from '@elysia-microservices/engine'
import { endedWithin, unlessAborted } from '@elysia-microservices/transport/kit'
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from 'amqplib'
import type {
  Driver,
  DriverChannel,
  DriverConnection,
  Properties,
  QueueSettings,
  QueueState,
  Received,
  Returned
} from '../driver.ts'
import { destroy, gatherWrites, socketOf, survivesTimeouts, watch, withHeartbeat } from './socket.ts'

export const amqplib: Driver = {
  async connect(url, { tls, connectTimeout, heartbeat, name }, listener) {
    // Its own one, because the signal of the listener must not end a connection that stands.
    const attempt = new AbortController()
    const connecting = connect(withHeartbeat(url, heartbeat), {
      ...tls,
      // The driver passes it on to the socket, although its types lack it.
      ...{ signal: attempt.signal },
      timeout: connectTimeout,
      noDelay: true,
      clientProperties: { connection_name: name }
    })
    const model = await unlessAborted(connecting, listener.signal, () => attempt.abort()).catch((error) => {
      throw error?.message === 'connect ETIMEDOUT' ? unanswered(connectTimeout) : error
    })
    // An error event without a listener would end the process. The event `close` follows, and is handled.
    model.on('error', () => {})
    survivesTimeouts(model)
    const connection = new Connection(model)
    const lost = () => {
      if (connection.isOver) return
      connection.isOver = true
      listener.lost()
    }
    const socket = socketOf(model)
    if (socket !== undefined) {
      gatherWrites(socket)
      // The driver does not listen to the event `close` of its socket.
      socket.once('close', lost)
      watch(model, socket, heartbeat, () => !connection.isOver)
    }
    model.on('blocked', (reason: string) => listener.halted(reason || 'no reason given'))
    model.on('unblocked', () => listener.halted(undefined))
    model.on('close', lost)
    return connection
  }
}

class Connection implements DriverConnection {
  readonly #model: ChannelModel
  isOver = false

  constructor(model: ChannelModel) {
    this.#model = model
  }

  get version(): unknown {
    return (this.#model.connection.serverProperties as { readonly version?: unknown }).version
  }

  async openChannel(isConfirmed: boolean): Promise<DriverChannel> {
    return isConfirmed
      ? new ChannelOf(await this.#model.createConfirmChannel(), true)
      : new ChannelOf((await this.#model.createChannel()) as ConfirmChannel, false)
  }

  async close(): Promise<void> {
    this.isOver = true
    // Closing does not wait longer for a server that does not answer.
    await endedWithin(
      this.#model.close().catch(() => {}),
      1_000
    )
    destroy(this.#model)
  }
}

class ChannelOf implements DriverChannel {
  readonly #channel: ConfirmChannel
  readonly #isConfirmed: boolean
  failure: Error | undefined

  constructor(channel: ConfirmChannel, isConfirmed: boolean) {
    this.#channel = channel
    this.#isConfirmed = isConfirmed
    channel.on('error', (error: Error) => {
      this.failure = error
    })
  }

  whenReturned(told: (message: Returned) => void): void {
    this.#channel.on('return', told)
  }

  whenClosed(told: () => void): void {
    this.#channel.on('close', told)
  }

  declareExchange(name: string, type: 'topic' | 'direct' | 'fanout'): Promise<unknown> {
    return this.#channel.assertExchange(name, type, { durable: true })
  }

  checkExchange(name: string): Promise<unknown> {
    return this.#channel.checkExchange(name)
  }

  bindExchange(to: string, from: string, key: string): Promise<unknown> {
    return this.#channel.bindExchange(to, from, key)
  }

  declareQueue(name: string, settings: QueueSettings): Promise<QueueState> {
    return this.#channel.assertQueue(name, settings)
  }

  checkQueue(name: string): Promise<QueueState> {
    return this.#channel.checkQueue(name)
  }

  bindQueue(queue: string, exchange: string, key: string): Promise<unknown> {
    return this.#channel.bindQueue(queue, exchange, key)
  }

  unbindQueue(queue: string, exchange: string, key: string): Promise<unknown> {
    return this.#channel.unbindQueue(queue, exchange, key)
  }

  purgeQueue(name: string): Promise<unknown> {
    return this.#channel.purgeQueue(name)
  }

  deleteQueue(name: string): Promise<unknown> {
    return this.#channel.deleteQueue(name)
  }

  publish(
    exchange: string,
    key: string,
    content: Buffer,
    properties: Properties,
    told?: (error: unknown) => void
  ): void {
    // Channels without confirmations ignore the function.
    this.#channel.publish(exchange, key, content, properties, told)
  }

  async confirmed(): Promise<void> {
    if (this.#isConfirmed) await this.#channel.waitForConfirms()
  }

  prefetch(count: number): Promise<unknown> {
    return this.#channel.prefetch(count)
  }

  async consume(queue: string, receive: (message: Received | null) => void, noAck: boolean): Promise<string> {
    const { consumerTag } = await this.#channel.consume(queue, receive, { noAck })
    return consumerTag
  }

  cancel(consumerTag: string): Promise<unknown> {
    return this.#channel.cancel(consumerTag)
  }

  async get(queue: string): Promise<Received | undefined> {
    const message = await this.#channel.get(queue)
    return message === false ? undefined : message
  }

  acknowledge(deliveryTag: number, isAllUpTo = false): void {
    this.#channel.ack(deliveryOf(deliveryTag), isAllUpTo)
  }

  giveBack(deliveryTag: number): void {
    this.#channel.nack(deliveryOf(deliveryTag))
  }

  reject(deliveryTag: number): void {
    this.#channel.nack(deliveryOf(deliveryTag), false, false)
  }

  async close(because?: Error): Promise<void> {
    this.failure ??= because
    await this.#channel.close()
  }
}

/** The part of a message that amqplib reads to acknowledge it. */
function deliveryOf(deliveryTag: number): Parameters<Channel['ack']>[0] {
  return { fields: { deliveryTag } } as Parameters<Channel['ack']>[0]
}
