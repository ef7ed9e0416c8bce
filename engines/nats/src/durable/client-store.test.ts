/** Publishing, dead letters and pauses of groups, by a client over NATS. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type DeadLetter, EventRefusedError } from '@elysia-microservices/transport/kit'
import { JetStreamApiError } from '@nats-io/jetstream'
import { headers as newHeaders } from '@nats-io/transport-node'
import { OverFake } from '../testing/over-fake.ts'
import type { NatsClientStore } from './client-store.ts'
import { AGAIN_STREAM, DEAD_STREAM, HEADER, LATER_STREAM, waitingSubject } from './names.ts'

describe('a client over NATS', () => {
  let over: OverFake
  beforeEach(() => {
    over = new OverFake()
  })
  afterEach(() => over.close())

  const stored = (stream: string) => over.server.streams.find(stream).messages
  const letters = async (group: string, limit?: number) => {
    const found: DeadLetter[] = []
    const client = await over.open()
    for await (const letter of client.deadLetters(group).list(limit === undefined ? {} : { limit }))
      found.push(letter)
    return found
  }

  it('counts among the events that wait for a group those that run', async () => {
    let begun = 0
    await over.serve(
      'p',
      () => {
        begun++
        return new Promise(() => {})
      },
      { concurrency: 1 }
    )
    const client = await over.open()
    for (const n of [1, 2, 3]) await client.publish('p', n)
    await over.until(() => begun === 1)
    assert.equal(await client.lag('g'), 3)
  })

  describe('that publishes', () => {
    it('creates the stream, and stores each id once, with key and headers', async () => {
      const client = await over.open()
      const options = { id: 'an id', key: 'a.b ü', headers: { x: '1' } }
      const first = await client.publish('p', { n: 1 }, options)
      assert.deepEqual(first, { id: 'an id', position: '1', duplicate: false })
      assert.deepEqual(await client.publish('p', { n: 1 }, options), { ...first, duplicate: true })
      const [{ headers, data } = {}] = stored('p')
      assert.equal(new TextDecoder().decode(data), '{"pattern":"p","data":{"n":1}}')
      assert.deepEqual(
        [HEADER.id, HEADER.key, 'x'].map((name) => headers?.get(name)),
        ['an%20id', 'a.b%20%C3%BC', '1']
      )
      const own = await client.publish('p', 2)
      assert.equal((await client.publish('p', 2)).id === own.id, false)
    })

    it('stores events in order while its server is lost and back, each once', async () => {
      const client = await over.open()
      await client.publish('p', 0)
      const all = Array.from({ length: 500 }, (_, n) => client.publish('p', n + 1))
      await over.settle()
      over.server.stop()
      over.server.start()
      all.push(client.publish('p', 501))
      await Promise.all(all)
      const numbers = stored('p').map(({ data }) => JSON.parse(new TextDecoder().decode(data)).data)
      assert.deepEqual(numbers, [...numbers.keys()])
      assert.equal(numbers.length, 502)
    })

    it('creates the stream again that was deleted', async () => {
      const client = await over.open()
      await client.publish('p', 1)
      over.server.streams.delete('p')
      assert.equal((await client.publish('p', 2)).position, '1')
    })

    it('fails at once without the right to the subject, and others go on', async () => {
      const client = await over.open()
      over.server.forbidden.add('closed')
      await client.publish('open', 1)
      await assert.rejects(client.publish('closed', 1, { timeout: false }), /Permissions Violation/)
      await client.publish('open', 2)
    })

    it('is told why an event is not stored, and what helps', async () => {
      const client = await over.open({ maxBytes: 300 })
      const large = client.publish('p', 'x'.repeat(500))
      await assert.rejects(large, {
        name: 'NotStoredError',
        retryable: true,
        message:
          /'p': it says 'maximum bytes exceeded' \(503\); the stream is full: raise options.durable.maxBytes/
      })
      over.server.streams.refusesMessage = () => ({
        error: { code: 400, err_code: 10_054, description: 'message size exceeds maximum allowed' }
      })
      await assert.rejects(client.publish('p', 1), { name: 'EventRefusedError' })
      await assert.rejects(client.publish('p', 'x'.repeat(1_100_000)), { name: 'PayloadTooLargeError' })
      for (const pattern of ['$JS.x', '_x'])
        await assert.rejects(client.publish(pattern, 1), { name: 'OptionError', message: /NATS's own/ })
    })

    it('publishes again after a failure that passes by itself', async () => {
      const client = await over.open()
      const failures = [
        { code: 503, err_code: 10_008, description: 'no leader' },
        { code: 400, err_code: 10_158, description: 'duplicate message id is in process' }
      ]
      over.server.streams.refusesMessage = () => {
        const error = failures.shift()
        return error && { error }
      }
      assert.equal((await client.publish('p', 1)).position, '1')
      assert.deepEqual(failures, [])
    })

    it('says that JetStream is off', async () => {
      over.server.hasJetStream = false
      const client = await over.open({}, 300)
      await assert.rejects(client.publish('p', 1), { name: 'NotStoredError', message: /JetStream.*-js/ })
    })
  })

  describe('with dead letters', () => {
    /** Dead letters of two groups. */
    async function dead() {
      for (const group of ['a', 'b'])
        await over.serve(
          'p',
          () => {
            throw new Error('broken')
          },
          { group, retry: { attempts: 1 } }
        )
      await over.publish('p', [1, 2], 'k')
      await over.until(() => stored(DEAD_STREAM).length === 4)
      return (await over.open()).deadLetters('a')
    }

    it('lists those of a group, up to a limit, and gets one', async () => {
      const of = await dead()
      const all = await letters('a')
      assert.deepEqual(
        all.map(({ group, pattern, id, key, reason, attempts, data, headers }) => ({
          ...{ group, pattern, id, key, reason, attempts, data, headers }
        })),
        [1, 2].map((n) => ({
          ...{ group: 'a', pattern: 'p', id: `id-${n}`, key: 'k', reason: 'Error: broken', attempts: 1 },
          data: n,
          headers: {}
        }))
      )
      const [first, second] = all as [DeadLetter, DeadLetter]
      assert.ok(first.publishedAt.getTime() <= first.diedAt.getTime())
      assert.deepEqual((await letters('a', 1)).length, 1)
      assert.deepEqual(await of.get(second.position), second)
      const [other] = await letters('b')
      for (const position of [other?.position as string, '99', '0', 'x'])
        assert.equal(await of.get(position), undefined)
      assert.equal(await of.discard(other?.position as string), false)
      assert.equal(await of.redrive(other?.position as string), false)
      assert.equal(stored(DEAD_STREAM).length, 4)
    })

    it('discards one, once', async () => {
      const of = await dead()
      const [first] = await letters('a')
      assert.equal(await of.discard(first?.position as string), true)
      assert.equal(await of.discard(first?.position as string), false)
      assert.equal((await letters('a')).length, 1)
    })

    it('redrives one to the consumer of its group, and discards it then', async () => {
      const of = await dead()
      const [first] = await letters('a')
      const asked = over.server.streams.asked.length
      assert.equal(await of.redrive(first?.position as string), true)
      assert.equal(await of.redrive(first?.position as string), false)
      assert.ok(over.server.streams.asked.slice(asked).includes(`deleteMessage ${DEAD_STREAM}`))
      assert.equal(over.server.streams.find(AGAIN_STREAM).last, 1)
      // It is handled, and fails again.
      await over.until(
        () => stored(DEAD_STREAM).filter(({ subject }) => subject.includes('.a.')).length === 2
      )
      assert.deepEqual(
        (await letters('a')).map(({ id }) => id),
        ['id-2', 'id-1']
      )
    })

    it('keeps one that cannot be redriven', async () => {
      const of = await dead()
      const [first] = await letters('a')
      over.server.streams.refusesMessage = () => ({
        error: { code: 400, err_code: 1, description: 'no' }
      })
      await assert.rejects(of.redrive(first?.position as string), EventRefusedError)
      assert.equal((await letters('a')).length, 2)
    })

    it('shows one that another program has written, and does not redrive one whose data were left out', async () => {
      await dead()
      const bare = await over.connect()
      const headers = newHeaders()
      for (const [name, value] of [
        [HEADER.reason, '%E0%A4%A'],
        [HEADER.leftOut, encodeURIComponent('["data","key"]')],
        [HEADER.position, '7']
      ] as const)
        headers.set(name, value)
      bare.send('_ELYSIA.DEAD.c.c_p', '{', undefined, headers)
      await bare.flush()
      const [letter] = await letters('c')
      assert.deepEqual(
        [letter?.reason, letter?.leftOut, letter?.key],
        ['%E0%A4%A', ['data', 'key'], undefined]
      )
      const of = (await over.open()).deadLetters('c')
      await assert.rejects(of.redrive(letter?.position as string), {
        name: 'EventRefusedError',
        message: /data were too large to be kept.*position 7/
      })
    })

    it('stores one once that is redriven again because it could not be discarded, also one of another program', async () => {
      const bare = await over.connect()
      const of = (await over.open()).deadLetters('c')
      await letters('c')
      const headers = newHeaders()
      headers.set(HEADER.consumer, 'c_p')
      bare.send('_ELYSIA.DEAD.c.c_p', '{}', undefined, headers)
      await bare.flush()
      over.server.streams.refuses = (asked) =>
        asked === 'deleteMessage'
          ? new JetStreamApiError({ code: 503, err_code: 1, description: 'not now' })
          : undefined
      await assert.rejects(of.redrive('1'), { message: /^The dead letter 1: NATS says 'not now'/ })
      over.server.streams.refuses = () => undefined
      assert.equal(await of.redrive('1'), true)
      assert.deepEqual([over.server.streams.find(AGAIN_STREAM).last, stored(DEAD_STREAM)], [1, []])
    })

    it('tells that another process was faster', async () => {
      const of = await dead()
      const [first] = await letters('a')
      for (const error of [
        { code: 404, err_code: 10_037, description: 'no message found' },
        { code: 400, err_code: 10_043, description: 'no message found' }
      ]) {
        over.server.streams.refuses = (asked) =>
          asked === 'deleteMessage' ? new JetStreamApiError(error) : undefined
        assert.equal(await of.discard(first?.position as string), false)
      }
    })

    it('says why they cannot be read', async () => {
      const of = (await over.open()).deadLetters('a')
      over.server.streams.refuses = (asked) =>
        asked === 'message'
          ? new JetStreamApiError({ code: 503, err_code: 1, description: 'not now' })
          : undefined
      await assert.rejects(of.get('1'), {
        message: /^The dead letters of the group 'a': NATS says 'not now'/
      })
    })
  })

  it('pauses and resumes all consumers of a group, and none of others', async () => {
    for (const pattern of ['p', 'q']) await over.serve(pattern, () => {})
    await over.serve('p', () => {}, { group: 'other' })
    const client = await over.open()
    const paused = () =>
      [over.infoOf('p'), over.infoOf('q'), over.infoOf('p', 'other')].map((one) => one.paused)
    await client.pauseGroup('g', true)
    assert.deepEqual(paused(), [true, true, false])
    assert.ok(new Date(over.infoOf('p').config.pause_until as string).getTime() > Date.now() + 1e11)
    await client.pauseGroup('g', false)
    assert.deepEqual(paused(), [false, false, false])
    await assert.rejects(client.pauseGroup('none', true), { name: 'OptionError', message: /no group 'none'/ })
  })

  it('knows a group as long as one of its consumers is there', async () => {
    const client = await over.open()
    assert.equal(await client.hasGroup('g'), false)
    await over.serve('p', () => {})
    assert.equal(await client.hasGroup('g'), true)
    over.server.streams.find(AGAIN_STREAM).leave('g_p')
    assert.deepEqual([await client.hasGroup('g'), await client.hasGroup('other')], [true, false])
    assert.equal(await client.lag('g'), 0)
    await assert.rejects(client.lag('other'), { name: 'OptionError', message: /no group 'other'/ })
  })

  it('finds its streams again after a failure, and after another connection', async () => {
    over.server.hasJetStream = false
    const client = await over.open()
    await assert.rejects(client.hasGroup('g'), { name: 'NotStoredError' })
    over.server.hasJetStream = true
    assert.equal(await client.hasGroup('g'), false)
    assert.equal(await client.streams(), await client.streams())
  })

  it('says why a group cannot be paused', async () => {
    await over.serve('p', () => {})
    const client = await over.open()
    over.server.streams.refuses = (asked) =>
      asked === 'pause'
        ? new JetStreamApiError({ code: 503, err_code: 1, description: 'not now' })
        : undefined
    await assert.rejects(client.pauseGroup('g', true), { message: /^The group 'g': NATS says 'not now'/ })
  })

  describe('that publishes for later', () => {
    const later = (client: NatsClientStore, id: string) => client.publish('p', 1, { id, delay: 60_000 })
    const asks = () =>
      over.server.streams.asked.splice(0).filter((asked) => asked === `stream ${LATER_STREAM}`).length

    it('asks for the time of the server once, and again when there may be another server', async () => {
      const client = await over.open()
      await later(client, 'a')
      assert.ok(asks() > 0)
      await later(client, 'b')
      assert.equal(asks(), 0)
      over.server.cut()
      await client.publish('p', 1)
      assert.equal(asks(), 0)
      await later(client, 'c')
      await later(client, 'd')
      assert.equal(asks(), 1)
    })

    it('stores the event also if the server does not tell its time, and while it is lost', async () => {
      const client = await over.open()
      await later(client, 'a')
      over.server.cut()
      await client.publish('p', 1)
      over.server.streams.refuses = (asked) => (asked === 'stream' ? new Error('no answer') : undefined)
      assert.equal((await later(client, 'b')).duplicate, false)
      over.server.streams.refuses = () => undefined
      over.server.stop()
      const waiting = later(client, 'c')
      over.server.start()
      assert.equal((await waiting).duplicate, false)
      assert.equal(stored(LATER_STREAM).length, 3)
    })

    it('fails at once without the right to where the event would wait', async () => {
      const client = await over.open()
      await later(client, 'a')
      over.server.forbidden.add(waitingSubject('p', 'b'))
      await assert.rejects(later(client, 'b'), (error: Error) => !/timeout/i.test(error.name))
      assert.equal((await client.publish('p', 1)).position, '1')
    })
  })
})
