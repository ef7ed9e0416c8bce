/** Durable events over Kafka: what is special to Kafka. What holds for all engines is in tests/engines. */
import assert from 'node:assert/strict'
import { afterEach, before, describe, it } from 'node:test'
import { kafka } from '@elysia-microservices/kafka'
import { isMissing, Log, PATIENCE, until } from '@elysia-microservices/test-support'
import type { DurableOptions } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { type EachMessagePayload, Kafka, logLevel } from 'kafkajs'
import { type KafkaServerProcess, kafkaMissing, sharedKafka } from '../support/kafka-server.ts'

if (!isMissing('durable events over Kafka', kafkaMissing()))
  describe('a durable event over Kafka', () => {
    let server: KafkaServerProcess
    let count = 0
    const cleanUps: (() => Promise<unknown>)[] = []
    const log = new Log()
    const fresh = () => `kafka${++count}.happened`

    const transport = () => kafka({ url: [server.broker], partitions: 3 })

    function newClient(): UntypedStoringClient {
      const client = connect({ transport: transport(), logger: log.logger, timeout: PATIENCE })
      cleanUps.push(() => client.close())
      return client
    }

    async function serve(
      pattern: string,
      handler: (message: Message) => unknown,
      durable: DurableOptions = {},
      name = 'test'
    ) {
      const settings = { name, transport: transport(), logger: log.logger, drain: 10_000 }
      const service = microservice(settings).event(pattern, handler, { durable })
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }

    /** Kafka's older driver, which other programs use. */
    const others = () => new Kafka({ brokers: [server.broker], logLevel: logLevel.NOTHING })

    before(async () => {
      server = await sharedKafka()
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
    })

    it('is stored once and in order while the server is killed: what is sent again has the same number', {
      timeout: 4 * PATIENCE
    }, async () => {
      // On a busy machine, each of the three starts of the server may take a minute.
      const pattern = fresh()
      const client = newClient()
      await client.connect()
      const all: Promise<unknown>[] = []
      for (let n = 0; n < 3_000; n++) {
        all.push(client.publish(pattern, n, { key: 'k', timeout: 3 * PATIENCE }))
        if (n % 1_000 === 500) {
          await server.stop()
          await server.start()
        }
      }
      await Promise.all(all)
      const seen: unknown[] = []
      await serve(pattern, ({ data }) => void seen.push(data), { start: 'all', ordered: true })
      await until('All are handled', () => seen.length >= 3_000)
      assert.deepEqual(seen, [...seen.keys()])
    })

    it('runs once when processes start and stop: they pass on which events are done, and wait for running handlers', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      const runs = new Map<unknown, number>()
      const handler = async ({ data }: Message) => {
        runs.set(data, (runs.get(data) ?? 0) + 1)
        // Some events take longer, and end after events that came later.
        await new Promise((resolve) => setTimeout(resolve, (data as number) % 50 === 0 ? 60 : 1))
      }
      const durable = { ordered: true, concurrency: 8 }
      let running = [await serve(pattern, handler, durable, 'rolling')]
      const client = newClient()
      let n = 0
      let isOver = false
      const load = (async () => {
        while (!isOver) {
          const some = Array.from({ length: 20 }, () => client.publish(pattern, n, { key: `k${n++ % 40}` }))
          await Promise.all(some)
        }
      })()
      for (let round = 0; round < 4; round++) {
        running.push(await serve(pattern, handler, durable, 'rolling'))
        const before = runs.size
        await until('It goes on', () => runs.size > before + 100)
        const [old, ...rest] = running
        await old?.stop()
        running = rest
      }
      isOver = true
      await load
      await until('All are handled', () => runs.size === n)
      assert.deepEqual(
        [...runs].filter(([, times]) => times !== 1),
        []
      )
    })

    it('is in topics that other programs can read as CloudEvents, with its retries and dead letters', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      await serve(
        pattern,
        () => {
          throw new Error('no')
        },
        { retry: { attempts: 2, minDelay: 1 } },
        'reader'
      )
      await newClient().publish(pattern, { a: 1 }, { id: 'e1', key: 'k', headers: { 'x-a': '1' } })
      const consumer = others().consumer({ groupId: `${pattern}.looks` })
      cleanUps.push(() => consumer.disconnect())
      const seen: EachMessagePayload[] = []
      const admin = others().admin()
      await until('There is a dead letter', async () => (await admin.listTopics()).includes(`${pattern}.dlt`))
      await admin.disconnect()
      await consumer.subscribe({
        topics: [pattern, `${pattern}.retry-1`, `${pattern}.dlt`],
        fromBeginning: true
      })
      await consumer.run({ eachMessage: async (message) => void seen.push(message) })
      await until('All three are read', () => seen.length === 3)
      const looks = seen
        .map(({ topic, message: { value, headers } }) => ({
          topic,
          value: String(value),
          ...Object.fromEntries(Object.entries(headers ?? {}).map(([name, one]) => [name, String(one)]))
        }))
        .sort((one, other) => one.topic.localeCompare(other.topic))
      for (const look of looks) {
        const {
          ce_id: id,
          ce_type: type,
          ce_specversion: version,
          'x-a': own
        } = look as Record<string, string>
        assert.deepEqual([id, type, version, own, look.value], ['e1', pattern, '1.0', '1', '{"a":1}'])
      }
      const [, dead, again] = looks as Record<string, string>[]
      assert.deepEqual(
        [dead?.['topic'], dead?.['elysia-reason'], dead?.['elysia-attempts'], dead?.['elysia-group']],
        [`${pattern}.dlt`, 'Error: no', '2', 'reader']
      )
      assert.deepEqual([again?.['topic'], again?.['elysia-attempts']], [`${pattern}.retry-1`, '1'])
      assert.equal(looks[0]?.topic, pattern)
    })

    it('may come from any producer, and from partitions that are added while it runs', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      await serve(
        pattern,
        ({ data, headers, delivery }) => void seen.push([data, { ...headers }, delivery?.key])
      )
      const kafkaJs = others()
      const producer = kafkaJs.producer()
      const admin = kafkaJs.admin()
      await producer.connect()
      cleanUps.push(
        () => producer.disconnect(),
        () => admin.disconnect()
      )
      await producer.send({
        topic: pattern,
        messages: [{ key: 'k', value: '{"a":1}', headers: { trace: '1' } }]
      })
      await until('It is handled', () => seen.length === 1)
      assert.deepEqual(seen, [[{ a: 1 }, { trace: '1' }, 'k']])
      await admin.createPartitions({ topicPartitions: [{ topic: pattern, count: 5 }] })
      // This driver drops an event of a partition that it does not know, and asks for new partitions only every few
      // minutes.
      await until('The broker knows them', async () => {
        const { topics } = await admin.fetchTopicMetadata({ topics: [pattern] })
        return topics[0]?.partitions.length === 5
      })
      const later = kafkaJs.producer()
      await later.connect()
      cleanUps.push(() => later.disconnect())
      const sent = await later.send({ topic: pattern, messages: [{ value: 'text', partition: 4 }] })
      assert.equal(sent.length, 1)
      await until('So is the one of a new partition', () => seen.length === 2)
      assert.deepEqual(seen[1], ['text', {}, undefined])
    })
  })
