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
    const two = rabbitmqOptions({ url: ['amqp://me:secret@a:1/shop', 'amqps://b'] })
    assert.equal(two.where, 'a:1, b:5671')
  })

  it('name a queue shared with NestJS, and its exchange', () => {
    assert.deepEqual(rabbitmqOptions({ nest: { queue: 'q' } }).nest, {
      name: 'q',
      options: { durable: true },
      exchange: undefined,
      exchangeType: 'topic',
      noAck: true,
      prefetchCount: 0,
      persistent: false,
      noAssert: false
    })
    assert.equal(rabbitmqOptions({ nest: { queue: 'q', wildcards: true } }).nest?.exchange, 'q')
    const given = rabbitmqOptions({
      nest: { queue: 'q', exchange: 'e', queueOptions: { durable: false } }
    }).nest
    assert.deepEqual([given?.exchange, given?.options], ['e', { durable: false }])
  })

  it('name queues as RabbitMQ allows', () => {
    const longest = 'x'.repeat(255)
    assert.equal(rabbitmqOptions({ nest: { queue: longest } }).nest?.name, longest)
    for (const queue of [`${longest}x`, 'amq.x', '_elysia'])
      assert.throws(() => rabbitmqOptions({ nest: { queue } }), /options.nest.queue must be/)
    const fanout = { queue: '', exchange: 'e', exchangeType: 'fanout' } as const
    assert.deepEqual(
      [rabbitmqOptions({ nest: fanout }).nest?.name, rabbitmqOptions({ nest: fanout }).nest?.exchange],
      ['', 'e']
    )
  })

  it('take all that belongs to a shared queue, and its reply queues without one', () => {
    const given = {
      ...{ queue: 'q', noAck: false, prefetchCount: 65_535, persistent: true, noAssert: true },
      ...{ exchange: 'e', exchangeType: 'fanout' as const, queueOptions: { maxLength: 5 } }
    }
    const { queue: name, queueOptions, ...same } = given
    assert.deepEqual(rabbitmqOptions({ nest: given }).nest, {
      ...{ name, ...same },
      options: { durable: true, ...queueOptions }
    })
    const { nest, replyQueues } = rabbitmqOptions({ nest: { replyQueues: ['a', 'b'] } })
    assert.deepEqual([nest, replyQueues], [undefined, ['a', 'b']])
    assert.deepEqual(rabbitmqOptions({}).replyQueues, [])
  })

  for (const [given, message] of [
    [{ url: 'amqp://a', urls: 'amqp://a' }, /options.urls is another name of options.url/],
    [{ queue: 'q' }, /options.queue is not an option; .*give options.nest.queue/],
    [{ urls: 5 }, /options.urls must be/],
    [{ urls: [] }, /options.urls must be/],
    [{ urls: 'http://a' }, /options.urls must be/],
    [{ urls: ['amqp://a', 'secret'] }, /no address/],
    [{ exchangeType: 'topic' }, /options.exchangeType is not an option; .*give options.nest.exchangeType/],
    [
      { replyQueue: 'q' },
      /options.replyQueue is not an option; a client gets its answers in a queue of its own/
    ],
    [{ nest: { queue: '' } }, /options.nest.queue must be .*needs options.nest.exchange/],
    [
      { nest: { queue: 'q', exchangeType: 'fanout' } },
      /give the name of that exchange as options.nest.exchange/
    ],
    [
      { nest: { queue: 'q', exchange: 'e', exchangeType: 'direct' } },
      /must be 'topic' or 'fanout', but is 'direct'/
    ],
    [{ nest: { exchangeType: 'fanout' } }, /give options.nest.queue, too/],
    [{ nest: { queue: '_elysia.x' } }, /options.nest.queue must be/],
    [
      { nest: { queue: 'q', queueOptions: { durabel: true } } },
      /did you mean options.nest.queueOptions.durable/
    ],
    [{ nest: { wildcards: true } }, /give options.nest.queue, too/],
    [{ nest: { exchange: 'e' } }, /give options.nest.queue, too/],
    [{ nest: { queue: 'q', exchange: 5 } }, /options.nest.exchange must be/],
    [{ nest: { queue: 'q', wildcards: 'yes' } }, /options.nest.wildcards must be/],
    [{ nest: { noAck: false } }, /give options.nest.queue, too/],
    [{ nest: { queue: 'q', noAck: 'no' } }, /options.nest.noAck must be/],
    [{ nest: { queue: 'q', prefetchCount: 5 } }, /give noAck: false, too/],
    [{ nest: { queue: 'q', noAck: false, prefetchCount: -1 } }, /options.nest.prefetchCount must be/],
    [{ nest: { queue: 'q', noAck: false, prefetchCount: 65_536 } }, /options.nest.prefetchCount must be/],
    [{ nest: { exchangeType: 'direct', queue: 'q' } }, /options.nest.exchangeType must be/],
    [{ nest: { persistent: true } }, /options.nest.persistent says .*give options.nest.queue, too/],
    [{ nest: { noAssert: true } }, /options.nest.noAssert says .*give options.nest.queue, too/],
    [{ nest: { queueOptions: {} } }, /options.nest.queueOptions says .*give options.nest.queue, too/],
    [{ nest: { replyQueues: ['a', 7] } }, /options.nest.replyQueues must be/],
    [{ events: 'some' }, /options.events must be/],
    [{ nest: { replyQueues: 'a' } }, /options.nest.replyQueues must be/],
    [{ clientName: 5 }, /options.clientName must be/],
    [{ connectionName: 'a' }, /did you mean options.clientName/],
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
