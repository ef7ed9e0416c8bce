import assert from 'node:assert/strict'
import { it } from 'node:test'
import { rabbitmqFromNest } from './nest-options.ts'

const translated = (given: object) => rabbitmqFromNest(given, []).transport

it("the queue of NestJS's options is the one that is shared, by NestJS's own name if none is given", () => {
  assert.deepEqual(translated({}), { nest: { queue: 'default' } })
  assert.deepEqual(translated({ queue: 'q' }), { nest: { queue: 'q' } })
})

it('processes with queues of their own do not share events of this library either', () => {
  assert.deepEqual(translated({ queue: '' }), { events: 'every-process', nest: { queue: '' } })
})

it('the number of messages at a time counts only if they are acknowledged, as in NestJS', () => {
  const nest = { queue: 'q', prefetchCount: 3 }
  assert.deepEqual(translated({ ...nest, noAck: false })['nest'], { ...nest, noAck: false })
  assert.deepEqual(translated({ ...nest, noAck: true })['nest'], { queue: 'q', noAck: true })
  assert.deepEqual(translated(nest)['nest'], { queue: 'q' })
})

it('the address of the server may be given as NestJS takes it: whole, or in parts', () => {
  const urls = [
    'amqp://whole:1',
    { hostname: 'h', port: 7 },
    { username: 'a b', password: 'p:q' },
    { protocol: 'amqps', vhost: '/' },
    { vhost: 'v/w' }
  ]
  assert.deepEqual(translated({ urls })['urls'], [
    'amqp://whole:1',
    'amqp://h:7',
    'amqp://a%20b:p%3Aq@localhost',
    'amqps://localhost',
    'amqp://localhost/v%2Fw'
  ])
})

it('certificates and the name of the connection are taken out of the options of the socket', () => {
  const ofSocket = (socketOptions: object) => {
    const { tls, clientName } = translated({ socketOptions })
    return [tls, clientName]
  }
  const tls = { ca: 'c', cert: 'd', key: 'k', passphrase: 'p', pfx: 'x', servername: 's' }
  assert.deepEqual(ofSocket({ connectionOptions: { ...tls, noDelay: true } }), [tls, undefined])
  assert.deepEqual(ofSocket({ connectionOptions: { noDelay: true } }), [undefined, undefined])
  assert.deepEqual(ofSocket({ clientProperties: { connection_name: 'orders' } }), [undefined, 'orders'])
  assert.deepEqual(ofSocket({ clientProperties: { connectionName: 'orders' } }), [undefined, 'orders'])
})

it('an empty port is none, and a password needs a user', () => {
  const urls = [{ port: '' }, { password: 'p' }, { username: 'u' }]
  assert.deepEqual(translated({ urls })['urls'], [
    'amqp://localhost',
    'amqp://localhost',
    'amqp://u:@localhost'
  ])
})
