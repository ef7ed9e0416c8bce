import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { busy } from '@elysia-microservices/test-support'
import type { IncomingMessage } from '@elysia-microservices/transport/kit'
import { RetryLater } from '@elysia-microservices/transport/kit'
import { headers as newHeaders } from '@nats-io/transport-node'
import { OverFake } from '../testing/over-fake.ts'
import { DEAD, DEAD_STREAM, HEADER } from './names.ts'
import { Rounds } from './rounds.ts'

const HOUR = 3_600_000
/** Milliseconds before an event runs again. */
const PAUSE = 4_000

describe('a durable handler over NATS', () => {
  let over: OverFake
  let seen: string[]
  beforeEach(() => {
    over = new OverFake()
    seen = []
  })
  afterEach(() => over.close())

  const note = ({ data, delivery }: IncomingMessage) => void seen.push(`${data} ${delivery?.attempt}`)
  const failing = (fails: (data: unknown) => boolean) => (message: IncomingMessage) => {
    note(message)
    if (fails(message.data)) throw new Error('not now')
  }
  /** The dead letters of all groups, with their headers. */
  const letters = () => {
    const { messages } = over.server.streams.find(DEAD_STREAM)
    return messages.map(({ subject, data, headers }) => ({
      subject,
      text: new TextDecoder().decode(data),
      said: Object.fromEntries([...(headers ?? [])].map(([name, values]) => [name, values.join()]))
    }))
  }

  it('acknowledges events that it has handled, and says how many wait', async () => {
    const consumer = await over.serve('p', note)
    await over.publish('p', [1, 2, 3])
    await over.until(() => seen.length === 3)
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1', '3 1'])
    assert.equal(over.pendingOf('p'), 0)
    assert.equal(over.infoOf('p').ack_floor.stream_seq, 3)
    assert.equal(consumer.running, 0)
    const requests = over.infoOf('p').num_waiting
    await consumer.start(consumer.connection)
    await over.settle()
    assert.equal(over.infoOf('p').num_waiting, requests, 'a further start does not pull a second time')
  })

  for (const ordered of [true, false])
    it(`counts no attempt of an event that is on its way when its handler stops, with ordered: ${ordered}`, async () => {
      const durable = { ordered, start: 'all' } as const
      await over.publish('p', [1], 'k')
      for (let starts = 0; starts < 3; starts++) await (await over.serve('p', note, durable)).stop()
      assert.deepEqual(seen, [])
      await over.serve('p', note, durable)
      await over.until(() => seen.length > 0)
      assert.deepEqual(seen, ['1 1'])
    })

  it('counts no attempt of an event that waited for a place when its handler stopped', async () => {
    const { handler, go } = busy(note)
    const isQuick = ({ data }: IncomingMessage) => Number(data) <= 20
    const one = await over.serve('p', (message) => (isQuick(message) ? note(message) : handler(message)), {
      concurrency: 1
    })
    // A handler that is quick gets an event more than may run.
    await over.publish(
      'p',
      Array.from({ length: 20 }, (_, n) => n + 1)
    )
    await over.until(() => seen.length === 20)
    await over.publish('p', [21, 22])
    await over.until(() => seen.length === 21 && over.pendingOf('p') === 2)
    const stopped = one.stop()
    go()
    await stopped
    await over.serve('p', note)
    await over.until(() => seen.length === 22)
    assert.deepEqual(seen.slice(20), ['21 1', '22 1'])
  })

  it('gives a failed event back for its pause, and gets it with its next attempt; others go on', async () => {
    const retry = { attempts: 3, minDelay: PAUSE, factor: 1, maxDelay: PAUSE }
    const consumer = await over.serve(
      'p',
      failing((data) => data === 1),
      { retry }
    )
    await over.publish('p', [1, 2])
    await over.until(() => seen.length === 2)
    await over.settle()
    assert.ok(over.server.streams.told.includes(`1 -NAK {"delay":${PAUSE * 1e6}}`))
    await over.pass(PAUSE - 1)
    assert.deepEqual(seen, ['1 1', '2 1'])
    await over.pass(1)
    assert.deepEqual(seen, ['1 1', '2 1', '1 2'])
    assert.equal(consumer.figures.redeliveries, 1)
    assert.deepEqual(letters(), [])
  })

  it('puts an event off as its handler says', async () => {
    await over.serve('p', (message) => {
      note(message)
      if (message.delivery?.attempt === 1) throw new RetryLater(PAUSE)
    })
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    await over.settle()
    assert.ok(over.server.streams.told.includes(`1 -NAK {"delay":${PAUSE * 1e6}}`))
    await over.pass(PAUSE)
    assert.deepEqual(seen, ['1 1', '1 2'])
  })

  it('makes an event a dead letter of its own group, with all that is known about it', async () => {
    const consumer = await over.serve(
      'p',
      failing(() => true),
      { group: 'failing', retry: { attempts: 1 } }
    )
    await over.serve('p', note, { group: 'other' })
    const client = await over.open()
    const published = await client.publish('p', { n: 1 }, { id: 'an id', key: 'a key', headers: { x: 'ü' } })
    await over.until(() => letters().length === 1)
    const [letter] = letters()
    assert.deepEqual(
      [letter?.subject, letter?.text],
      [`${DEAD}.failing.failing_p`, '{"pattern":"p","data":{"n":1}}']
    )
    const { [HEADER.publishedAt]: publishedAt, [HEADER.id]: id, ...said } = letter?.said ?? {}
    assert.ok(Number(publishedAt) > 0 && id?.startsWith('dead:p:1:'))
    assert.deepEqual(said, {
      [HEADER.subject]: 'p',
      [HEADER.position]: published.position,
      [HEADER.attempts]: '1',
      [HEADER.consumer]: 'failing_p',
      [HEADER.group]: 'failing',
      [HEADER.reason]: 'Error%3A%20not%20now',
      [HEADER.ownId]: 'an%20id',
      [HEADER.key]: 'a%20key',
      x: 'ü'
    })
    await over.settle()
    assert.deepEqual([over.pendingOf('p', 'failing'), over.pendingOf('p', 'other')], [0, 0])
    assert.equal(consumer.figures.deadLetters, 1)
  })

  it('keeps an event whose dead letter the server does not store, and says so', async () => {
    over.server.streams.refusesMessage = (subject) =>
      subject.startsWith(DEAD)
        ? { error: { code: 503, err_code: 10_047, description: 'insufficient storage resources available' } }
        : undefined
    await over.serve(
      'p',
      failing(() => true),
      { retry: { attempts: 1 } }
    )
    await over.publish('p', [1])
    await over.until(() => over.lines.some((line) => line.includes('could not be stored as a dead letter')))
    assert.deepEqual([letters(), over.pendingOf('p')], [[], 1])
  })

  it('makes an event a dead letter that would be deleted before its next attempt', async () => {
    const storage = { maxAge: HOUR, duplicateWindow: 1_000 }
    for (const ordered of [false, true]) {
      const pattern = `old${ordered}`
      const retry = { attempts: 5, minDelay: 2 * HOUR, maxDelay: 2 * HOUR }
      await over.serve(
        pattern,
        failing(() => true),
        { retry, storage, ordered }
      )
      await over.publish(pattern, [1])
      await over.until(() => letters().some(({ said }) => said[HEADER.subject] === pattern))
    }
    for (const { said } of letters())
      assert.match(
        decodeURIComponent(said[HEADER.reason] ?? ''),
        /not now; it was to run again in .*maxAge: 3600000/
      )
  })

  it('retries a redriven event however old it is, because the stream of redriven events keeps all', async () => {
    const storage = { maxAge: HOUR, duplicateWindow: 1_000 }
    let isRedriven = false
    await over.serve(
      'p',
      (message) => {
        note(message)
        throw isRedriven ? new RetryLater(2 * HOUR) : new Error('broken')
      },
      { storage, retry: { attempts: 1 } }
    )
    await over.publish('p', [1])
    await over.until(() => letters().length === 1)
    isRedriven = true
    const client = await over.open()
    for await (const { position } of client.deadLetters('g').list())
      await client.deadLetters('g').redrive(position)
    await over.until(() => seen.length === 2)
    await over.settle()
    assert.deepEqual(letters(), [])
    assert.ok(over.server.streams.told.includes(`1 -NAK {"delay":${2 * HOUR * 1e6}}`))
  })

  it('keeps the order of each key, also while one is retried, and lets others go on', async () => {
    const retry = { attempts: 3, minDelay: PAUSE, factor: 1, maxDelay: PAUSE }
    let fails = true
    await over.serve(
      'p',
      failing((data) => fails && data === 'a1'),
      { ordered: true, retry }
    )
    await over.publish('p', ['a1', 'a2'], 'a')
    await over.publish('p', ['b1', 'b2'], 'b')
    await over.until(() => seen.length === 3)
    await over.settle()
    assert.deepEqual(seen, ['a1 1', 'b1 1', 'b2 1'])
    fails = false
    await over.pass(PAUSE)
    await over.until(() => seen.length === 5)
    assert.deepEqual(seen.slice(3), ['a1 2', 'a2 1'])
  })

  it('requests no more events than it has room for', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler, { concurrency: 2 })
    await over.publish('p', [1, 2, 3, 4, 5])
    await over.settle()
    assert.deepEqual([seen, over.pendingOf('p')], [['1 1', '2 1'], 2])
    go()
    await over.until(() => seen.length === 5)
  })

  it('requests nothing more while the events that it has take 32 MiB', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler, { concurrency: 9 })
    const data = new TextEncoder().encode(`{"data":"${'x'.repeat(8 * 1024 * 1024 - '{"data":""}'.length)}"}`)
    for (let sequence = 1; sequence <= 4; sequence++) {
      assert.ok(consumer.room > 0, `${sequence - 1} events`)
      const reply = `$JS.ACK.p.g_p.1.${sequence}.${sequence}.${Date.now()}000000.0`
      consumer.receive({ subject: 'p', reply, data, headers: undefined }, data)
    }
    assert.equal(consumer.room, 0)
    go()
  })

  it('that is ordered begins nothing while its server is lost: another process may be served', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler, { ordered: true })
    await over.publish('p', [1, 2], 'k')
    await over.until(() => seen.length === 1)
    await over.until(() => over.pendingOf('p') === 2)
    over.server.stop()
    go()
    await over.settle()
    assert.deepEqual(seen, ['1 1'])
    over.server.start()
    await over.until(() => seen.length > 1)
    assert.match(seen[1] ?? '', /^2 /)
  })

  it('takes nothing while its group is paused, and goes on when it is resumed', async () => {
    const consumer = await over.serve('p', note)
    await over.serve('p', note, { group: 'other' })
    const client = await over.open()
    await client.pauseGroup('g', true)
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    // A connection that was lost asks for the state of the group.
    over.server.cut()
    await over.until(() => consumer.figures.isPaused)
    assert.deepEqual([seen, consumer.figures.lag], [['1 1'], 1])
    await client.pauseGroup('g', false)
    await over.pass(5_000)
    assert.deepEqual(seen, ['1 1', '1 1'])
  })

  it('gives back events that have not begun when it stops, once and as the same attempt, and waits for what runs', async () => {
    const { handler, go } = busy(note)
    const one = await over.serve('p', handler, { concurrency: 1, ordered: true, retry: { attempts: 2 } })
    await over.publish('p', [1, 2, 3], 'k')
    await over.until(() => seen.length === 1)
    await over.until(() => over.pendingOf('p') === 3)
    let hasStopped = false
    const stopped = one.stop().then(() => {
      hasStopped = true
    })
    await over.settle()
    assert.deepEqual([hasStopped, over.server.streams.told], [false, ['2 -NAK', '3 -NAK']])
    go()
    await stopped
    assert.equal(over.infoOf('p').num_waiting, 0)
    await over.serve('p', note, { ordered: true, retry: { attempts: 2 } })
    await over.until(() => seen.length === 3)
    assert.deepEqual(seen, ['1 1', '2 1', '3 1'])
  })

  it('gives running events back when it is cut off', async () => {
    const { handler, go } = busy(note)
    const one = await over.serve('p', handler)
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    const stopped = one.stop()
    await over.settle()
    assert.deepEqual(over.server.streams.told, [])
    one.cut()
    await over.serve('p', note)
    await over.until(() => seen.length === 2)
    assert.deepEqual(seen, ['1 1', '1 2'])
    go()
    await stopped
  })

  it('gives back what arrives after it has stopped', async () => {
    const { handler, go } = busy(note)
    const one = await over.serve('p', handler, { concurrency: 1 })
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    over.server.suspend()
    go()
    const publishing = over.publish('p', [2])
    await over.settle()
    const stopped = one.stop()
    over.server.resume()
    await Promise.all([publishing, stopped])
    await over.serve('p', note)
    await over.until(() => seen.some((line) => line.startsWith('2')))
  })

  it('gives signs of life while a handler runs, so that nobody else gets its event', async () => {
    const { handler, go } = busy(note)
    const storage = { ackWait: 500 }
    await over.serve('p', handler, { storage })
    await over.publish('p', [1])
    for (let beats = 1; beats <= 3; beats++) {
      const lives = () => over.server.streams.told.filter((words) => words === '1 +WPI').length
      await over.until(() => lives() >= beats)
      await over.pass(450)
    }
    assert.deepEqual(seen, ['1 1'])
    go()
    await over.until(() => over.pendingOf('p') === 0)
  })

  it('runs an event once that comes again while it runs, and acknowledges one again that is done', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler)
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    await over.pass(30_001)
    assert.equal(consumer.figures.redeliveries, 1)
    go()
    await over.until(() => over.pendingOf('p') === 0)
    // The acknowledgement of the next event is lost with its server.
    over.server.suspend()
    const publishing = over.publish('p', [2])
    over.server.resume()
    await publishing
    await over.until(() => seen.length === 2)
    over.server.stop()
    over.server.start()
    await over.settle()
    await over.pass(30_001)
    await over.settle()
    assert.equal(over.pendingOf('p'), 0)
    assert.deepEqual(seen, ['1 1', '2 1'])
  })

  it('is not looked after any more when it has stopped', async () => {
    const rounds = new Rounds()
    const consumer = await over.serve('p', note, {}, rounds)
    assert.equal(rounds.size, 1)
    await consumer.stop()
    assert.equal(rounds.size, 0)
  })

  it('with wildcards gets the events of its stream that match, each under its own pattern', async () => {
    const patterns: string[] = []
    const storage = { stream: { name: 'wide', subjects: ['wide.>'] } }
    await over.serve(
      'wide.*',
      ({ pattern, delivery }) => void patterns.push(`${pattern} ${delivery?.attempt}`),
      {
        storage
      }
    )
    const client = await over.open(storage)
    for (const pattern of ['wide.a', 'wide.b.c', 'wide.d']) await client.publish(pattern, 1)
    await over.until(() => patterns.length === 2)
    await over.settle()
    assert.deepEqual(patterns, ['wide.a 1', 'wide.d 1'])
  })

  it('handles an event without data whose headers look like a message of the server', async () => {
    await over.serve('p', note)
    const bare = await over.connect()
    for (const code of [100, 408, 423]) bare.send('p', '', undefined, newHeaders(code, 'no status'))
    await over.publish('p', [1])
    await over.until(() => seen.length === 4)
    assert.deepEqual(seen.toSorted(), ['1 1', 'undefined 1', 'undefined 1', 'undefined 1'])
  })

  it('makes an event a dead letter whose headers cannot be read, if its handler reads them', async () => {
    const consumer = await over.serve('p', ({ metadata }) => void seen.push(`${metadata}`), {
      retry: { attempts: 1 }
    })
    const message = {
      subject: 'p',
      reply: `$JS.ACK.p.g_p.1.1.1.${Date.now()}000000.0`,
      data: new TextEncoder().encode('{"data":1}'),
      get headers(): never {
        throw new Error('unreadable')
      }
    }
    consumer.receive(message, message.data)
    await over.until(() => letters().length === 1)
    const [letter] = letters()
    assert.match(letter?.said[HEADER.reason] ?? '', /headers%20of%20the%20event%20cannot%20be%20read/)
    assert.equal(letter?.said[HEADER.leftOut], encodeURIComponent('["headers"]'))
  })

  it('handles a redriven event with what was known of it, as its first attempt, beside others', async () => {
    let isBroken = true
    const messages: IncomingMessage[] = []
    for (const ordered of [false, true]) {
      const group = `ordered-${ordered}`
      await over.serve(
        'p',
        (message) => {
          if (isBroken) throw new Error('broken')
          messages.push(message)
        },
        { group, ordered, retry: { attempts: 1 } }
      )
    }
    const client = await over.open()
    const { position } = await client.publish('p', 1, { id: 'x', key: 'k', headers: { h: '1' } })
    await over.until(() => letters().length === 2)
    isBroken = false
    for (const group of ['ordered-false', 'ordered-true'])
      for await (const letter of client.deadLetters(group).list())
        assert.equal(await client.deadLetters(group).redrive(letter.position), true)
    await over.until(() => messages.length === 2)
    for (const { delivery, data, metadata, pattern } of messages)
      assert.deepEqual(
        [data, pattern, metadata, delivery?.id, delivery?.key, delivery?.position, delivery?.attempt],
        [1, 'p', { h: '1' }, 'x', 'k', position, 1]
      )
    assert.deepEqual(letters(), [])
  })
})
