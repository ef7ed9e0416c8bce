/** The driver over NATS's own, against a server that keeps what it is told; tests/nats/driver.test.ts has a real server. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { headers as newHeaders } from '@nats-io/transport-node'
import type { DriverConnection } from '../driver.ts'
import { natsOptions } from '../options/options.ts'
import { WireServer } from '../testing/wire-server.ts'
import { natsIo } from './nats-io.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1))
}

describe("NATS's own driver", () => {
  let server: WireServer
  let told: string[]
  let connection: DriverConnection | undefined
  beforeEach(async () => {
    server = await new WireServer().listen()
    told = []
  })
  afterEach(async () => {
    await connection?.close()
    await server.close()
  })

  async function connect(more: object = {}, to = server) {
    const url = `nats://127.0.0.1:${to.port}`
    const { connection: options } = natsOptions({ url, reconnectTimeWait: 1, reconnectJitter: 0 })
    connection = await natsIo.connect(
      { ...options, ...more },
      {
        lost: () => void told.push('lost'),
        restored: () => void told.push('restored'),
        refused: (subject, operation) => void told.push(`${operation} ${subject}`),
        ended: (error) => void told.push(error === undefined ? 'ended' : `ended: ${error.name}`)
      }
    )
    return connection
  }

  it('publishes with and without headers and a reply address, and subscribes alone or in a queue', async () => {
    const one = await connect()
    const { length } = server.lines
    const headers = newHeaders()
    headers.set('x', '1')
    const heard: string[] = []
    one.subscribe('a', undefined, (_, { subject, data, reply }) => {
      heard.push([subject, new TextDecoder().decode(data), reply].join(' '))
    })
    one.subscribe('b', 'queue', () => {})
    one.publish('c', bytes('1'), undefined, undefined)
    one.publish('c', bytes('2'), 'its.reply', undefined)
    one.publish('c', bytes('3'), undefined, headers)
    one.publish('c', bytes('4'), 'its.reply', headers)
    await one.flush()
    const said = 'NATS/1.0\r\nx: 1\r\n\r\n'
    assert.deepEqual(server.lines.slice(length), [
      'SUB a 1',
      'SUB b queue 2',
      'PUB c 1 1',
      'PUB c its.reply 1 2',
      `HPUB c 18 19 ${said}3`,
      `HPUB c its.reply 18 19 ${said}4`
    ])
    server.say('MSG a 1 r 2\r\nhi')
    await until(() => heard.length === 1)
    assert.deepEqual(heard, ['a hi r'])
  })

  it('says where it is, and how large a message may be: 1 MiB if the server does not say', async () => {
    const one = await connect()
    assert.deepEqual([one.server, one.maxPayload], [`127.0.0.1:${server.port}`, 1_000])
    await one.close()
    const other = await new WireServer({ headers: true, version: '2.12.0' }).listen()
    assert.equal((await connect({}, other)).maxPayload, 1_048_576)
    await connection?.close()
    await other.close()
  })

  it('tells that its server is lost and back, and what the server refuses', async () => {
    const one = await connect()
    one.subscribe('a', undefined, () => {})
    await one.flush()
    server.cut()
    await until(() => told.length === 2)
    await until(() => server.lines.filter((line) => line === 'SUB a 1').length === 2)
    server.say(`-ERR 'Permissions Violation for Publish to "b"'`)
    server.say(`-ERR 'Permissions Violation for Subscription to "c"'`)
    await until(() => told.length === 4)
    assert.deepEqual(told, ['lost', 'restored', 'publish b', 'listen c'])
  })

  it('tells once that it has ended, and why, unless it was closed', async () => {
    const one = await connect()
    await one.close()
    await until(() => told.length > 0)
    assert.deepEqual(told, ['ended'])
    await connect({ maxReconnectAttempts: 1 })
    await server.close()
    await until(() => told.some((line) => line.startsWith('ended: ')))
    await server.listen()
  })

  it('ends an attempt to connect that is given up', async () => {
    const listener = { lost() {}, restored() {}, refused() {}, ended() {} }
    const signal = AbortSignal.abort(new Error('given up'))
    const { connection: options } = natsOptions({ url: `nats://127.0.0.1:${server.port}` })
    await assert.rejects(natsIo.connect(options, { ...listener, signal }), /given up/)
  })

  it('asks JetStream in its words', async () => {
    const asked: [subject: string, body: unknown][] = []
    server.answer = (subject, body) => {
      asked.push([subject.slice('$JS.API.'.length), body === '' ? undefined : JSON.parse(body)])
      const config = { name: 's', subjects: ['a'], durable_name: 'c', ack_policy: 'explicit' }
      const [of = ''] = /STREAM|CONSUMER/.exec(subject) ?? []
      return {
        type: `io.nats.jetstream.api.v1.${of.toLowerCase()}_list_response`,
        success: true,
        ...{ config, created: 'then', state: {}, name: 'c', stream_name: 's' },
        ...{ streams: [{ config }], consumers: [{ name: 'c', config }], total: 1, offset: 0, limit: 256 },
        message: { subject: 'a', seq: 7, time: '2026-01-01T00:00:00Z', data: 'aGk=' }
      }
    }
    const jetStream = await (await connect()).jetStream()
    /** The questions of a call to the server, and its value. */
    const ask = async <Value>(call: () => Promise<Value>) => {
      asked.length = 0
      const value = await call()
      return { value, subjects: asked.map(([subject]) => subject), body: asked.at(-1)?.[1] as object }
    }
    const all = async (found: AsyncIterable<unknown>) => {
      let count = 0
      for await (const _ of found) count++
      return count
    }
    const plain = await ask(() => jetStream.stream('s'))
    assert.equal(plain.value.config.name, 's')
    assert.deepEqual([plain.subjects, plain.body], [['STREAM.INFO.s'], {}])
    assert.deepEqual((await ask(() => jetStream.stream('s', 'a.>'))).body, { subjects_filter: 'a.>' })
    const streams = await ask(() => all(jetStream.streams('a')))
    assert.deepEqual(
      [streams.value, streams.subjects, streams.body],
      [1, ['STREAM.LIST'], { subject: 'a', offset: 0 }]
    )
    assert.deepEqual((await ask(() => jetStream.addStream({ name: 's', subjects: ['a'] }))).subjects, [
      'STREAM.CREATE.s'
    ])
    const { body: changed } = await ask(() => jetStream.updateStream('s', { max_age: 5 }))
    const { name, max_age } = changed as Record<string, unknown>
    assert.deepEqual([name, max_age], ['s', 5])
    const found = await ask(() => jetStream.message('s', { seq: 7, next_by_subj: 'a' }))
    assert.deepEqual([found.value?.seq, found.body], [7, { seq: 7, next_by_subj: 'a' }])
    const deleted = await ask(() => jetStream.deleteMessage('s', 7))
    assert.deepEqual([deleted.value, deleted.body], [true, { seq: 7, no_erase: true }])

    const consumer = await ask(() => jetStream.consumer('s', 'c'))
    assert.deepEqual([consumer.value.name, consumer.subjects], ['c', ['CONSUMER.INFO.s.c']])
    assert.equal(await all(jetStream.consumers('s')), 1)
    const config = { durable_name: 'c', ack_policy: 'explicit' } as const
    const added = await ask(() => jetStream.addConsumer('s', config))
    assert.deepEqual([added.value.name, added.subjects.at(-1)], ['c', 'CONSUMER.CREATE.s.c'])
    const { body: update } = await ask(() => jetStream.updateConsumer('s', 'c', { ack_wait: 9 }))
    assert.equal((update as { config: { ack_wait: number } }).config.ack_wait, 9)
    assert.equal((await ask(() => jetStream.deleteConsumer('s', 'c'))).value, true)
    const date = new Date('2030-01-01')
    const paused = await ask(() => jetStream.pause('s', 'c', date))
    assert.deepEqual(
      [paused.subjects, paused.body],
      [['CONSUMER.PAUSE.s.c'], { pause_until: date.toISOString() }]
    )
    const resumed = await ask(() => jetStream.pause('s', 'c', undefined))
    assert.notDeepEqual(resumed.body, paused.body)
    const unpinned = await ask(() => jetStream.unpin('s', 'c', 'one'))
    assert.deepEqual([unpinned.subjects, unpinned.body], [['CONSUMER.UNPIN.s.c'], { group: 'one' }])
  })
})
