/** A server inside the process with one durable handler, and a clock that the test moves. */
import { afterEach } from 'node:test'
import type { CarrierListener, ConsumerInit } from '@elysia-microservices/engine'
import {
  type DurableOptions,
  durableSettings,
  type IncomingMessage,
  ManualClock
} from '@elysia-microservices/transport/kit'
import { RabbitConnection } from '../connection/rabbit-connection.ts'
import { RabbitConsumer } from '../durable/consumer.ts'
import { Copies } from '../durable/copies.ts'
import { HEADER } from '../durable/stored.ts'
import { rabbitmqOptions } from '../options/options.ts'
import { keyOf, queueOfGroup, queueOfPause, STORED } from '../words/names.ts'
import { FakeRabbitServer } from './fake-server.ts'

/** The queue of its handler, and those in which its events wait for their next attempts. */
export const QUEUE = queueOfGroup('g', 'p')
export const SHORT = queueOfPause('g', 'p', 'short')
export const LONG = queueOfPause('g', 'p', 'long')
const LISTENER: CarrierListener = {
  lost() {},
  restored() {},
  refused() {},
  unpublished() {},
  failed() {},
  ended() {}
}

/** Resolves when nothing moves any more, except what waits for the clock. */
export async function settled(server: FakeRabbitServer): Promise<void> {
  for (let quiet = 0; quiet < 5; ) {
    await new Promise(setImmediate)
    quiet = [...server.channels].some(({ isBusy }) => isBusy) ? 0 : quiet + 1
  }
}

/** One server with one handler of the group `g`. */
export class Scene {
  readonly clock = new ManualClock(1_000_000)
  readonly server = new FakeRabbitServer({ clock: this.clock })
  readonly lines: string[] = []
  readonly begun: IncomingMessage[] = []
  readonly consumers: RabbitConsumer[] = []
  readonly connections: RabbitConnection[] = []
  /** The handler; a test replaces it. */
  handle: (message: IncomingMessage) => unknown = () => {}
  #published = 0

  async join(options: DurableOptions = {}, pattern = 'p'): Promise<RabbitConsumer> {
    const consumer = await this.start(options, pattern)
    consumer.begin()
    await settled(this.server)
    return consumer
  }

  /** The handler has its queues, and receives nothing yet. */
  async start(options: DurableOptions = {}, pattern = 'p'): Promise<RabbitConsumer> {
    const checked = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
    const connection = await RabbitConnection.open(this.server.driver, checked, 'g', LISTENER)
    this.connections.push(connection)
    const say = (line: string) => void this.lines.push(line)
    const logger = { error: say, warn: say }
    const copies = await Copies.open(connection.link, logger)
    const run = async (message: IncomingMessage) => {
      this.begun.push(message)
      await this.handle(message)
    }
    const init = {
      dispatcher: { event: run },
      route: { route: pattern, durable: durableSettings(options) },
      pattern,
      group: 'g',
      via: pattern,
      logger
    } as unknown as ConsumerInit
    const consumer = new RabbitConsumer({ ...init, copies: () => copies, clock: this.clock })
    this.consumers.push(consumer)
    await consumer.start(connection)
    return consumer
  }

  async publish(data: unknown, headers: Record<string, unknown> = {}, pattern = 'p'): Promise<void> {
    const unique = `e${this.#published++}`
    const content = Buffer.from(JSON.stringify({ pattern, data }))
    const properties = { headers: { [HEADER.unique]: unique, ...headers }, persistent: true }
    this.server.publish(STORED, keyOf(pattern), content, properties)
    await settled(this.server)
  }

  async advance(milliseconds: number): Promise<void> {
    await this.clock.advance(milliseconds)
    await settled(this.server)
  }

  count(queue: string): number | undefined {
    return this.server.queues.get(queue)?.messages.length
  }

  get data(): unknown[] {
    return this.begun.map(({ data }) => data)
  }
}

/** Makes scenes, which are closed after each test. */
export function newScenes(): () => Scene {
  const scenes: Scene[] = []
  afterEach(async () => {
    for (const { consumers, connections } of scenes.splice(0)) {
      for (const consumer of consumers) consumer.cut()
      for (const connection of connections) await connection.link.close()
    }
  })
  return () => {
    const scene = new Scene()
    scenes.push(scene)
    return scene
  }
}
