/**
 * NestJS and this library on one Kafka: every client reaches every service, and the records in the topics are
 * compared byte by byte.
 */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { kafka } from '@elysia-microservices/kafka'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { collected, isMissing, PATIENCE, until } from '@elysia-microservices/test-support'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  ClientKafka,
  Ctx,
  EventPattern,
  type KafkaContext,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  RpcException,
  Transport
} from '@nestjs/microservices'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { type Admin, Kafka, logLevel } from 'kafkajs'
import { firstValueFrom, from, lastValueFrom, retry, timeout, toArray } from 'rxjs'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'

const PATTERNS = ['echo', 'values', 'nothing', 'fails', 'refuses', 'message', 'headers'].map(
  (one) => `nest.${one}`
)
const EVENT = 'nest.noted'
const seen: unknown[] = []

/** A controller as users of NestJS write them for Kafka. */
@Controller()
class OrdersController {
  @MessagePattern('nest.echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }

  @MessagePattern('nest.values')
  values(): unknown {
    return from([1, 2, 3])
  }

  @MessagePattern('nest.nothing')
  nothing(): void {}

  @MessagePattern('nest.fails')
  fails(): void {
    throw new Error('secret')
  }

  @MessagePattern('nest.refuses')
  refuses(): void {
    throw new RpcException({ code: 'NO', message: 'no' })
  }

  @MessagePattern('nest.message')
  message(): unknown {
    return { key: 'k', value: { a: 1 }, headers: { 'x-a': '1' } }
  }

  @MessagePattern('nest.headers')
  headers(@Ctx() context: KafkaContext): unknown {
    return [context.getTopic(), context.getMessage().headers?.['x-version'] ?? null]
  }

  @EventPattern('nest.noted')
  noted(@Payload() data: unknown): void {
    seen.push(data)
  }
}

@Module({ controllers: [OrdersController] })
class OrdersModule {}

/** The same service with our API. */
function ours(broker: string) {
  const transport = kafka({ url: [broker] })
  return microservice({ name: 'nest-orders', transport, logger: { error() {}, warn() {} } })
    .message('nest.echo', ({ data }) => data)
    .message('nest.values', () => from([1, 2, 3]))
    .message('nest.nothing', () => undefined)
    .message('nest.fails', () => {
      throw new Error('secret')
    })
    .message('nest.refuses', () => {
      throw new RpcException({ code: 'NO', message: 'no' })
    })
    .message('nest.message', () => ({ key: 'k', value: { a: 1 }, headers: { 'x-a': '1' } }))
    .message('nest.headers', ({ headers, pattern }) => [pattern, headers['x-version'] ?? null])
    .event('nest.noted', ({ data }) => void seen.push(data))
}

type Start = (broker: string) => Promise<() => Promise<unknown>>

async function startNest(options: MicroserviceOptions): Promise<() => Promise<unknown>> {
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(OrdersModule, {
    ...options,
    logger: false
  })
  await app.listen()
  return () => app.close()
}

const SERVICES: readonly (readonly [string, Start])[] = [
  [
    'Nest',
    (broker) =>
      startNest({
        transport: Transport.KAFKA,
        options: {
          client: { brokers: [broker], logLevel: logLevel.NOTHING },
          consumer: { groupId: 'of-nest' }
        }
      })
  ],
  [
    'Nest on our transport',
    (broker) =>
      startNest({
        strategy: new MicroserviceServer({ name: 'nest-ours', transport: kafka({ url: [broker] }) })
      })
  ],
  [
    'ours',
    async (broker) => {
      const service = ours(broker)
      await service.listen()
      return () => service.stop()
    }
  ]
]

/** A record, without the parts that differ in each run. */
interface Line {
  readonly topic: string
  readonly key: string | undefined
  readonly value: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

if (!isMissing('Nest and our transport over Kafka', kafkaMissing()))
  describe('over Kafka', () => {
    let server: KafkaServerProcess
    let nest: ClientKafka
    let own: UntypedClient
    let admin: Admin
    const topics = [...PATTERNS, ...PATTERNS.map((one) => `${one}.reply`), EVENT]
    const lines: Line[] = []
    /** The number of records that the tap has read. */
    let read = 0
    const cleanUps: (() => Promise<unknown>)[] = []
    const options = { timeout: PATIENCE }

    before(async () => {
      // A new server, because kafkajs may wait for ever for a group of a server that was killed before.
      server = await KafkaServerProcess.start()
      cleanUps.push(() => server.stop())
      const other = new Kafka({ brokers: [server.broker], logLevel: logLevel.NOTHING })
      admin = other.admin()
      cleanUps.push(() => admin.disconnect())
      // NestJS clients and services fail at their first start if these topics are missing.
      await admin.createTopics({
        topics: topics.map((topic) => ({ topic, numPartitions: 2 })),
        waitForLeaders: true
      })
      const tap = other.consumer({ groupId: 'tap' })
      cleanUps.push(() => tap.disconnect())
      await tap.subscribe({ topics, fromBeginning: true })
      await tap.run({
        async eachMessage({ topic, message: { key, value, headers = {} } }) {
          const said = Object.entries(headers).map(([name, text]) => [
            name,
            name.endsWith('correlationId') ? 'ID' : String(text)
          ])
          lines.push({
            topic,
            key: key?.toString(),
            value: value?.toString(),
            headers: Object.fromEntries(said)
          })
          read++
        }
      })
      nest = new ClientKafka({
        client: { brokers: [server.broker], logLevel: logLevel.NOTHING },
        consumer: { groupId: 'nest-client' }
      })
      for (const pattern of PATTERNS) nest.subscribeToResponseOf(pattern)
      await nest.connect()
      cleanUps.push(() => nest.close())
      own = connect({ transport: kafka({ url: [server.broker] }), timeout: PATIENCE })
      cleanUps.push(() => own.close())
    })
    after(async () => {
      for (const cleanUp of cleanUps.reverse()) await cleanUp()
    })

    /** All records in topics of NestJS since the last call: requests and events, then answers. */
    async function written(): Promise<readonly Line[]> {
      await until('The tap has read all records', async () => read === (await countRecords()))
      const isAnswer = ({ topic }: Line) => Number(topic.endsWith('.reply'))
      return lines.splice(0).sort((one, other) => isAnswer(one) - isAnswer(other))
    }

    /** Counts records by the positions of the partitions, because the tap reads partitions in any order. */
    async function countRecords(): Promise<number> {
      const positions = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)))
      return positions.flat().reduce((sum, { high }) => sum + Number(high), 0)
    }

