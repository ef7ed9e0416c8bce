/** Connections and durable handlers over a server inside the process, for unit tests. */
import { setImmediate as turn } from 'node:timers/promises'
import type { CarrierListener, Consumer } from '@elysia-microservices/engine'
import {
  type Clock,
  type DurableOptions,
  type DurableRoute,
  durableSettings,
  type IncomingMessage,
  ManualClock,
  viaOf
} from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import { EventStore } from '../durable/event-store.ts'
import { RedisServerStore } from '../durable/server-store.ts'
import { redisEngine } from '../engine.ts'
import type { RedisDurableOptions } from '../options/durable-options.ts'
import { type CheckedOptions, redisOptions } from '../options/options.ts'
import { FakeRedisServer } from './fake-server.ts'

type Handler = (message: IncomingMessage) => void | Promise<void>

/** Options of a durable handler in a test. */
export interface ServeOptions extends DurableOptions {
  readonly storage?: RedisDurableOptions
}

export class OverFake {
  readonly clock = new ManualClock(1_700_000_000_000)
  readonly server: FakeRedisServer
  /** All that was logged, and that a connection has told. */
  readonly lines: string[] = []
  readonly logger = {
    error: (line: string) => void this.lines.push(line),
    warn: (line: string) => void this.lines.push(line)
  }
  readonly #ends: (() => Promise<unknown>)[] = []

  /** @param clock the clock of the server. Default: `clock`, which a test advances */
  constructor(clock?: Clock) {
    this.server = new FakeRedisServer({ clock: clock ?? this.clock })
  }

  /** Options with which events are kept for ever: the time of the server is not the time of this process. */
  optionsOf(storage: RedisDurableOptions = {}): CheckedOptions {
    return redisOptions({ durable: { maxAge: false, ...storage } })
  }

  async connect(
    storage?: RedisDurableOptions,
    told: Partial<CarrierListener> = {}
  ): Promise<RedisConnection> {
    const connection = await redisEngine(this.server.driver, this.optionsOf(storage), undefined).open({
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

  /** Starts a durable handler, with a connection of its own. */
  async serve(
    pattern: string,
    event: Handler,
    { storage, ...durable }: ServeOptions = {}
  ): Promise<Consumer<RedisConnection> & { readonly connection: RedisConnection }> {
    const { logger } = this
    const group = durable.group ?? 'g'
    const store = new RedisServerStore(this.optionsOf(storage), { name: group, version: undefined, logger })
    const route = { kind: 'event', route: pattern, durable: durableSettings(durable) } satisfies DurableRoute
    const dispatcher = { routes: () => [route], request: () => undefined, event }
    const consumer = store.consumer({ dispatcher, route, pattern, group, via: viaOf(pattern, group), logger })
    const connection = await this.connect(storage, {
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
    })
    return Object.assign(consumer, { connection })
  }

  /** Stores events with their number as data. */
  async publish(pattern: string, data: readonly unknown[], key?: string): Promise<void> {
    const connection = await this.connect()
    const events = new EventStore(connection, this.optionsOf().durable)
    for (const one of data)
      await events.store({
        route: pattern,
        packet: JSON.stringify({ pattern, data: one }),
        headers: undefined,
        id: `id-${one}`,
        isOwnId: false,
        key
      })
  }

  /** Lets the event loop turn a few times, so that all that can happen has happened. */
  async settle(): Promise<void> {
    for (let n = 0; n < 40; n++) await turn()
  }

  /** Lets time pass at the server, and wakes who waits at a channel. */
  async pass(milliseconds: number, channel?: string): Promise<void> {
    await this.clock.advance(milliseconds)
    if (channel !== undefined) this.server.deliver(channel, Buffer.from(''))
    await this.settle()
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end()
  }
}
