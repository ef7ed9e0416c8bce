/** The durable handlers of a service over JetStream. */
import { type Consumer, type ConsumerInit, Publisher, type ServerStore } from '@elysia-microservices/engine'
import type { Clock, ServerContext } from '@elysia-microservices/transport/kit'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { CheckedOptions } from '../options/options.ts'
import { NatsConsumer } from './consumer.ts'
import { EventStore } from './event-store.ts'
import { Groups } from './groups.ts'
import { checkDurableSubject } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { Rounds } from './rounds.ts'
import { Streams } from './streams.ts'

/** Creates the consumers of the handlers, with one publisher for all dead letters. */
export class NatsServerStore implements ServerStore<NatsConnection> {
  readonly #options: CheckedOptions
  readonly #context: ServerContext
  readonly #clock: Clock | undefined
  readonly #publisher: Publisher<StoredMessage>
  readonly #rounds: Rounds
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
      ensure: async () => this.#streams?.ensureDeadLetters(),
      duplicateWindow: options.durable.duplicateWindow
    })
  }

  consumer(init: ConsumerInit): Consumer<NatsConnection> {
    checkDurableSubject(init.pattern)
    return new NatsConsumer({
      ...init,
      ackWait: this.#options.durable.ackWait,
      groups: () => this.#groups as Groups,
      rounds: this.#rounds,
      publisher: this.#publisher,
      ...(this.#clock && { clock: this.#clock })
    })
  }

  async attach(connection: NatsConnection): Promise<void> {
    const settings = { storage: this.#options.durable, logger: this.#context.logger }
    this.#streams = await Streams.open({ connection, ...settings })
    this.#groups = new Groups(this.#streams, settings)
    if (this.#connection !== connection) this.#publisher.attach(new EventStore(connection, this.#publisher))
    this.#connection = connection
  }

  restored(): void {
    this.#publisher.restored()
  }

  detach(): void {
    this.#publisher.detach()
  }

  close(): void {
    this.#publisher.close(new Error('The service has stopped'))
  }
}
