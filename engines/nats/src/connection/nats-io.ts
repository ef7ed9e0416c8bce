/** The driver over NATS's own one. No other file connects by it. */
import { unlessAborted } from '@elysia-microservices/transport/kit'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { connect, errors, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import type {
  Driver,
  DriverConnection,
  DriverListener,
  DriverSubscription,
  JetStream,
  Receive
} from '../driver.ts'
import { giveUpAttempts } from './attempts.ts'

/**
 * Bytes after which the driver writes what it has collected in a turn of the event loop. The driver's own limit is
 * twice as large, about as much as a hundred small requests of one turn: they would all be written together, and
 * client, server and service would wait for each other in turn. The driver reads this option although its types lack
 * it.
 */
const EARLY_WRITES: object = { pendingLimit: 16 * 1024 }

export const natsIo: Driver = {
  async connect(options, listener) {
    giveUpAttempts()
    const { signal } = listener
    const connecting = connect({ ...EARLY_WRITES, ...options, ...(signal && { signal }) })
    return new Connection(await unlessAborted(connecting, signal), listener)
  }
}

class Connection implements DriverConnection {
  readonly #driver: NatsConnection

  constructor(driver: NatsConnection, listener: DriverListener) {
    this.#driver = driver
    void watch(driver, listener)
  }

  get server(): string {
    return this.#driver.getServer()
  }

  get maxPayload(): number {
    return this.#driver.info?.max_payload ?? 1024 * 1024
  }

  publish(subject: string, bytes: Uint8Array, reply: string | undefined, headers: MsgHdrs | undefined): void {
    if (headers !== undefined)
      this.#driver.publish(subject, bytes, reply === undefined ? { headers } : { reply, headers })
    else if (reply !== undefined) this.#driver.publish(subject, bytes, { reply })
    else this.#driver.publish(subject, bytes)
  }

  subscribe(subject: string, queue: string | undefined, receive: Receive): DriverSubscription {
    return this.#driver.subscribe(
      subject,
      queue === undefined ? { callback: receive } : { queue, callback: receive }
    )
  }

  flush(): Promise<void> {
    return this.#driver.flush()
  }

  close(): Promise<void> {
    return this.#driver.close()
  }

  async jetStream(): Promise<JetStream> {
    return new Manager(await jetstreamManager(this.#driver))
  }
}

async function watch(driver: NatsConnection, listener: DriverListener): Promise<void> {
  for await (const status of driver.status()) {
    if (status.type === 'disconnect') listener.lost()
    else if (status.type === 'reconnect') listener.restored()
    else if (status.type === 'error') {
      const { error } = status
      if (error instanceof errors.PermissionViolationError)
        listener.refused(error.subject, error.operation === 'publish' ? 'publish' : 'listen', error)
    }
  }
  const error = await driver.closed()
  listener.ended(error instanceof Error ? error : undefined)
}

class Manager implements JetStream {
  readonly #streams: JetStreamManager['streams']
  readonly #consumers: JetStreamManager['consumers']

  constructor({ streams, consumers }: JetStreamManager) {
    this.#streams = streams
    this.#consumers = consumers
  }

  stream: JetStream['stream'] = (name, subject) =>
    this.#streams.info(name, subject === undefined ? {} : { subjects_filter: subject })
  streams: JetStream['streams'] = (subject) => this.#streams.list(subject)
  addStream: JetStream['addStream'] = (config) => this.#streams.add(config)
  updateStream: JetStream['updateStream'] = (name, change) => this.#streams.update(name, change)
  // The driver's type lacks the query by subject, and the server accepts it.
  message: JetStream['message'] = (stream, query) =>
    this.#streams.getMessage(stream, query as { seq: number })
  deleteMessage: JetStream['deleteMessage'] = (stream, sequence) =>
    this.#streams.deleteMessage(stream, sequence, false)
  consumer: JetStream['consumer'] = (stream, name) => this.#consumers.info(stream, name)
  consumers: JetStream['consumers'] = (stream) => this.#consumers.list(stream)
  addConsumer: JetStream['addConsumer'] = (stream, config) => this.#consumers.add(stream, config)
  updateConsumer: JetStream['updateConsumer'] = (stream, name, config) =>
    this.#consumers.update(stream, name, config)
  deleteConsumer: JetStream['deleteConsumer'] = (stream, name) => this.#consumers.delete(stream, name)
  unpin: JetStream['unpin'] = (stream, name, group) => this.#consumers.unpin(stream, name, group)

  pause(stream: string, name: string, until: Date | undefined): Promise<unknown> {
    return until === undefined
      ? this.#consumers.resume(stream, name)
      : this.#consumers.pause(stream, name, until)
  }
}
