/** Durable events over Kafka: what is special to Kafka. What holds for all engines is in tests/engines. */
import assert from 'node:assert/strict'
import { afterEach, before, describe, it } from 'node:test'
import { type KafkaOptions, kafka } from '@elysia-microservices/kafka'
import { collected, isMissing, Link, Log, PATIENCE, until } from '@elysia-microservices/test-support'
import { type DurableOptions, deadLetters } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { type EachMessagePayload, Kafka, logLevel } from 'kafkajs'
import { type KafkaServerProcess, kafkaMissing, sharedKafka } from '../support/kafka-server.ts'

if (!isMissing('durable events over Kafka', kafkaMissing()))
  describe('a durable event over Kafka', () => {
    let server: KafkaServerProcess
    let count = 0
    const cleanUps: (() => Promise<unknown>)[] = []
    const log = new Log()
    const fresh = () => `kafka${++count}.happened`

    const transport = (options: KafkaOptions = {}) =>
      kafka({ url: [server.broker], partitions: 3, ...options })

    function newClient(options?: KafkaOptions): UntypedClient {
      const client = connect({ transport: transport(options), logger: log.logger, timeout: PATIENCE })
      cleanUps.push(() => client.close())
      return client
    }

    async function serve(
      pattern: string,
      handler: (message: Message) => unknown,
      durable: DurableOptions = {},
      name = 'test',
      options: KafkaOptions = {}
    ) {
      const settings = { name, transport: transport(options), logger: log.logger, drain: 10_000 }
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

    it('that is slow, or fails for long, does not delay other events of its partition', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      let release = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const seen: string[] = []
      const durable = { ordered: true, concurrency: 4, retry: { attempts: 3, minDelay: 60_000 } }
      await serve(
        pattern,
        ({ data, delivery }) => {
          if (data === 'slow') return held
          if (data === 'poison') throw new Error('poison')
          seen.push(`${delivery?.key} ${data}`)
        },
        durable
      )
      const client = newClient({ partitions: 1 })
      await client.publish(pattern, 'poison', { key: 'p' })
      await client.publish(pattern, 'slow', { key: 's' })
      await client.publish(pattern, 'behind', { key: 's' })
      const others = Array.from({ length: 200 }, (_, n) => client.publish(pattern, n, { key: `k${n % 10}` }))
      await Promise.all(others)
      await until('All others are handled', () => seen.length === 200)
      assert.ok(!seen.includes('s behind'))
      release()
      await until('So is what was behind', () => seen.includes('s behind'))
      for (let key = 0; key < 10; key++) {
        const its = seen.filter((one) => one.startsWith(`k${key} `)).map((one) => Number(one.split(' ')[1]))
        assert.deepEqual(
          its,
          [...its].sort((a, b) => a - b)
        )
      }
    })

    /** Deletes a topic. Resolves when no broker knows it any more. */
    async function remove(topic: string): Promise<void> {
      const admin = others().admin()
      await admin.connect()
      cleanUps.push(() => admin.disconnect())
      await admin.deleteTopics({ topics: [topic] })
      await until('It is gone', async () => !(await admin.listTopics()).includes(topic))
    }

    it('is published and handled from the first on when its topic was deleted and created again', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      await serve(pattern, ({ data }) => void seen.push(data), { ordered: true })
      const client = newClient()
      const publish = (numbers: readonly number[]) =>
        Promise.all(numbers.map((n) => client.publish(pattern, n, { key: 'k' })))
      await publish([0, 1, 2])
      await until('They are handled', () => seen.length === 3)
      await remove(pattern)
      const more = Array.from({ length: 200 }, (_, index) => 3 + index)
      await publish(more)
      await until('They are handled, too', () => seen.length >= 203)
      assert.deepEqual(seen, [0, 1, 2, ...more])
    })

    it('runs in one process only when the topic was deleted and created again', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      const handler = ({ data }: Message) => void seen.push(data)
      await serve(pattern, handler, {}, 'two processes')
      await serve(pattern, handler, {}, 'two processes')
      const client = newClient()
      const publish = (numbers: readonly number[]) =>
        Promise.all(numbers.map((n) => client.publish(pattern, n, { key: `k${n}` })))
      const all: number[] = []
      for (let round = 0; round < 3; round++) {
        const more = Array.from({ length: 200 }, (_, n) => all.length + n)
        all.push(...more)
        await publish(more)
        await until('They are handled', () => all.every((n) => seen.includes(n)))
        if (round < 2) await remove(pattern)
      }
      assert.deepEqual(
        seen.toSorted((one, other) => Number(one) - Number(other)),
        all
      )
    })

    it('that fails while its partition moves runs in the next process, and is not waited for', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      const client = newClient({ partitions: 2 })
      await client.connect()
      let fail = () => {}
      const failing = new Promise<void>((_, reject) => (fail = () => reject(new Error('no'))))
      failing.catch(() => {})
      const durable = {
        ordered: true,
        concurrency: 8,
        retry: { attempts: 3, minDelay: 1_000_000, maxDelay: 1_000_000 }
      }
      const first: unknown[] = []
      const second: unknown[] = []
      const handler = ({ data }: Message) => {
        first.push(data)
        return failing
      }
      await serve(pattern, handler, durable, 'moves')
      await Promise.all(Array.from({ length: 8 }, (_, n) => client.publish(pattern, n, { key: `k${n}` })))
      await until('All run', () => first.length === 8)
      await serve(pattern, ({ data }) => void second.push(data), durable, 'moves')
      // By then a partition is to move, and its events are waited for.
      await new Promise((resolve) => setTimeout(resolve, 3_000))
      fail()
      await until('Some run in the other process', () => second.length > 0)
    })

    it('is retried once when the confirmation of the retry is lost', { timeout: PATIENCE }, async () => {
      const pattern = fresh()
      const link = await Link.start(server.port)
      cleanUps.push(() => link.stop())
      const runs: string[] = []
      const handler = ({ data, delivery }: Message) => {
        runs.push(`${data} ${delivery?.attempt}`)
        if (delivery?.attempt === 1) throw new Error('no')
      }
      const near = { url: [`127.0.0.1:${link.port}`], advertised: false }
      await serve(pattern, handler, { retry: { attempts: 2, minDelay: 2_000 } }, 'far', near)
      const client = newClient({ partitions: 1 })
      link.losesAnswerTo = 'the first'
      await client.publish(pattern, 'the first', { key: 'k' })
      await until('It was retried', () => runs.includes('the first 2'))
      assert.equal(link.cut, 1)
      // A second copy would be stored in front of this one.
      await client.publish(pattern, 'the last', { key: 'k' })
      await until('So was the last', () => runs.includes('the last 2'))
      assert.deepEqual(runs, ['the first 1', 'the first 2', 'the last 1', 'the last 2'])
    })

    it('that ends after its topic was deleted is not counted as an event of the topic created again', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      let release = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const handler = ({ data }: Message) => {
        seen.push(data)
        return data === 'last of the old topic' ? held : undefined
      }
      await serve(pattern, handler, { ordered: true })
      const client = newClient()
      const old = ['first of the old topic', 'last of the old topic']
      for (const data of old) await client.publish(pattern, data, { key: 'k' })
      await until('All began', () => seen.length === 2)
      await remove(pattern)
      release()
      // By then the coordinator has taken the partitions away, and the positions behind the old events are to be committed.
      await new Promise((resolve) => setTimeout(resolve, 2_000))
      const more = Array.from({ length: 20 }, (_, index) => index)
      for (const n of more) await client.publish(pattern, n, { key: 'k' })
      await until('All of the new topic are handled', () => seen.length >= 22)
      assert.deepEqual(seen, [...old, ...more])
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

    it('has dead letters that are listed over all patterns of a group, from the oldest on', {
      timeout: PATIENCE
    }, async () => {
      const [one, other] = [fresh(), fresh()]
      const fail = () => {
        throw new Error('no')
      }
      const durable = { retry: { attempts: 1 } }
      const service = microservice({ name: 'two-patterns', transport: transport(), logger: log.logger })
        .event(one, fail, { durable })
        .event(other, fail, { durable })
      await service.listen()
      cleanUps.push(() => service.stop())
      const client = newClient()
      const letters = deadLetters(client, 'two-patterns')
      const positions = async () => (await collected(letters.list())).map(({ pattern }) => pattern)
      for (const [index, pattern] of [one, other, one].entries()) {
        await client.publish(pattern, index)
        await until('It is there', async () => (await positions()).length === index + 1)
      }
      assert.deepEqual(await positions(), [one, other, one])
      assert.equal((await collected(letters.list({ limit: 2 }))).length, 2)
      for (const wrong of ['', 'x', `${one}.dlt:99`, `${one}:0`, '_elysia.groups.dlt:0'])
        assert.equal(await letters.get(wrong), undefined)
    })
  })
