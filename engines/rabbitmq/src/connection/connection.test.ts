/** A connection over a server inside the process: the queues of a service, the queue shared with NestJS, and losses. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Carried, CarrierListener, Subject } from '@elysia-microservices/engine'
import { type RabbitmqOptions, rabbitmqOptions } from '../options/options.ts'
import { rabbitmqBy } from '../rabbitmq.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { CALLS, queueOfService } from '../words/names.ts'
import { RabbitConnection } from './rabbit-connection.ts'

let server: FakeRabbitServer
let happened: string[]
const opened: RabbitConnection[] = []

async function connect(options: RabbitmqOptions = {}): Promise<RabbitConnection> {
  const listener: CarrierListener = {
    lost: () => happened.push('lost'),
    restored: () => happened.push('restored'),
    halted: (reason) => happened.push(`halted ${reason}`),
    refused: (address, operation) => happened.push(`refused ${operation} ${address}`),
    unpublished() {},
    failed: (error) => happened.push(`failed ${(error as Error).message}`),
    ended() {}
  }
  const checked = rabbitmqOptions({ url: 'amqp://127.0.0.1', ...options })
  const connection = await RabbitConnection.open(server.driver, checked, undefined, listener)
  opened.push(connection)
  return connection
}

async function settled(): Promise<void> {
  for (let quiet = 0; quiet < 5; ) {
    await new Promise(setImmediate)
    quiet = [...server.channels].some(({ isBusy }) => isBusy) ? 0 : quiet + 1
  }
}

const subject = (address: string, queue?: string) =>
  ({ address, queue, isExact: true, isEvent: false }) as unknown as Subject

beforeEach(() => {
  server = new FakeRabbitServer()
  happened = []
})
afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close()
})

describe('a connection to RabbitMQ', () => {
  it('tells the sender of a request that nobody takes it, at its own address', async () => {
    const connection = await connect()
    const inbox = connection.newInbox()
    const heard: Carried[] = []
    connection.listen(inbox, (message) => void heard.push(message))
    await settled()
    connection.publish('nobody.there', '{}', `${inbox}7`)
    await settled()
    assert.deepEqual(
      heard.map(({ address, isNobody }) => [address, isNobody]),
      [[`${inbox}7`, true]]
    )
  })

  it('carries a request to the queue of its service, and the answer to its inbox', async () => {
    const [service, client] = [await connect(), await connect()]
    await service.take([subject('p', 's')], (_subject, { words, reply }) =>
      service.publish(reply, `answer to ${words}`)
    )
    const inbox = client.newInbox()
    const heard: string[] = []
    client.listen(inbox, ({ address, words }) => void heard.push(`${address} ${words}`))
    await settled()
    client.publish('p', 'question', `${inbox}7`)
    await settled()
    assert.deepEqual(heard, [`${inbox}7 answer to question`])
    await service.leave()
    assert.equal(server.queues.has(queueOfService('s', 'p')), false)
  })

  it('declares durable queues at servers that may refuse transient ones', async () => {
    for (const [version, isDurable] of [
      ['3.10.8', false],
      ['4.1.0', true],
      ['unknown', true]
    ] as const) {
      server.version = version
      const connection = await connect()
      await connection.take([subject('p', version)], () => {})
      assert.equal(server.queues.get(queueOfService(version, 'p'))?.settings.durable, isDurable, version)
    }
  })

  it('holds messages while the server is lost, and has its queues again afterwards', async () => {
    const connection = await connect()
    const seen: string[] = []
    await connection.take([subject('p', 's')], (_subject, { words }) => void seen.push(String(words)))
    server.stop()
    connection.publish('p', 'held')
    server.start()
    while (seen.length === 0) await new Promise(setImmediate)
    assert.deepEqual(seen, ['held'])
    assert.deepEqual(happened, ['lost', 'restored'])
    assert.equal(server.queues.get(queueOfService('s', 'p'))?.consumers.length, 1)
  })

  it('tells for which address the server has refused to publish, and goes on', async () => {
    const connection = await connect()
    server.forbidden.add(CALLS)
    connection.publish('secret', '{}')
    while (!happened.includes('lost')) await new Promise(setImmediate)
    server.forbidden.clear()
    while (!happened.includes('restored')) await new Promise(setImmediate)
    assert.deepEqual(happened, ['refused publish secret', 'lost', 'restored'])
  })

  it('lets senders wait while its server has much that it has not taken, and go on then', async () => {
    const connection = await connect()
    let resumed = 0
    const sender = { resume: () => void resumed++ }
    assert.equal(connection.hasRoomFor(sender), true)
    server.suspend()
    connection.emit('p', 'x'.repeat(1024 * 1024))
    const hadRoom = connection.hasRoomFor(sender)
    server.resume()
    assert.equal(hadRoom, false)
    while (resumed === 0) await new Promise(setImmediate)
    assert.equal(connection.hasRoomFor(sender), true)
  })

  it('lets senders go on that have waited for a server that was lost', async () => {
    const connection = await connect()
    let resumed = 0
    server.stop()
    assert.equal(connection.hasRoomFor({ resume: () => void resumed++ }), false)
    server.start()
    while (resumed === 0) await new Promise(setImmediate)
  })

  it('closes when its server has taken what was sent, and tells senders from then on that it hears nothing', async () => {
    const [service, client] = [await connect(), await connect()]
    const inbox = client.newInbox()
    client.listen(inbox, () => {})
    await client.flush()
    const back: unknown[] = []
    const own = service.newInbox()
    service.listen(own, ({ isNobody }) => void back.push(isNobody))
    const seen: string[] = []
    await service.take([subject('p', 's')], (_subject, { words }) => void seen.push(String(words)))
    client.publish('p', 'last')
    await client.close()
    service.publish(`${inbox}1`, 'too late', `${own}1`)
    await settled()
    assert.deepEqual([seen, back], [['last'], [true]])
  })

  it('sends no durable event to other handlers for a moment after it was seen that there are none', async (t) => {
    const connection = await connect()
    const sent: string[] = []
    const publish = server.publish.bind(server)
    server.publish = (exchange, key, ...more) => {
      if (exchange === CALLS) sent.push(key)
      return publish(exchange, key, ...more)
    }
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const tell = async (address: string) => {
      connection.tell(address, '{}', {})
      await settled()
    }
    for (const address of ['p', 'p', 'q']) await tell(address)
    now += 99
    await tell('p')
    assert.deepEqual(sent, ['p', 'q'])
    now += 1
    await tell('p')
    assert.deepEqual(sent, ['p', 'q', 'p'])
  })

  it('passes on that the server takes no messages, and why', async () => {
    await connect()
    server.halt('low on memory')
    server.halt(undefined)
    assert.deepEqual(happened, ['halted low on memory', 'halted undefined'])
  })

  it('says in the errors of calls and of published events why the server takes none', async () => {
    const client = rabbitmqBy(server.driver, { urls: 'amqp://127.0.0.1' }).client({
      logger: { error() {}, warn() {} },
      timeout: 50,
      dispatcher: undefined
    })
    await client.connect()
    server.halt('low on memory')
    server.suspend()
    const halted = /\(?RabbitMQ takes no messages at the moment \(low on memory\)/
    await Promise.all([
      assert.rejects(client.request('p', 1), { name: 'TimeoutError', message: halted }),
      assert.rejects(client.durable!.publish('p', 1), { name: 'TimeoutError', message: halted })
    ])
    server.halt(undefined)
    server.resume()
    await client.close()
  })
})

describe('the queue shared with NestJS', () => {
  const publish = (pattern: string, more = {}) =>
    server.publish('', 'nest', Buffer.from(JSON.stringify({ pattern, data: 1 })), more)
  const waiting = () => server.queues.get('nest')?.messages.length

  it('keeps a message until its handler has ended, and gives it to nobody else before', async () => {
    const service = await connect({ nest: { queue: 'nest', noAck: false, prefetchCount: 1 } })
    const taken: Carried[] = []
    await service.take([subject('p')], (_subject, message) => void taken.push(message))
    publish('p')
    publish('p')
    await settled()
    assert.deepEqual([taken.length, waiting()], [1, 1])
    taken[0]?.ended?.()
    await settled()
    assert.deepEqual([taken.length, waiting()], [2, 0])
    await service.link.close()
    assert.equal(waiting(), 1, 'the second one comes back')
  })

  it('drops an event without a handler, and says so', async () => {
    const service = await connect({ nest: { queue: 'nest', noAck: false } })
    await service.take([subject('p')], () => assert.fail('not its handler'))
    publish('other')
    await settled()
    assert.match(happened[0] ?? '', /^failed This service has no handler for the event 'other'/)
    await service.link.close()
    assert.equal(waiting(), 0)
  })

  it('answers a request without a handler, as NestJS does', async () => {
    const service = await connect({ nest: { queue: 'nest', replyQueues: ['answers'] } })
    await service.take([subject('p')], () => {})
    server.declareQueue('answers', {}, service)
    const packet = Buffer.from(JSON.stringify({ pattern: 'other', data: 1, id: '7' }))
    server.publish('', 'nest', packet, { replyTo: 'answers', correlationId: '7' })
    await settled()
    const [answer] = server.queues.get('answers')?.messages ?? []
    assert.equal(answer?.properties.correlationId, '7')
    assert.match(String(answer?.content), /There is no matching message handler/)
  })

  it('is bound by the patterns of the service to an exchange with wildcards', async () => {
    const service = await connect({ nest: { queue: 'nest', wildcards: true } })
    const taken: string[] = []
    await service.take([subject('p.q')], (_subject, { address }) => void taken.push(address))
    const outcome = (key: string) =>
      server.publish('nest', key, Buffer.from(JSON.stringify({ pattern: key, data: 1 })), {})
    assert.deepEqual([outcome('p.q'), outcome('p.x')], ['stored', 'untaken'])
    await settled()
    assert.deepEqual(taken, ['p.q'])
  })

  it('is one queue for each process, which gets every message of a fanout exchange', async () => {
    const nest = { queue: '', exchange: 'all', exchangeType: 'fanout', noAck: false } as const
    const taken: string[] = []
    for (const name of ['a', 'b']) {
      const service = await connect({ nest })
      await service.take([subject('p')], () => void taken.push(name))
    }
    const client = await connect({ nest })
    client.emit('p', JSON.stringify({ pattern: 'p', data: 1 }))
    await client.flush()
    await settled()
    assert.deepEqual(taken, ['a', 'b'])
  })

  it('keeps events for a service that starts later: a client declares it before the first one', async () => {
    const client = await connect({ nest: { queue: 'nest' } })
    for (const n of [1, 2]) client.emit('p', JSON.stringify({ pattern: 'p', data: n }))
    await client.flush()
    assert.equal(waiting(), 2)
    const service = await connect({ nest: { queue: 'nest' } })
    const taken: string[] = []
    await service.take([subject('p')], (_subject, { words }) => void taken.push(String(words)))
    await settled()
    assert.deepEqual(
      taken.map((words) => JSON.parse(words).data),
      [1, 2]
    )
  })

  it('fails an event that no queue takes, because the client may not declare it', async () => {
    server.forbidden.add('nest')
    const client = await connect({ nest: { queue: 'nest' } })
    client.emit('p', '{}')
    await assert.rejects(client.flush(), {
      code: 'NOT_STORED',
      message: /no queue 'nest'.*start the service/
    })
    server.forbidden.delete('nest')
    server.declareQueue('nest', { durable: false }, client)
    client.emit('p', '{}')
    await client.flush()
    assert.equal(waiting(), 1, 'a queue that is declared otherwise takes events, too')
  })

  it('is asked for once more after a loss, and an event that was lost with it is no failure of later ones', async () => {
    const client = await connect({ nest: { queue: 'nest' } })
    server.suspend()
    client.emit('p', '{}')
    server.cut()
    server.resume()
    while (!happened.includes('restored')) await new Promise(setImmediate)
    client.emit('p', '{}')
    await client.flush()
    assert.equal(waiting(), 1)
  })

  it('is looked for, and not declared, by a client with `noAssert`', async () => {
    const client = await connect({ nest: { queue: 'nest', noAssert: true } })
    client.emit('p', '{}')
    await assert.rejects(client.flush(), { code: 'NOT_STORED' })
    assert.equal(server.queues.has('nest'), false)
    server.declareQueue('nest', { durable: false }, client)
    client.emit('p', '{}')
    await client.flush()
    assert.equal(waiting(), 1)
  })

  it('is declared again by a client whose server has come back without it', async () => {
    const client = await connect({ nest: { queue: 'nest' } })
    client.emit('p', '{}')
    await client.flush()
    server.stop()
    server.deleteQueue('nest')
    server.start()
    while (!happened.includes('restored')) await new Promise(setImmediate)
    client.emit('p', '{}')
    await client.flush()
    assert.equal(waiting(), 1)
  })

  it('is consumed no more by a service that stops, also when its server is lost meanwhile', async () => {
    const service = await connect({ nest: { queue: 'nest', noAck: false } })
    await service.take([subject('p')], () => assert.fail('It has left'))
    await service.leave()
    server.stop()
    server.start()
    while (!happened.includes('restored')) await new Promise(setImmediate)
    publish('p')
    await settled()
    assert.deepEqual([waiting(), server.queues.get('nest')?.consumers.length], [1, 0])
  })

  it('is asked for its consumers again after a loss', async () => {
    const service = await connect({ nest: { queue: 'nest' } })
    const taken: Carried[] = []
    await service.take([subject('p')], (_subject, message) => void taken.push(message))
    const client = await connect({ nest: { queue: 'nest' } })
    const inbox = client.newInbox()
    const heard: unknown[] = []
    client.listen(inbox, ({ isNobody }) => void heard.push(isNobody))
    const request = JSON.stringify({ pattern: 'p', data: 1 })
    client.publish('p', request, `${inbox}1`)
    await settled()
    assert.equal(taken.length, 1)
    await service.close()
    server.stop()
    server.start()
    while (!happened.includes('restored')) await new Promise(setImmediate)
    client.publish('p', request, `${inbox}2`)
    await settled()
    assert.deepEqual([heard, waiting()], [[true], 0])
  })

  it('is sent no request while nobody consumes it', async () => {
    const client = await connect({ nest: { queue: 'nest' } })
    server.declareQueue('nest', { durable: true }, client)
    const inbox = client.newInbox()
    const heard: unknown[] = []
    client.listen(inbox, ({ isNobody }) => void heard.push(isNobody))
    await settled()
    client.publish('p', '{}', `${inbox}1`)
    await settled()
    assert.deepEqual([heard, waiting()], [[true], 0])
    const service = await connect({ nest: { queue: 'nest' } })
    const taken: Carried[] = []
    await service.take([subject('p')], (_subject, message) => void taken.push(message))
    client.publish('p', JSON.stringify({ pattern: 'p', data: 1 }), `${inbox}2`)
    await settled()
    assert.deepEqual(
      taken.map(({ reply }) => reply),
      [`${inbox}2`]
    )
  })
})
