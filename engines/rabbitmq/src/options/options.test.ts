import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type RabbitmqOptions, rabbitmqOptions } from './options.ts'

describe('options of rabbitmq()', () => {
  it('have defaults, and give the address without credentials for errors', () => {
    const { urls, where, nest, events } = rabbitmqOptions({})
    assert.deepEqual(
      [urls, where, nest, events],
      [['amqp://localhost'], 'localhost:5672', undefined, 'one-process']
    )
    const two = rabbitmqOptions({ urls: ['amqp://me:secret@a:1/shop', 'amqps://b'] })
    assert.equal(two.where, 'a:1, b:5671')
  })

  it('name a queue shared with NestJS, and its exchange', () => {
    assert.deepEqual(rabbitmqOptions({ queue: 'q' }).nest, {
      name: 'q',
      options: { durable: true },
      exchange: undefined,
      noAck: true,
      prefetchCount: 0
    })
    assert.equal(rabbitmqOptions({ queue: 'q', wildcards: true }).nest?.exchange, 'q')
    const given = rabbitmqOptions({ queue: 'q', exchange: 'e', queueOptions: { durable: false } }).nest
    assert.deepEqual([given?.exchange, given?.options], ['e', { durable: false }])
  })

  for (const [given, message] of [
    [{ url: 'a' }, /did you mean options.urls/],
    [{ urls: 5 }, /options.urls must be/],
    [{ urls: [] }, /options.urls must be/],
    [{ urls: 'http://a' }, /options.urls must be/],
    [{ urls: ['amqp://a', 'secret'] }, /no address/],
    [{ exchangeType: 'topic' }, /options.exchangeType is not an option; .*give options.wildcards/],
    [
      { replyQueue: 'q' },
      /options.replyQueue is not an option; a client gets its answers in a queue of its own/
    ],
    [{ queue: '' }, /options.queue must be/],
    [{ queue: '_elysia.x' }, /options.queue must be/],
    [{ queue: 'q', queueOptions: { durabel: true } }, /did you mean options.queueOptions.durable/],
    [{ wildcards: true }, /give options.queue, too/],
    [{ exchange: 'e' }, /give options.queue, too/],
    [{ queue: 'q', exchange: 5 }, /options.exchange must be/],
    [{ queue: 'q', wildcards: 'yes' }, /options.wildcards must be/],
    [{ noAck: false }, /give options.queue, too/],
    [{ queue: 'q', noAck: 'no' }, /options.noAck must be/],
    [{ queue: 'q', prefetchCount: 5 }, /give noAck: false, too/],
    [{ queue: 'q', noAck: false, prefetchCount: -1 }, /options.prefetchCount must be/],
    [{ events: 'some' }, /options.events must be/],
    [{ replyQueues: 'a' }, /options.replyQueues must be/],
    [{ connectionName: 5 }, /options.connectionName must be/],
    [{ tls: { rejectUnauthorized: false } }, /options.tls/],
    [{ connectTimeout: 1 }, /options.connectTimeout must be/],
    [{ heartbeat: 1 }, /options.heartbeat must be/]
  ] as const)
    it(`refuse ${JSON.stringify(given)}`, () => {
      assert.throws(() => rabbitmqOptions(given as unknown as RabbitmqOptions), {
        name: 'OptionError',
        message
      })
    })
})
