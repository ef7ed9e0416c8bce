/**
 * Measures the speed of Kafka's transport, of the bare driver and of NestJS: `cd tests && bun kafka/speed.ts [rounds]`.
 * Each runs in its own process with one broker, in turn; prints lines of JSON.
 */
import 'reflect-metadata'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { kafka } from '@elysia-microservices/kafka'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  ClientKafka,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  Transport
} from '@nestjs/microservices'
import { Consumer, Producer } from '@platformatic/kafka'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { Kafka, logLevel } from 'kafkajs'
import { firstValueFrom } from 'rxjs'
import { KafkaServerProcess } from '../support/kafka-server.ts'

const EVENTS = 200_000
const DATA = { text: 'x'.repeat(170), number: 1 }
const SECONDS = 5
const CALLERS = 100
const logger = { error() {}, warn() {} }

const [, , role = 'all', broker = '', topic = ''] = process.argv

const transport = (partitions = 1) => kafka({ url: [broker], partitions })

function told(figures: object): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`)
}

/** Publishes with a fixed number of events under way: another one starts as soon as one is stored. */
async function many(count: number, atOnce: number, one: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const begun = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) await one(next++)
    })
  )
  return Math.round((count / (performance.now() - begun)) * 1_000)
}

/** Events handled per second, between the first and the last. */
class Rate {
  #begun = 0
  #count = 0
  readonly done: Promise<number>
  #resolve!: (rate: number) => void

  readonly #total: number

  constructor(total = EVENTS) {
    this.#total = total
    this.done = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  add(): void {
    if (this.#count++ === 0) this.#begun = performance.now()
    if (this.#count === this.#total)
      this.#resolve(Math.round((this.#total / (performance.now() - this.#begun)) * 1_000))
  }
}

const ROLES: Readonly<Record<string, () => Promise<void>>> = {
  async 'publish ours'() {
    const client = connect({ transport: transport(), logger })
    await many(2_000, 500, () => client.publish(topic, DATA))
    told({ 'publish ours': await many(EVENTS, 2_000, () => client.publish(topic, DATA)) })
    await client.close()
  },
  /** Three events in each turn of the event loop, as handlers that come and go publish them. */
  async 'publish scattered'() {
    const client = connect({ transport: transport(), logger })
    await many(2_000, 500, () => client.publish(topic, DATA))
    let started = 0
    let stored = 0
    const begun = performance.now()
    while (stored < EVENTS) {
      for (let n = 0; n < 3 && started < EVENTS && started - stored < 2_000; n++, started++)
        void client.publish(topic, DATA).then(() => stored++)
      await new Promise((resolve) => setImmediate(resolve))
    }
    told({ 'publish scattered': Math.round((EVENTS / (performance.now() - begun)) * 1_000) })
    await client.close()
  },
  /**
   * The most that the driver can do: batches of 100, without headers and without sequence numbers, so some may be
   * stored twice.
   */
  'publish bare': () => publishBare('publish bare', 100, 8, false),
  /** The same, with the headers of an event. */
  'publish bare with headers': () => publishBare('publish bare with headers', 100, 8, true),
  /**
   * The same guarantees as our transport: each record is awaited, stored by all replicas, and numbered, which the
   * driver can do for one record at a time.
   */
  'publish bare alike': () => publishBare('publish bare alike', 1, 1, true, EVENTS / 40),
  async 'consume ours'() {
    const rate = new Rate()
    const service = microservice({ name: 'speed', transport: transport(), logger }).event(
      topic,
      () => rate.add(),
      {
        durable: { start: 'all', concurrency: 256 }
      }
    )
    await service.listen()
    told({ 'consume ours': await rate.done })
    await service.stop()
  },
  async 'consume bare'() {
    const rate = new Rate()
    const consumer = new Consumer({ groupId: `bare-${topic}`, clientId: 'bare', bootstrapBrokers: [broker] })
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: 50 })
    stream.on('data', ({ value }) => {
      JSON.parse(String(value))
      rate.add()
    })
    told({ 'consume bare': await rate.done })
    await consumer.close(true)
  },
  /**
   * The same guarantees as our transport: each event is awaited, and the position behind handled events is committed.
   */
  async 'consume bare alike'() {
    const rate = new Rate()
    const groupId = `alike-${topic}`
    const consumer = new Consumer({ groupId, clientId: 'bare', bootstrapBrokers: [broker] })
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false })
    const handle = async (value: unknown) => {
      JSON.parse(String(value))
      rate.add()
    }
    let committedAt = performance.now()
    void rate.done.then((figure) => told({ 'consume bare alike': figure }))
    let handled = 0
    for await (const message of stream) {
      await handle(message.value)
      if (++handled < EVENTS && performance.now() - committedAt < 50) continue
      await message.commit()
      committedAt = performance.now()
      if (handled === EVENTS) break
    }
    await consumer.close(true)
  },
  /** How long one slow event in 1,000 delays the other events of its partition. */
  async slow() {
    for (const hasSlow of [false, true]) {
      const rate = new Rate(EVENTS - EVENTS / 1_000)
      const handler = ({ data }: Message) => {
        if ((data as number) % 1_000 !== 0) return rate.add()
        return hasSlow ? new Promise((resolve) => setTimeout(resolve, 1_000)) : undefined
      }
      const service = microservice({ name: `slow-${hasSlow}`, transport: transport(), logger }).event(
        topic,
        handler,
        {
          durable: { start: 'all', concurrency: 1_000, ordered: true }
        }
      )
      await service.listen()
      told({
        [hasSlow ? 'others, while one of 1,000 takes 1 s' : 'others, while none is slow']: await rate.done
      })
      await service.stop()
    }
  },
  async 'fill keys'() {
    const client = connect({ transport: transport(), logger })
    await many(EVENTS, 2_000, (n) => client.publish(topic, n, { key: `k${n % 50_000}` }))
    await client.close()
  },
  async 'serve ours'() {
    await microservice({ name: 'echo', transport: transport(), logger })
      .message('echo.ours', ({ data }) => data)
      .listen()
    told({ ready: true })
  },
  async 'serve nest'() {
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(EchoModule, {
      transport: Transport.KAFKA,
      options: { client: { brokers: [broker], logLevel: logLevel.NOTHING }, consumer: { groupId: 'echo' } },
      logger: false
    })
    await app.listen()
    told({ ready: true })
  },
  async 'ask ours'() {
    const client = connect({ transport: transport(), logger })
    await ask('ask ours', () => client.request('echo.ours', DATA))
    await client.close()
  },
  async 'ask nest'() {
    const client = new ClientKafka({
      client: { brokers: [broker], logLevel: logLevel.NOTHING },
      consumer: { groupId: 'asks' }
    })
    client.subscribeToResponseOf('echo.nest')
    await client.connect()
    await ask('ask nest', () => firstValueFrom(client.send('echo.nest', DATA)))
    await client.close()
  }
}

async function publishBare(
  name: string,
  together: number,
  atOnce: number,
  hasHeaders: boolean,
  count = EVENTS
): Promise<void> {
  const producer = new Producer({
    clientId: 'bare',
    bootstrapBrokers: [broker],
    autocreateTopics: true,
    idempotent: together === 1
  })
  let next = 0
  const send = () => {
    const messages = Array.from({ length: together }, () => ({
      topic,
      value: Buffer.from(JSON.stringify(DATA)),
      ...(hasHeaders && { headers: headersOf(next++) })
    }))
    return producer.send({ messages, acks: -1 })
  }
  await many(20, atOnce, send)
  told({ [name]: together * (await many(count / together, atOnce, send)) })
  await producer.close()
}

/** The headers that our transport adds to an event. */
function headersOf(n: number): Map<Buffer, Buffer> {
  const headers = {
    ce_specversion: '1.0',
    ce_id: `abcdefghijklmnopqrstuvwx-${n}`,
    ce_source: 'elysia-microservices',
    ce_type: topic,
    'elysia-type': 'json'
  }
  return new Map(Object.entries(headers).map(([name, value]) => [Buffer.from(name), Buffer.from(value)]))
}

@Controller()
class EchoController {
  @MessagePattern('echo.nest')
  echo(@Payload() data: unknown): unknown {
    return data
  }
}

@Module({ controllers: [EchoController] })
class EchoModule {}

async function ask(name: string, one: () => Promise<unknown>): Promise<void> {
  await one()
  let answered = 0
  const times: number[] = []
  const end = performance.now() + SECONDS * 1_000
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (performance.now() < end) {
        const begun = performance.now()
        await one()
        times.push(performance.now() - begun)
        answered++
      }
    })
  )
  times.sort((a, b) => a - b)
  const p99 = Math.round((times[Math.floor(times.length * 0.99)] ?? 0) * 10) / 10
  told({ [name]: Math.round(answered / SECONDS), p99 })
}

/** Runs one role; resolves with its first line. @returns a function that ends the role, if it goes on */
async function run(name: string, its: string, on: string): Promise<() => void> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), name, on, its], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  child.stdout.pipe(process.stdout, { end: false })
  if (name.startsWith('serve')) await new Promise((resolve) => child.stdout.once('data', resolve))
  else await new Promise((resolve) => child.once('exit', resolve))
  return () => child.kill()
}

if (role === 'all' || /^\d+$/.test(role)) {
  const server = await KafkaServerProcess.start()
  const admin = new Kafka({ brokers: [server.broker], logLevel: logLevel.NOTHING }).admin()
  await admin.createTopics({
    topics: ['echo.nest', 'echo.nest.reply', 'echo.ours'].map((name) => ({ topic: name, numPartitions: 1 }))
  })
  const ends = [await run('serve ours', '', server.broker), await run('serve nest', '', server.broker)]
  for (let round = 0; round < Number(role === 'all' ? 3 : role); round++) {
    for (const how of ['ours', 'scattered', 'bare', 'bare with headers', 'bare alike'])
      await run(`publish ${how}`, `${how.replaceAll(' ', '-')}.round${round}`, server.broker)
    // All of them read the same events.
    for (const how of ['ours', 'bare', 'bare alike'])
      await run(`consume ${how}`, `ours.round${round}`, server.broker)
    for (const whose of ['ours', 'nest']) await run(`ask ${whose}`, '', server.broker)
  }
  await run('fill keys', 'keys', server.broker)
  await run('slow', 'keys', server.broker)
  for (const end of ends) end()
  await admin.disconnect()
  await server.stop()
  process.exit(0)
}
await ROLES[role]?.()
if (!role.startsWith('serve')) process.exit(0)
