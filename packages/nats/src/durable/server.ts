/** The durable handlers of a service over NATS, over one connection after the other. */
import {
  ConnectionError,
  type Dispatcher,
  type DurableFigures,
  durableRoutes,
  groupOf,
  type ServerContext
} from '@elysia-microservices/transport/kit'
import type { Link } from '../link.ts'
import type { CheckedOptions } from '../options.ts'
import { subjectOfHandler } from '../subjects.ts'
import { NatsConsumer } from './consumer.ts'
import { checkDurableSubject } from './names.ts'
import { Publisher } from './publisher.ts'
import { Streams } from './streams.ts'

/** How often JetStream is asked at the start; each time takes up to 5 s. */
const ATTEMPTS = 3

/** Takes durable events. */
export class DurableHandlers {
  readonly #options: CheckedOptions
  readonly #context: ServerContext
  readonly #consumers: readonly NatsConsumer[]
  readonly #publisher: Publisher
  #link: Link | undefined

  /** @throws {OptionError} a pattern cannot be stored, or has no group */
  constructor(dispatcher: Dispatcher, options: CheckedOptions, context: ServerContext) {
    this.#options = options
    this.#context = context
    const { inboxPrefix } = options.connection
    const { ackWait, duplicateWindow } = options.durable
    // Where dead letters go is made together with the consumers.
    this.#publisher = new Publisher({ ensure: async () => {}, inboxPrefix, duplicateWindow })
    this.#consumers = durableRoutes(dispatcher).map((route) => {
      const subject = subjectOfHandler(route.route)
      checkDurableSubject(subject)
      return new NatsConsumer({
        dispatcher,
        route,
        subject,
        group: groupOf(route.durable, options.queue ?? context.name, subject),
        ackWait,
        inboxPrefix,
        logger: context.logger,
        publisher: this.#publisher
      })
    })
  }

  get running(): number {
    return this.#consumers.reduce((sum, { running }) => sum + running, 0)
  }

  get figures(): readonly DurableFigures[] {
    return this.#consumers.map(({ figures }) => figures)
  }

  /**
   * Takes a new connection.
   * @throws {NotStoredError} JetStream is off
   * @throws {OptionError} what is there differs from what is wanted
   */
  async start(link: Link): Promise<void> {
    if (this.#consumers.length === 0) return
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#start(link)
      } catch (error) {
        // A cluster that elects a leader does not answer meanwhile.
        if (!(error instanceof ConnectionError) || attempt === ATTEMPTS) throw error
        this.#context.logger.warn('JetStream does not answer; it is asked again', error)
      }
    }
  }

  async #start(link: Link): Promise<void> {
    const { durable: storage } = this.#options
    const streams = await Streams.open({
      connection: link.connection,
      storage,
      logger: this.#context.logger
    })
    if (this.#link !== link) this.#publisher.attach(link)
    this.#link = link
    // One after the other: they may share a stream that is to be made.
    for (const consumer of this.#consumers) await consumer.start(link, streams)
  }

  lost(): void {
    for (const consumer of this.#consumers) consumer.lost()
  }

  restored(): void {
    this.#publisher.restored()
    for (const consumer of this.#consumers) consumer.restored()
  }

  /** The connection is over for good; `start` follows with another. */
  async leave(): Promise<void> {
    this.#publisher.detach()
    await Promise.all(this.#consumers.map((consumer) => consumer.leave()))
  }

  /** Takes nothing new; what has not begun goes back. Resolves when what runs has ended. */
  async stop(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()))
  }

  /** Ends, whatever runs. */
  cut(): void {
    for (const consumer of this.#consumers) consumer.cut()
    this.#publisher.close(new Error('The service has stopped'))
  }
}
