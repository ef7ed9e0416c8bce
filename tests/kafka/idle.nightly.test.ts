/** The requests that durable handlers with nothing to do cost Kafka. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { kafkaBy, platformatic } from '@elysia-microservices/kafka/testing'
import { isMissing, PATIENCE, pause } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'

const logger = { error() {}, warn() {} }

/** Kafka by its driver, and how many requests were sent. */
function counting(broker: string) {
  let requests = 0
  const transport = kafkaBy(
    {
      async connect(...args) {
        const connection = await platformatic.connect(...args)
        return new Proxy(connection, {
          get(target, name) {
            const member = target[name as keyof typeof target]
            if (typeof member !== 'function') return member
            if (name !== 'close' && name !== 'destroy') requests++
            return member.bind(target)
          }
        })
      }
    },
    { url: [broker], partitions: 1 }
  )
  return { transport, count: () => requests }
}

if (!isMissing('idle handlers of Kafka', kafkaMissing()))
  describe('durable handlers over Kafka', () => {
    let server: KafkaServerProcess | undefined
    after(() => server?.stop())

    it('that have nothing to do send a heartbeat in five seconds each, and a fetch request in twenty', {
      timeout: 3 * PATIENCE
    }, async () => {
      server = await KafkaServerProcess.start({
        'group.consumer.heartbeat.interval.ms': 5_000,
        'group.consumer.session.timeout.ms': 45_000
      })
      const { broker } = server
      const [one = 0, many = 0] = await Promise.all(
        [1, 30].map(async (count) => {
          const { transport, count: requests } = counting(broker)
          const service = microservice({ name: `idle${count}`, transport, logger })
          for (let n = 0; n < count; n++) service.event(`idle.${count}.${n}`, () => {}, { durable: true })
          await service.listen()
          // By then no group has changed for ten heartbeats.
          await pause(20_000)
          const before = requests()
          await pause(20_000)
          const sent = requests() - before
          await service.stop()
          return sent
        })
      )
      // Each of the others has sent 5 requests; before, it was more than 40.
      assert.ok(many < one + 29 * 8, `${one} and ${many} requests in 20 s`)
    })
  })
