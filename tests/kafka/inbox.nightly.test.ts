/** The topic of inboxes, on which answers arrive. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { kafka } from '@elysia-microservices/kafka'
import { isMissing, Link, Log, PATIENCE } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { Kafka, logLevel } from 'kafkajs'
import { kafkaMissing, sharedKafka } from '../support/kafka-server.ts'

if (!isMissing('the inboxes over Kafka', kafkaMissing()))
  describe('a caller over Kafka', () => {
    it('receives answers again after it was disconnected for longer than answers are kept', {
      timeout: PATIENCE
    }, async () => {
      const server = await sharedKafka()
      const log = new Log()
      const link = await Link.start(server.port)
      const { port } = link
      const inbox = 'away'
      const service = microservice({
        name: 'echo',
        transport: kafka({ url: [server.broker], inboxPrefix: inbox, partitions: 1 }),
        logger: log.logger
      }).message('inbox.echo', ({ data }: Message<number>) => data)
      const near = kafka({ url: [`127.0.0.1:${port}`], inboxPrefix: inbox, partitions: 1, advertised: false })
      const client = connect<typeof service>({ transport: near, logger: log.logger, timeout: PATIENCE })
      const far = connect<typeof service>({ transport: kafka({ url: [server.broker], inboxPrefix: inbox }) })
      const admin = new Kafka({ brokers: [server.broker], logLevel: logLevel.NOTHING }).admin()
      try {
        await service.listen()
        await admin.connect()
        assert.equal(await client.request('inbox.echo', 1), 1)
        await link.stop()
        for (let n = 0; n < 10; n++) assert.equal(await far.request('inbox.echo', n), n)
        // Deletes old records, as brokers do after some time.
        const topic = `_elysia.inbox.${inbox}`
        // The driver must know the leader of the topic.
        await admin.fetchTopicOffsets(topic)
        await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '-1' }] })
        const again = await Link.start(server.port, port)
        try {
          assert.equal(await client.request('inbox.echo', 2), 2)
        } finally {
          await client.close()
          await again.stop()
        }
      } finally {
        await admin.disconnect()
        await client.close()
        await far.close()
        await service.stop()
        await link.stop()
      }
    })
  })
