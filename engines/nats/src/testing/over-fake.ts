/** Connections, clients and durable handlers over a server inside the process, for unit tests. */
import { setImmediate as turn } from 'node:timers/promises'
import type { CarrierListener } from '@elysia-microservices/engine'
import {
  type Clock,
  type DurableOptions,
  type DurableRoute,
  durableSettings,
  type IncomingMessage,
  ManualClock,
  viaOf
} from '@elysia-microservices/transport/kit'
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { NatsClientStore } from '../durable/client-store.ts'
import type { NatsConsumer } from '../durable/consumer.ts'
import { consumerName, streamName } from '../durable/names.ts'
import type { Rounds } from '../durable/rounds.ts'
import { NatsServerStore } from '../durable/server-store.ts'
import { natsEngine } from '../engine.ts'
import type { NatsDurableOptions } from '../options/durable-options.ts'
import { natsOptions } from '../options/options.ts'
import { FakeNatsServer } from './fake-server.ts'

type Handler = (message: IncomingMessage) => void | Promise<void>

/** Options of a durable handler in a test. */
export interface ServeOptions extends DurableOptions {
  readonly storage?: NatsDurableOptions
}

export class OverFake {
  readonly clock = new ManualClock(Date.now())
  readonly server: FakeNatsServer
  readonly #common: Clock
  /** All that was logged, and that a connection has told. */
  readonly lines: string[] = []
  readonly logger = {
    error: (line: string) => void this.lines.push(line),
    warn: (line: string) => void this.lines.push(line)
  }
  readonly #ends: (() => Promise<unknown>)[] = []
  #client: NatsClientStore | undefined

  /** @param clock the clock of the server and of handlers. Default: `clock`, which a test advances */
  constructor(clock?: Clock) {
    this.#common = clock ?? this.clock
    this.server = new FakeNatsServer({ clock: this.#common })
  }

  async connect(told: Partial<CarrierListener> = {}, service?: string): Promise<NatsConnection> {
    const context = { name: service, version: undefined, logger: this.logger }
    const connection = await natsEngine(
      this.server.driver,
      natsOptions({}),
      service ? context : undefined
    ).open({
      lost: () => {},
      restored: () => {},
      refused: (address, operation, error) =>
        void this.lines.push(`${operation} ${address}: ${error.message}`),
      unpublished: (_, error) => void this.lines.push(`unpublished: ${error.message}`),
      failed: (error) => void this.lines.push(`failed: ${error}`),
      ended: () => {},
      ...told
    })
    this.#ends.push(() => connection.close())
    return connection
  }

  /** Opens a client with a connection of its own. */
  async open(durable: NatsDurableOptions = {}, timeout = 10_000): Promise<NatsClientStore> {
    const options = natsOptions({ durable })
    const connection = await this.connect({
      restored: () => store.restored(),
      refused: (address, operation, error) => {
        this.lines.push(`${operation} ${address}`)
        store.forbidden(address, error)
      }
    })
    const { logger } = this
    const store = new NatsClientStore(options, {
      engine: natsEngine(this.server.driver, options, undefined),
      context: { logger, timeout, dispatcher: undefined },
      connect: async () => connection,
      halted: () => undefined
    })
    store.attach(connection)
    this.#ends.push(async () => store.close(new Error('closed'), new Error('closed')))
    return store
  }

  /** Starts a durable handler, with a connection of its own. */
  async serve(
    pattern: string,
    event: Handler,
    { storage = {}, ...durable }: ServeOptions = {},
    rounds?: Rounds
  ): Promise<NatsConsumer & { readonly connection: NatsConnection }> {
    const { logger } = this
    const group = durable.group ?? 'g'
    const context = { name: group, version: undefined, logger }
    const store = new NatsServerStore(natsOptions({ durable: storage }), context, this.#common, rounds)
    const route = { kind: 'event', route: pattern, durable: durableSettings(durable) } satisfies DurableRoute
    const dispatcher = { routes: () => [route], request: () => undefined, event }
    const via = viaOf(pattern, group)
    const consumer = store.consumer({ dispatcher, route, pattern, group, via, logger }) as NatsConsumer
    const connection = await this.connect({
      lost: () => consumer.lost(),
      restored: () => {
        store.restored()
        consumer.restored()
      }
    })
    await store.attach(connection)
    await consumer.start(connection)
    consumer.begin()
    this.#ends.push(async () => {
      consumer.cut()
      store.close()
      await consumer.leave()
    })
    return Object.assign(consumer, { connection })
  }

  /** Stores events with their number as data, and `id-` and their number as id. */
  async publish(pattern: string, data: readonly unknown[], key?: string): Promise<void> {
    this.#client ??= await this.open()
    for (const one of data)
      await this.#client.publish(pattern, one, { id: `id-${one}`, ...(key !== undefined && { key }) })
  }

  /** The consumer of a group, as the server has it. */
  infoOf(pattern: string, group = 'g'): ConsumerInfo {
    return this.server.streams.find(streamName(pattern)).consumer(consumerName(group, pattern)).info
  }

  /** Events that were delivered to a group and are not done. */
  pendingOf(pattern: string, group?: string): number {
    return this.infoOf(pattern, group).num_ack_pending
  }

  /** Lets the event loop turn a few times, so that all that can happen at once has happened. */
  async settle(): Promise<void> {
    for (let n = 0; n < 40; n++) await turn()
  }

  /** Resolves when something is so; what has to wait for a timer of this process does. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1))
  }

  /** Lets time pass at the server. */
  async pass(milliseconds: number): Promise<void> {
    await this.clock.advance(milliseconds)
    await this.settle()
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end()
    this.server.stop()
  }
}
