/** A Kafka broker that stands still. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { kafka } from '@elysia-microservices/kafka'
import { isMissing, Log, PATIENCE, until } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { kafkaMissing, sharedKafka } from '../support/kafka-server.ts'

if (!isMissing('outages of Kafka brokers', kafkaMissing()))
  describe('a Kafka broker', () => {
    it('that stands still for longer than a request may take ends no process, and loses no event', {
      timeout: 4 * PATIENCE
    }, async () => {
      const server = await sharedKafka()
      const { logger } = new Log()
      const transport = kafka({ url: [server.broker], partitions: 2 })
      const seen: unknown[] = []
      const service = microservice({ name: 'still', transport, logger })
        .message('still.echo', ({ data }) => data)
        .event('still.happened', ({ data }) => void seen.push(data), { durable: {} })
      await service.listen()
      const client = connect({ transport, logger, timeout: 3 * PATIENCE })
      const other = connect({ transport, logger })
      const uncaught: unknown[] = []
      const note = (error: unknown) => void uncaught.push(error)
      process.on('uncaughtException', note)
      try {
        assert.equal(await client.request('still.echo', 1), 1)
        assert.equal(await other.request('still.echo', 1), 1)
        server.signal('SIGSTOP')
        const numbers = Array.from({ length: 50 }, (_, n) => n)
        const published = numbers.map((n) => client.publish('still.happened', n))
        // This client is closed while its requests wait for their answers.
        const waiting = [
          other.emit('still.echo', 0),
          other.request('still.echo', 0),
          other.publish('still.happened', 0)
        ]
        await new Promise((resolve) => setTimeout(resolve, 500))
        const closed = Promise.all([other.close(), ...waiting.map((one) => one.catch(() => {}))])
        // Requests to brokers may take 30 s.
        await new Promise((resolve) => setTimeout(resolve, 33_000))
        // As somebody would who finds it hanging.
        await server.stop()
        await server.start()
        await Promise.all([...published, closed])
        await until('All are handled', () => numbers.every((n) => seen.includes(n)))
        assert.equal(await client.request('still.echo', 2), 2)
        assert.deepEqual(uncaught, [])
      } finally {
        process.off('uncaughtException', note)
        await client.close()
        await service.stop()
      }
    })
  })
