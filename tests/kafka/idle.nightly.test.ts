/** Brokers close connections that were idle for a while: 10 minutes by default. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { kafka } from '@elysia-microservices/kafka'
import { isMissing, PATIENCE, pause } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'

/** Longer than a broker waits for records: every idle connection is closed within this time. */
const IDLE = 7_000

if (!isMissing('idle connections to Kafka', kafkaMissing()))
  describe('idle connections to Kafka', () => {
    it('are closed by a broker, and no call fails', { timeout: PATIENCE }, async () => {
      const server = await KafkaServerProcess.start({ 'connections.max.idle.ms': IDLE })
      const logger = { error() {}, warn() {} }
      const transport = kafka({ url: [server.broker], partitions: 1 })
      const service = microservice({ name: 'idle', transport, logger }).message(
        'idle.wait',
        async ({ data }: Message<number>) => {
          await pause(data)
          return 'waited'
        }
      )
      const client = connect<typeof service>({ transport, logger, timeout: PATIENCE })
      try {
        await service.listen()
        assert.equal(await client.request('idle.wait', 2 * IDLE), 'waited')
      } finally {
        await client.close()
        await service.stop()
        await server.stop()
      }
    })
  })