    for (const [name, start] of SERVICES)
      describe(`a service of ${name}`, () => {
        let stop: () => Promise<unknown>
        before(async () => {
          stop = await start(server.broker)
          // NestJS's listen() does not wait until its group has shared the partitions, and a request may be lost.
          const answer = nest.send('nest.echo', { ready: 1 }).pipe(timeout(30_000), retry(5))
          assert.deepEqual(await firstValueFrom(answer), { ready: 1 })
          await written()
        })
        after(() => stop())

        it("answers Nest's client as Nest does, byte by byte", options, async () => {
          const asked = async (pattern: string, data: unknown = {}) => {
            const values = await lastValueFrom(nest.send(`nest.${pattern}`, data).pipe(toArray())).catch(
              (error) => ['error', error]
            )
            return values as unknown[]
          }
          // NestJS reads numbers as texts, and does not know null.
          assert.deepEqual(await asked('echo', 5), ['5'])
          const [request, answer] = await written()
          assert.equal(request?.value, '5')
          const said = { kafka_correlationId: 'ID', 'kafka_nest-is-disposed': '\0' }
          assert.deepEqual(answer, { topic: 'nest.echo.reply', key: undefined, value: '5', headers: said })
          assert.deepEqual(await asked('echo', { a: [1, null] }), [{ a: [1, null] }])
          assert.equal((await written())[1]?.value, '{"a":[1,null]}')
          assert.deepEqual(await asked('values'), ['1', '2', '3'])
          await written()
          assert.deepEqual(await asked('fails'), [
            'error',
            { status: 'error', message: 'Internal server error' }
          ])
          const [, failure] = await written()
          assert.deepEqual(failure, {
            topic: 'nest.fails.reply',
            key: undefined,
            value: undefined,
            headers: { ...said, 'kafka_nest-err': '{"status":"error","message":"Internal server error"}' }
          })
          assert.deepEqual(await asked('refuses'), ['error', { code: 'NO', message: 'no' }])
          await written()
          assert.deepEqual(await asked('message'), [{ a: 1 }])
          const [, whole] = await written()
          assert.deepEqual(whole, {
            topic: 'nest.message.reply',
            key: 'k',
            value: '{"a":1}',
            headers: { ...said, 'x-a': '1' }
          })
        })

        it(
          "gets headers, and a hundred calls at once, from Nest's client and from ours",
          options,
          async () => {
            const record = { value: { v: 1 }, headers: { 'x-version': '2' } }
            assert.deepEqual(await firstValueFrom(nest.send('nest.headers', record)), ['nest.headers', '2'])
            const headers = { 'x-version': '2' }
            assert.deepEqual(await own.request('nest.headers', 1, { headers }), ['nest.headers', '2'])
            const hundred = (ask: (n: object) => Promise<unknown>) =>
              Promise.all(Array.from({ length: 100 }, (_, n) => ask({ n })))
            const expected = Array.from({ length: 100 }, (_, n) => ({ n }))
            assert.deepEqual(await hundred((data) => firstValueFrom(nest.send('nest.echo', data))), expected)
            assert.deepEqual(await hundred((data) => own.request('nest.echo', data)), expected)
            await written()
          }
        )

        it(
          'is called by our client with the bytes that Nest writes, and a few headers more',
          options,
          async () => {
            await written()
            assert.deepEqual(await own.request('nest.echo', { a: 1 }), { a: 1 })
            assert.deepEqual(await own.request('nest.echo', 'text'), 'text')
            // NestJS services cannot tell a number from a text.
            assert.deepEqual(
              await own.request('nest.echo', 5),
              name === 'ours' || name.endsWith('transport') ? 5 : '5'
            )
            const asked = (await written()).filter(({ topic }) => topic === 'nest.echo')
            assert.deepEqual(asked.map(({ value }) => value).sort(), ['5', 'text', '{"a":1}'])
            for (const { headers, key } of asked) {
              const { kafka_replyPartition: partition, ...rest } = headers
              assert.match(partition ?? '', /^\d+$/)
              assert.equal(key, undefined)
              assert.equal(rest['kafka_correlationId'], 'ID')
              assert.equal(rest['kafka_replyTopic'], '_elysia.inbox')
            }
            assert.deepEqual(
              await collected(own.stream('nest.values')),
              name === 'Nest' ? ['1', '2', '3'] : [1, 2, 3]
            )
            await assert.rejects(own.request('nest.fails'), { code: 'INTERNAL' })
            await assert.rejects(own.request('nest.refuses'), { code: 'NO', message: 'no' })
          }
        )

        it('gets events of both', options, async () => {
          seen.length = 0
          await written()
          await lastValueFrom(nest.emit(EVENT, { e: 1 }))
          await own.emit(EVENT, { e: 2 })
          await until('Both have come', () => seen.length === 2)
          assert.deepEqual(
            [...seen].sort((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
            [{ e: 1 }, { e: 2 }]
          )
          const both = (await written()).filter(({ topic }) => topic === EVENT)
          assert.deepEqual(both.map(({ value }) => value).sort(), ['{"e":1}', '{"e":2}'])
        })
      })
  })
