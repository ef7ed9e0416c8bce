/** The promises of any driver and server on which the package relies. The same cases run over the fake and over RabbitMQ. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, it } from 'node:test'
import {
  CHANNEL_CLOSED,
  type Driver,
  type DriverChannel,
  type DriverConnection,
  type DriverListener,
  type Properties,
  type QueueSettings,
  type Received
} from '../driver.ts'

/** A server for the cases. */
export interface ServerForCases {
  readonly driver: Driver
  readonly url: string
  /** Ends the server at once, and starts it again. */
  restart(): Promise<void>
}

const OWN: QueueSettings = { exclusive: true, autoDelete: true, durable: false }
const SAFE: QueueSettings = {
  durable: true,
  arguments: { 'x-queue-type': 'quorum', 'x-overflow': 'reject-publish', 'x-delivery-limit': 2 ** 31 - 1 }
}
const SINGLE: QueueSettings = {
  durable: true,
  arguments: { ...(SAFE.arguments as object), 'x-single-active-consumer': true }
}

/** A list of all that has arrived or happened, and a way to wait for it. */
class Seen<Value> {
  readonly all: Value[] = []
  #changed: (() => void)[] = []

  readonly add = (value: Value): void => {
    this.all.push(value)
    for (const resolve of this.#changed.splice(0)) resolve()
  }

  /** Resolves when so many have been seen. */
  async until(count: number): Promise<readonly Value[]> {
    while (this.all.length < count) await new Promise<void>((resolve) => this.#changed.push(resolve))
    return this.all
  }
}

const textsOf = (messages: readonly (Received | null)[]) =>
  messages.map((message) => message?.content.toString())

/** Declares the cases. @param title the server's name @param open starts a server, or returns one that runs */
export function driverCases(title: string, open: () => Promise<ServerForCases>): void {
  describe(`a driver of RabbitMQ over ${title}`, () => {
    const opened: DriverConnection[] = []
    const left: string[] = []
    afterEach(async () => {
      const { driver, url } = await open()
      const connection = await driver.connect(url, CONNECT, IGNORED)
      const channel = await connection.openChannel(false)
      for (const name of left.splice(0)) await channel.deleteQueue(name)
      for (const one of [...opened.splice(0), connection]) await one.close()
    })

    const CONNECT = { tls: undefined, connectTimeout: 10_000, heartbeat: 10_000, name: 'cases' }
    const IGNORED: DriverListener = { lost() {}, halted() {} }

    async function connect(listener = IGNORED): Promise<DriverConnection> {
      const { driver, url } = await open()
      const connection = await driver.connect(url, CONNECT, listener)
      opened.push(connection)
      return connection
    }

    const newChannel = async (isConfirmed = true) => (await connect()).openChannel(isConfirmed)

    /** A new queue. */
    async function queue(channel: DriverChannel, settings: QueueSettings = OWN): Promise<string> {
      const name = `cases.${randomUUID()}`
      await channel.declareQueue(name, settings)
      if (settings.exclusive !== true) left.push(name)
      return name
    }

    const told = (
      channel: DriverChannel,
      exchange: string,
      key: string,
      text: string,
      more: Properties = {}
    ) =>
      new Promise<void>((resolve, reject) =>
        channel.publish(exchange, key, Buffer.from(text), { persistent: true, ...more }, (error) =>
          error === null || error === undefined ? resolve() : reject(error as Error)
        )
      )

    /** Resolves with the failure with which a channel is closed. */
    const failureOf = (channel: DriverChannel) =>
      new Promise<string>((resolve) => channel.whenClosed(() => resolve(String(channel.failure?.message))))

    it('leads messages by the bindings of topic exchanges, through other exchanges, once to each queue', async () => {
      const channel = await newChannel()
      const [from, to] = [`cases.${randomUUID()}`, `cases.${randomUUID()}`]
      for (const name of [from, to]) await channel.declareExchange(name, 'topic')
      await channel.bindExchange(to, from, '#')
      const bound = { 'a.b': ['a.b', '*.b'], '*.*.#': ['*.*.#'], '#': ['#'], 'a.#.z': ['a.#.z'] }
      const names = new Map<string, string>()
      for (const [title, keys] of Object.entries(bound)) {
        const name = await queue(channel)
        names.set(title, name)
        for (const key of keys) await channel.bindQueue(name, to, key)
      }
      for (const key of ['a.b', 'a', 'a.z', 'a.b.z']) await told(channel, from, key, key)
      const found: Record<string, string[]> = {}
      for (const [title, name] of names) {
        found[title] = []
        for (let one = await channel.get(name); one !== undefined; one = await channel.get(name))
          found[title].push(one.fields.routingKey)
      }
      assert.deepEqual(found, {
        'a.b': ['a.b'],
        '*.*.#': ['a.b', 'a.z', 'a.b.z'],
        '#': ['a.b', 'a', 'a.z', 'a.b.z'],
        'a.#.z': ['a.z', 'a.b.z']
      })
    })

    it('gives back a mandatory message without a queue before it confirms it', async () => {
      const channel = await newChannel()
      const happened: string[] = []
      channel.whenReturned(({ content, fields, properties: { messageId } }) =>
        happened.push(`returned ${content} ${fields.routingKey} ${messageId}`)
      )
      await told(channel, '', 'cases.nowhere', 'x', { mandatory: true, messageId: 'id' })
      happened.push('confirmed')
      await told(channel, '', 'cases.nowhere', 'y')
      assert.deepEqual(happened, ['returned x cases.nowhere id', 'confirmed'])
    })

    it('delivers no more than its prefetch, and the next ones after an acknowledgement of several', async () => {
      const channel = await newChannel()
      const name = await queue(channel, SAFE)
      for (const text of ['0', '1', '2', '3', '4']) await told(channel, '', name, text)
      const seen = new Seen<Received | null>()
      await channel.prefetch(2)
      await channel.consume(name, seen.add, false)
      await seen.until(2)
      await channel.checkQueue(name)
      assert.equal(seen.all.length, 2)
      channel.acknowledge(seen.all[1]?.fields.deliveryTag as number, true)
      await seen.until(4)
      assert.deepEqual(textsOf(seen.all), ['0', '1', '2', '3'])
    })

    it('delivers again what was given back, at its old place, and counts it', async () => {
      const channel = await newChannel()
      const name = await queue(channel, SAFE)
      for (const text of ['0', '1']) await told(channel, '', name, text)
      const seen = new Seen<Received | null>()
      await channel.prefetch(1)
      await channel.consume(name, seen.add, false)
      const [first] = await seen.until(1)
      channel.giveBack(first?.fields.deliveryTag as number)
      const [, again] = await seen.until(2)
      assert.equal(again?.content.toString(), '0')
      assert.deepEqual(again?.properties.headers, { 'x-delivery-count': 1 })
      channel.acknowledge(again?.fields.deliveryTag as number)
      assert.deepEqual(textsOf(await seen.until(3)), ['0', '0', '1'])
    })

    it('drops what is rejected', async () => {
      const channel = await newChannel()
      const name = await queue(channel)
      for (const text of ['0', '1']) await told(channel, '', name, text)
      const first = await channel.get(name)
      channel.reject(first?.fields.deliveryTag as number)
      assert.equal((await channel.get(name))?.content.toString(), '1')
      assert.equal(await channel.get(name), undefined)
    })

    it('gives the messages of a closed channel to another one, in their order', async () => {
      const connection = await connect()
      const [one, other] = [await connection.openChannel(true), await connection.openChannel(true)]
      const name = await queue(one, SAFE)
      for (const text of ['0', '1', '2']) await told(one, '', name, text)
      const seen = new Seen<Received | null>()
      await one.consume(name, seen.add, false)
      await seen.until(3)
      await one.close()
      const later = new Seen<Received | null>()
      await other.consume(name, later.add, false)
      assert.deepEqual(textsOf(await later.until(3)), ['0', '1', '2'])
    })

    it('puts messages that come back behind those that came back before, and before the others', async () => {
      const connection = await connect()
      const [one, other, last] = [
        await connection.openChannel(true),
        await connection.openChannel(true),
        await connection.openChannel(true)
      ]
      const name = await queue(last, SAFE)
      for (const text of ['0', '1', '2', '3']) await told(last, '', name, text)
      const receive = async (channel: DriverChannel, prefetch: number) => {
        const seen = new Seen<Received | null>()
        await channel.prefetch(prefetch)
        await channel.consume(name, seen.add, false)
        return textsOf(await seen.until(prefetch))
      }
      assert.deepEqual(await receive(one, 3), ['0', '1', '2'])
      await one.close()
      assert.deepEqual(await receive(other, 1), ['0'])
      await other.close()
      assert.deepEqual(await receive(last, 4), ['1', '2', '0', '3'])
    })

    it('has one active consumer of a queue, until its channel is closed', async () => {
      const connection = await connect()
      const [one, other] = [await connection.openChannel(true), await connection.openChannel(true)]
      const name = await queue(one, SINGLE)
      const [first, second] = [new Seen<Received | null>(), new Seen<Received | null>()]
      await one.consume(name, first.add, false)
      await other.consume(name, second.add, false)
      for (const text of ['0', '1']) await told(one, '', name, text)
      await first.until(2)
      assert.deepEqual(second.all, [])
      await one.close()
      assert.deepEqual(textsOf(await second.until(2)), ['0', '1'])
    })

    it('delivers all that was on its way before a consumer has ended, and nothing afterwards', async () => {
      const channel = await newChannel()
      const name = await queue(channel, SAFE)
      const seen = new Seen<Received | null>()
      const tag = await channel.consume(name, seen.add, true)
      await told(channel, '', name, '0')
      await seen.until(1)
      await channel.cancel(tag)
      await told(channel, '', name, '1')
      const { messageCount, consumerCount } = await channel.checkQueue(name)
      assert.deepEqual([messageCount, consumerCount], [1, 0])
      await channel.purgeQueue(name)
      assert.equal((await channel.checkQueue(name)).messageCount, 0)
      assert.deepEqual(textsOf(seen.all), ['0'])
    })

    it('tells a consumer that its queue was deleted', async () => {
      const channel = await newChannel()
      const name = await queue(channel, SAFE)
      const seen = new Seen<Received | null>()
      await channel.consume(name, seen.add, true)
      await channel.deleteQueue(name)
      assert.deepEqual(await seen.until(1), [null])
    })

    it('unbinds: messages of a later time come back', async () => {
      const channel = await newChannel()
      const exchange = `cases.${randomUUID()}`
      await channel.declareExchange(exchange, 'direct')
      const name = await queue(channel)
      await channel.bindQueue(name, exchange, 'key')
      const returned = new Seen<string>()
      channel.whenReturned(({ content }) => returned.add(content.toString()))
      await told(channel, exchange, 'key', '0', { mandatory: true })
      await channel.unbindQueue(name, exchange, 'key')
      await told(channel, exchange, 'key', '1', { mandatory: true })
      assert.deepEqual(await returned.until(1), ['1'])
    })

    it('deletes a queue of one consumer with its consumer, and keeps it from other connections', async () => {
      const one = await newChannel()
      const name = await queue(one)
      const other = await newChannel()
      await assert.rejects(other.checkQueue(name), /405|RESOURCE.LOCKED/)
      const tag = await one.consume(name, () => {}, true)
      await one.cancel(tag)
      await assert.rejects(one.checkQueue(name), /404|NOT.FOUND/)
    })

    it('closes a channel for what it refuses, says why, and leaves others open', async () => {
      const connection = await connect()
      const other = await connection.openChannel(true)
      const name = await queue(other, SAFE)
      const cases: [string, RegExp, (channel: DriverChannel) => unknown][] = [
        ['no queue', /404|NOT.FOUND/, (channel) => channel.checkQueue('cases.nothing')],
        ['no exchange', /404|NOT.FOUND/, (channel) => channel.checkExchange('cases.nothing')],
        ['other settings', /406|PRECONDITION/, (channel) => channel.declareQueue(name, SINGLE)],
        ['unknown tag', /406|PRECONDITION/, (channel) => channel.acknowledge(1_000)],
        [
          'publishing',
          /404|NOT.FOUND/,
          (channel) => channel.publish('cases.nothing', '', Buffer.from(''), {})
        ]
      ]
      for (const [what, why, act] of cases) {
        const channel = await connection.openChannel(true)
        const failure = failureOf(channel)
        const answer = act(channel)
        if (answer !== undefined) await assert.rejects(answer as Promise<unknown>, why, what)
        assert.match(await failure, why, what)
        await assert.rejects(channel.checkQueue(name), { name: CHANNEL_CLOSED }, what)
        assert.throws(() => channel.publish('', name, Buffer.from(''), {}), { name: CHANNEL_CLOSED }, what)
      }
      await other.checkQueue(name)
    })

    it('refuses what a full queue cannot take', async () => {
      const channel = await newChannel()
      const name = await queue(channel, {
        ...OWN,
        maxLength: 1,
        arguments: { 'x-overflow': 'reject-publish' }
      })
      await told(channel, '', name, '0')
      await assert.rejects(told(channel, '', name, '1'))
      await channel.checkQueue(name)
    })

    it('tells that the server is lost; what is durable and persistent stays', async () => {
      const server = await open()
      const lost = new Seen<true>()
      const connection = await connect({ lost: () => lost.add(true), halted() {} })
      const channel = await connection.openChannel(true)
      const settings = { durable: true }
      const name = await queue(channel, settings)
      const own = await queue(channel)
      await told(channel, '', name, 'stays')
      await told(channel, '', name, 'goes', { persistent: false })
      const closed = failureOf(channel)
      await server.restart()
      await lost.until(1)
      await closed
      await assert.rejects(channel.checkQueue(name), { name: CHANNEL_CLOSED })
      const again = await newChannel()
      assert.equal((await again.get(name))?.content.toString(), 'stays')
      assert.equal(await again.get(name), undefined)
      await assert.rejects(again.checkQueue(own), /404|NOT.FOUND/)
    })
  })
}
