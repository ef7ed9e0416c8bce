/** The durable handlers of a service over JetStream. */
import { type Consumer, type ConsumerInit, Publisher, type ServerStore } from '@elysia-microservices/engine'
import type { Clock, ServerContext } from '@elysia-microservices/transport/kit'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { NatsConsumer } from './consumer.ts'
import { EventStore } from './event-store.ts'
import { Groups } from './groups.ts'
import { Mover } from './mover.ts'
import { checkDurableSubject, DEAD } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { Rounds } from './rounds.ts'
import { Streams } from './streams.ts'
import { waitingPattern } from './waiting.ts'

/** Creates the consumers of the handlers, with one publisher for all dead letters. */
export class NatsServerStore implements ServerStore<NatsConnection> {
  readonly #options: CheckedOptions
  readonly #context: ServerContext
  readonly #clock: Clock | undefined
  readonly #publisher: Publisher<StoredMessage>
  readonly #mover: Mover
  readonly #rounds: Rounds
  #consumers = 0
  /** Consumers that have started on the connection. */
  #started = 0
  #connection: NatsConnection | undefined
  #streams: Streams | undefined
  #groups: Groups | undefined

  /** @param clock for tests. Default: the system's */
  constructor(options: CheckedOptions, context: ServerContext, clock?: Clock, rounds = new Rounds()) {
    this.#rounds = rounds
    this.#options = options
    this.#context = context
    this.#clock = clock
    this.#publisher = new Publisher({
      title: 'NATS',
      ensure: (address) => this.#ensure(address),
      duplicateWindow: options.durable.duplicateWindow
    })
    this.#mover = new Mover({
      publisher: this.#publisher,
      window: options.durable.duplicateWindow,
      logger: context.logger
    })
  }

  /** Makes sure that dead letters, and events whose time has come, are stored. */
  async #ensure(address: string): Promise<void> {
    if (address.startsWith(`${DEAD}.`)) await this.#streams?.ensureDeadLetters()
    else if (waitingPattern(address) === undefined) await this.#streams?.ensure(address)
  }

  consumer(init: ConsumerInit): Consumer<NatsConnection> {
    checkDurableSubject(init.pattern)
    this.#mover.add(init.pattern)
    this.#consumers++
    return new NatsConsumer({
      started: () => this.#hasStarted(),
      ...init,
      ackWait: this.#options.durable.ackWait,
      groups: () => this.#groups as Groups,
      rounds: this.#rounds,
      publisher: this.#publisher,
      ...(this.#clock && { clock: this.#clock })
    })
  }

  /** Events whose time has come before are for the groups of all handlers, so these are created first. */
  #hasStarted(): void {
    if (++this.#started < this.#consumers) return
    if (this.#connection !== undefined && this.#streams !== undefined)
      this.#mover.attach(this.#connection, this.#streams.jetStream)
  }

  async attach(connection: NatsConnection): Promise<void> {
    const settings = { storage: this.#options.durable, logger: this.#context.logger }
    this.#streams = await Streams.open({ connection, ...settings })
    this.#groups = new Groups(this.#streams, settings)
    if (this.#connection !== connection) this.#publisher.attach(new EventStore(connection, this.#publisher))
    this.#connection = connection
    this.#started = 0
  }

  restored(): void {
    this.#publisher.restored()
    void this.#mover.look()
  }

  detach(): void {
    this.#mover.detach()
    this.#publisher.detach()
  }

  close(): void {
    this.#mover.detach()
    this.#publisher.close(new Error('The service has stopped'))
  }
}
