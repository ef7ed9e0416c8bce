/**
 * Strangers who publish to a queue shared with NestJS, or with properties that only RabbitMQ has, do not affect
 * others.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, Log, until } from '@elysia-microservices/test-support'
import { type Channel, type ChannelModel, connect as connectDriver, type Options } from 'amqplib'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'

if (!isMissing('strangers on RabbitMQ', rabbitmqMissing())) {
  describe('strangers on RabbitMQ', () => {
    const log = new Log()
    let driver: ChannelModel
    let stranger: Channel
    let client: UntypedClient
    let stop: () => Promise<void>
    let refused: () => number
    before(async () => {
      const server = await sharedRabbitmq()
      const transport = rabbitmq({ url: server.url, nest: { queue: 'visited' } })
      const service = microservice({ name: 'visited', transport, logger: log.logger, drain: 0 })
        .message('echo', ({ data }) => data)
        .event('visited.seen', () => {})
      await service.listen()
      stop = () => service.stop()
      refused = () => (service.stats()[0] as unknown as { refused: number }).refused
      client = connect({ transport: rabbitmq({ url: server.url }), logger: log.logger })
      driver = await connectDriver(server.url)
      stranger = await driver.createChannel()
    })
    after(async () => {
      await client.close()
      await driver.close()
      await stop()
    })
    const publish = (exchange: string, key: string, body: string | Buffer, options: Options.Publish = {}) =>
      stranger.publish(exchange, key, Buffer.from(body), options)

    it('get no answer at addresses that they choose', async () => {
      const forbidden = [
        'victim',
        '_elysia',
        '_elysia.everyone',
        '_elysia.i.',
        '_elysia.i.x',
        '_elysia.n.victim\nx'
      ]
      await stranger.assertQueue('victim')
      for (const replyTo of forbidden)
        for (const [exchange, key] of [
          ['_elysia', 'echo'],
          ['', 'visited']
        ] as const)
          for (const body of [
            '{"pattern":"echo","data":1,"id":"1"}',
            '"stolen"',
            'no JSON',
            '&x 8 0 "stolen"'
          ])
            for (const type of exchange === '' ? ['echo', 'nothing'] : [undefined])
              publish(exchange, key, body, {
                replyTo,
                correlationId: '1',
                ...(type !== undefined && { type })
              })
      for (const messageId of forbidden) publish('_elysia.everyone', '', 'echo', { messageId })
      assert.equal(await client.request('echo', 'alive'), 'alive')
      await until('they are counted', () => refused() > 0)
      assert.equal((await stranger.checkQueue('victim')).messageCount, 0)
      await stranger.deleteQueue('victim')
    })

    it('are read whatever their messages contain', async () => {
      const properties: Options.Publish[] = [
        { headers: { a: { b: [1, null] }, 'x-death': [{ count: 5 }], 'x-elysia-failed': 'many' } },
        { type: '\u0000' },
        { type: 'a..b' },
        { type: '>' },
        { correlationId: 'x'.repeat(255), replyTo: '_elysia.i.aaaaaaaaaaaa' },
        { priority: 255, timestamp: 2 ** 40, messageId: '', appId: 'x', contentEncoding: 'gzip' }
      ]
      for (const options of properties)
        for (const body of [
          '',
          '{}',
          '[]',
          'null',
          '{"pattern":{"a":[]},"id":1}',
          '{"pattern":"*","data":1}',
          '\ufffd'
        ])
          for (const [exchange, key] of [
            ['_elysia', 'echo'],
            ['_elysia.events', 'visited.seen'],
            ['', 'visited']
          ] as const)
            publish(exchange, key, body, options)
      publish('_elysia', 'echo', Buffer.from([0xff, 0xfe, 0x00]), {
        replyTo: '_elysia.i.aaaaaaaaaaaa',
        correlationId: 'x'
      })
      publish('_elysia', 'echo', `${'['.repeat(100_000)}`)
      assert.equal(await client.request('echo', 'alive'), 'alive')
    })
  })
}
