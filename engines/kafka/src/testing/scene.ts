/** One cluster with durable handlers, and a clock that the test moves. */
import { afterEach } from 'node:test'
import type { CarrierListener, ConsumerInit } from '@elysia-microservices/engine'
import {
  type DurableOptions,
  durableSettings,
  type IncomingMessage,
  ManualClock
} from '@elysia-microservices/transport/kit'
import { KafkaConnection } from '../connection/kafka-connection.ts'
import { Isolation } from '../driver.ts'
import type { KafkaConsumer } from '../durable/consumer.ts'
import { KafkaServerStore } from '../durable/server-store.ts'
import { type KafkaOptions, kafkaOptions } from '../options/options.ts'
import { readBatches } from '../words/batch.ts'
import { HEADER, type HeaderName } from '../words/headers.ts'
import type { CreatePartitioner } from '../words/partitioning.ts'
import type { Fetched } from '../words/record.ts'
import { writeRecord } from '../words/record.ts'
import { writeValue } from '../words/values.ts'
import { FakeCluster, type FakeClusterOptions } from './fake-cluster.ts'

/** One process with one durable handler. */
export interface Process {
  readonly consumer: KafkaConsumer
  readonly connection: KafkaConnection
  /** The data of the events that have begun here. */
  readonly begun: unknown[]
  stop(): Promise<void>
}

export interface JoinOptions extends DurableOptions {
  /** Default: `p`. */
  readonly pattern?: string
  /** How often it is started at most, because a start fails. Default: once. */
  readonly starts?: number
  /** The handler. Default: it does nothing. */
  readonly handle?: (message: IncomingMessage) => unknown
}

export interface SceneOptions extends FakeClusterOptions {
  /** Of new topics. Default: 1. */
  readonly partitions?: number
  readonly readUncommitted?: boolean
  readonly start?: 'new' | 'all'
  readonly createPartitioner?: CreatePartitioner
}

/** Makes scenes, which are closed after each test. */
export function newScenes(): (options?: SceneOptions) => Scene {
  const scenes: Scene[] = []
  afterEach(async () => {
    for (const scene of scenes.splice(0)) await scene.close()
  })
  return (options) => {
    const scene = new Scene(options)
    scenes.push(scene)
    return scene
  }
}

export class Scene {
  readonly clock = new ManualClock(1_700_000_000_000)
  readonly cluster: FakeCluster
  readonly lines: string[] = []
  readonly #options: Pick<KafkaOptions, 'partitions' | 'readUncommitted' | 'start' | 'createPartitioner'>
  readonly #consumers: KafkaConsumer[] = []
  readonly #connections: KafkaConnection[] = []
  #published = 0

  constructor({
    partitions = 1,
    readUncommitted = false,
    start = 'new',
    createPartitioner,
    ...options
  }: SceneOptions = {}) {
    this.cluster = new FakeCluster({ clock: this.clock, ...options })
    this.#options = { partitions, readUncommitted, start, createPartitioner }
  }

  readonly logger = {
    error: (line: string) => void this.lines.push(line),
    warn: (line: string) => void this.lines.push(line)
  }

  async connect(lost = () => {}, restored = () => {}): Promise<KafkaConnection> {
    const options = kafkaOptions({ url: [`127.0.0.1:${this.cluster.port}`], ...this.#options })
    const listener: CarrierListener = {
      lost,
      restored,
      refused: (address, operation) => void this.lines.push(`refused ${operation} ${address}`),
      unpublished() {},
      failed: (error) => void this.lines.push(String(error)),
      ended() {}
    }
    const connection = await KafkaConnection.open(this.cluster.driver, options, 'test', listener)
    this.#connections.push(connection)
    return connection
  }

  /** Starts a process of a group. */
  async join({
    pattern = 'p',
    handle = () => {},
    group = 'g',
    starts = 1,
    ...options
  }: JoinOptions = {}): Promise<Process> {
    const begun: unknown[] = []
    const context = { name: group, version: undefined, logger: this.logger }
    const store = new KafkaServerStore(context as never, this.clock)
    const event = (message: IncomingMessage) => {
      begun.push(message.data)
      return handle(message)
    }
    const consumer = store.consumer({
      dispatcher: { event },
      route: { route: pattern, durable: durableSettings(options) },
      pattern,
      group,
      via: pattern,
      logger: this.logger
    } as unknown as ConsumerInit) as KafkaConsumer
    const connection = await this.connect(
      () => consumer.lost(),
      () => {
        store.restored()
        consumer.restored()
      }
    )
    const stop = async () => {
      await consumer.stop()
      store.close()
      await connection.close()
    }
    this.#consumers.push(consumer)
    await store.attach(connection)
    for (let left = starts - 1; left > 0; left--) await consumer.start(connection).catch(() => {})
    await consumer.start(connection)
    consumer.begin()
    await this.settled()
    return { consumer, connection, begun, stop }
  }

  /** Resolves when nothing moves any more, except what waits for the clock. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 8; quiet = this.cluster.isBusy ? 0 : quiet + 1)
      await new Promise(setImmediate)
  }

  async advance(milliseconds: number): Promise<void> {
    await this.clock.advance(milliseconds)
    await this.settled()
  }

  /** Advances the clock until something holds: brokers and processes may need some turns of it. */
  async until(holds: () => boolean, step = 50): Promise<void> {
    for (let steps = 0; !holds(); steps++) {
      if (steps > 400) throw new Error(`It does not come to that: ${holds}\n${this.lines.join('\n')}`)
      await this.advance(step)
      // Some pauses of the connection are by the real clock.
      if (steps > 20) await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** The record of an event. */
  record(data: unknown, key?: string, own: Readonly<Record<string, string>> = {}): Buffer {
    const { value, type } = writeValue(data === undefined ? undefined : JSON.stringify(data))
    return writeRecord(key, value, { [HEADER.id]: `e${this.#published++}`, [HEADER.type]: type, ...own })
  }

  /** Stores an event. @returns its position */
  async publish(data: unknown, key?: string, { topic = 'p', partition = 0, ...own }: PublishOptions = {}) {
    const record = this.record(data, key, own)
    const log = this.cluster.log(topic, partition)
    const { baseOffset } = log.append({ records: [record], timestamp: this.clock.now() })
    await this.settled()
    return Number(baseOffset)
  }

  /** All records of a partition. */
  records(topic: string, partition = 0): Fetched[] {
    if (!this.cluster.topics.has(topic)) return []
    const { bytes } = this.cluster.log(topic, partition).read(0n, Isolation.uncommitted)
    return readBatches(bytes, 0).records
  }

  /** Resolves when a topic has a record. */
  stored(topic: string): Promise<void> {
    return this.until(() => this.records(topic).length > 0, 0)
  }

  /** The position that the group has committed, and its metadata. */
  committed(partition = 0, group = 'g.p', topic = 'p'): string | undefined {
    const one = this.cluster.group(group).offsets.get(`${topic} ${partition}`)
    return one && `${one.next}${one.metadata.replace(/^\S+/, '').trimEnd()}`
  }

  /** The lines of the log with some words. */
  linesWith(words: string): string[] {
    return this.lines.filter((line) => line.includes(words))
  }

  async close(): Promise<void> {
    for (const consumer of this.#consumers) consumer.cut()
    for (const { cluster } of this.#connections) await cluster.close()
  }
}

type PublishOptions = { readonly topic?: string; readonly partition?: number } & {
  readonly [Name in HeaderName]?: string
}
