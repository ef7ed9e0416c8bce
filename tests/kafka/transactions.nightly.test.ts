/** Records that other producers store in transactions of Kafka: handled when they are committed, as over Nest. */
import assert from 'node:assert/strict'
import { afterEach, before, describe, it } from 'node:test'
import { kafka } from '@elysia-microservices/kafka'
import { isMissing, Log, PATIENCE, until } from '@elysia-microservices/test-support'
import { Producer, stringSerializers } from '@platformatic/kafka'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { type KafkaServerProcess, kafkaMissing, sharedKafka } from '../support/kafka-server.ts'

if (!isMissing('transactions of Kafka', kafkaMissing()))
  describe('a record of a transaction', () => {
    let server: KafkaServerProcess
    let count = 0
    const cleanUps: (() => Promise<unknown>)[] = []
    const { logger } = new Log()
    const fresh = () => `transaction${++count}.happened`
    const transport = (events?: 'every-process') => kafka({ url: [server.broker], partitions: 1, events })

    before(async () => {
      server = await sharedKafka()
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
    })

    /** Begins a transaction of another producer. */
    async function begin(topic: string) {
      const producer = new Producer({
        clientId: 'bank',
        bootstrapBrokers: [server.broker],
        idempotent: true,
        transactionalId: `bank ${++count}`,
        serializers: stringSerializers
      })
      cleanUps.push(() => producer.close())
      const transaction = await producer.beginTransaction()
      return {
        send: (value: string) => transaction.send({ messages: [{ topic, key: 'k', value }] }),
        commit: () => transaction.commit(),
        abort: () => transaction.abort()
      }
    }

    /** Serves a pattern with all kinds of handlers. */
    async function serve(pattern: string) {
      const seen = { durable: [] as unknown[], plain: [] as unknown[], all: [] as unknown[] }
      const names = Object.keys(seen) as (keyof typeof seen)[]
      const services = names.map((name) =>
        microservice({
          name: `${name} ${pattern}`,
          transport: transport(name === 'all' ? 'every-process' : undefined),
          logger
        }).event(pattern, ({ data }: Message) => void seen[name].push(data), {
          durable: name === 'durable' ? { ordered: true } : undefined
        })
      )
      for (const service of services) {
        await service.listen()
        cleanUps.push(() => service.stop())
      }
      const has = (value: string) => () => names.every((name) => seen[name].includes(value))
      return { seen, has, figures: () => services[0]?.stats()[0]?.durable?.[0] }
    }

    it('is handled when its transaction is committed, and never when it is aborted', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      const { seen, has, figures } = await serve(pattern)
      const client = connect({ transport: transport(), logger })
      cleanUps.push(() => client.close())
      const first = await begin(pattern)
      await first.send('committed 1')
      await first.commit()
      await until('The first is handled', has('committed 1'))
      const aborted = await begin(pattern)
      await aborted.send('aborted 1')
      await aborted.send('aborted 2')
      await client.publish(pattern, 'behind')
      // A reader of all records would have them by now.
      await until('They wait', () => (figures()?.lag ?? 0) >= 3)
      assert.deepEqual(seen, { durable: ['committed 1'], plain: ['committed 1'], all: ['committed 1'] })
      await aborted.abort()
      const last = await begin(pattern)
      await last.send('committed 2')
      await last.commit()
      await until('The last is handled', has('committed 2'))
      const expected = ['committed 1', 'behind', 'committed 2']
      assert.deepEqual(seen, { durable: expected, plain: expected, all: expected })
      await until('Nothing waits', () => figures()?.lag === 0)
    })

    it('holds up neither requests for other topics nor answers, and a request behind it is answered later', {
      timeout: PATIENCE
    }, async () => {
      const pattern = fresh()
      const service = microservice({ name: `echo ${pattern}`, transport: transport(), logger })
        .message(pattern, ({ data }) => data)
        .message(`${pattern}.other`, ({ data }) => data)
      await service.listen()
      cleanUps.push(() => service.stop())
      const client = connect({ transport: transport(), logger, timeout: PATIENCE })
      cleanUps.push(() => client.close())
      assert.equal(await client.request(pattern, 1), 1)
      const transaction = await begin(pattern)
      await transaction.send('open')
      let isAnswered = false
      const behind = client.request(pattern, 2).then((answer) => {
        isAnswered = true
        return answer
      })
      assert.equal(await client.request(`${pattern}.other`, 3), 3)
      assert.equal(isAnswered, false)
      await transaction.abort()
      assert.equal(await behind, 2)
    })
  })
