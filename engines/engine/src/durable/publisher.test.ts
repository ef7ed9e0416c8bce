import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { promised } from '@elysia-microservices/test-support'
import { NotStoredError, type Published, TimeoutError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { event, publishing, SlowStore, serve, turn } from '../testing/slow-store.ts'
import type { OutgoingEvent } from './outgoing-event.ts'
import { Publisher } from './publisher.ts'

const FOUR = ['a', 'b', 'c', 'd']

const STEPS = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ kind: fc.constantFrom('store' as const, 'answer' as const), count: fc.nat(30) }),
    fc.record({ kind: fc.constantFrom('lose' as const, 'restore' as const), count: fc.constant(0) })
  ),
  { maxLength: 40, size: 'max' }
)

describe('a publisher', () => {
  it('is not sent again when the engine has stored it together with one that was', async () => {
    const { server, publisher } = publishing()
    const published = FOUR.map((id) => publisher.publish(event(id)))
    await turn()
    server.lose()
    server.isConnected = true
    publisher.restored()
    const [first] = server.sent
    assert.equal(server.sent.length, 1)
    // All four are one batch of this engine.
    for (const [at] of FOUR.entries()) publisher.stored((first?.number ?? 0) + at, String(at + 1), false)
    assert.deepEqual(
      (await Promise.all(published)).map(({ position }) => position),
      ['1', '2', '3', '4']
    )
    await turn()
    assert.equal(server.sent.length, 1)
    assert.ok(publisher.isIdle)
  })

  it('fails the events for an address to which it may not publish, sent or not, and goes on with the others', async () => {
    const { server, publisher } = publishing()
    const denied = new Error('denied')
    const failed = Array.from({ length: 600 }, (_, n) =>
      publisher.publish(event(`d${n}`, { address: 'denied' }))
    )
    const published = FOUR.map((id) => publisher.publish(event(id)))
    await turn()
    publisher.forbidden('denied', denied)
    assert.deepEqual(
      new Set((await Promise.allSettled(failed)).map((one) => Object(one).reason)),
      new Set([denied])
    )
    await serve(server, published)
    assert.ok(publisher.isIdle)
  })

  it('takes as many bytes as it has room for, and others when these are stored', async () => {
    const { server, publisher } = publishing()
    const size = 1024 * 1024
    for (let n = 0; n < 100; n++) {
      const published = publisher.publish(event(`e${n}`, { size }))
      await turn()
      server.store(1)
      server.answer(1)
      await published
    }
    assert.ok(publisher.isIdle)
  })

  it('goes on when events are too old to be sent again', async () => {
    const server = new SlowStore()
    const publisher = new Publisher<OutgoingEvent>({ title: 'NATS', duplicateWindow: 1 })
    server.publisher = publisher
    publisher.attach(server)
    const old = FOUR.map((id) => publisher.publish(event(id)))
    server.lose()
    await new Promise((resolve) => setTimeout(resolve, 5))
    server.isConnected = true
    publisher.restored()
    for (const one of await Promise.allSettled(old)) {
      assert.ok(one.status === 'rejected')
      assert.match(one.reason.message, /before it was known whether the event 'p' is stored/)
    }
    await serve(server, [publisher.publish(event('e'))])
    assert.deepEqual(server.stored, ['e'])
  })

  it('sends others while the engine holds some, and sends those again after a loss', async () => {
    const server = new SlowStore()
    const holding = 'somebody holds it'
    const publisher = new Publisher<OutgoingEvent>({ title: 'NATS', duplicateWindow: 120_000, holding })
    server.publisher = publisher
    publisher.attach(server)
    const hold = () => {
      for (const { number } of server.sent.splice(0)) publisher.held(number)
      return turn()
    }
    const held = publisher.publish(event('a'))
    const late = publisher.publish(event('b', { timeout: 20 }))
    const refused = assert.rejects(late, /somebody holds it/)
    await hold()
    await hold()
    await serve(server, [publisher.publish(event('c'))])
    assert.deepEqual([server.stored, publisher.isIdle], [['c'], false])
    await refused
    server.lose()
    server.isConnected = true
    publisher.restored()
    await serve(server, [held])
    assert.deepEqual([server.stored, publisher.isIdle], [['c', 'a'], true])
    // Callers that await nothing are slowed.
    const many = Array.from({ length: 1_200 }, (_, n) => publisher.publish(event(`m${n}`)))
    for (let round = 0; round < 10; round++) await hold()
    const closed = new Error('closed')
    publisher.close(closed, new Error('unsent'))
    const reasons = (await Promise.allSettled(many)).map((one) => Object(one).reason.message)
    assert.deepEqual([reasons.indexOf('unsent') >= 512, reasons.indexOf('unsent') <= 1_024], [true, true])
  })

  it('goes on with other addresses while one is refused, and with that one in order when it is taken', async () => {
    const { server, publisher } = publishing()
    const at = (address: string) => (id: string) => publisher.publish(event(id, { address }))
    const [full, free] = [at('full'), at('free')]
    const early = [full('1'), full('2'), free('a')]
    const refusal = new NotStoredError('the stream is full', true)
    const late: Promise<Published>[] = []
    const round = async (isTaken: boolean) => {
      await turn()
      const refused = server.sent.filter(({ address }) => !isTaken && address !== 'free')
      server.sent = server.sent.filter((one) => !refused.includes(one))
      for (const { number } of refused) publisher.refused(number, refusal, true)
      server.store(10)
      server.answer(10)
    }
    await round(false)
    late.push(full('3'), free('b'), free('c'))
    await round(false)
    await Promise.all([early[2], late[1], late[2]])
    assert.deepEqual(server.stored, ['a', 'b', 'c'])
    const serving = setInterval(() => void round(true), 5)
    await Promise.all([...early, ...late])
    clearInterval(serving)
    assert.deepEqual(server.stored, ['a', 'b', 'c', '1', '2', '3'])
    assert.ok(publisher.isIdle)
  })

  it('goes on with other addresses while it is not known whether one is stored', async () => {
    const { promise: known, resolve } = promised<void>()
    const server = new SlowStore()
    const publisher = new Publisher<OutgoingEvent>({
      title: 'NATS',
      ensure: async (address) => (address === 'slow' ? known : undefined),
      duplicateWindow: 120_000
    })
    server.publisher = publisher
    publisher.attach(server)
    const slow = publisher.publish(event('slow', { address: 'slow' }))
    await serve(server, [publisher.publish(event('quick'))])
    resolve()
    await serve(server, [slow])
    assert.deepEqual(server.stored, ['quick', 'slow'])
  })

  it('says that its server is there, and silent, when nobody confirms an event', async () => {
    const { server, publisher } = publishing()
    const silent = publisher.publish(event('a', { timeout: 20 }))
    // The rejection is awaited from now on, because a turn of the event loop may take longer than the event's timeout.
    const refused = assert.rejects(silent, (error: Error) => {
      assert.ok(error instanceof TimeoutError && error.mayHaveRun)
      assert.match(
        error.message,
        /the NATS server is connected; its log may tell the reason, such as a full disk/
      )
      return true
    })
    await turn()
    assert.equal(server.sent.length, 1)
    await refused
  })

  it('has each event stored once and in order, whatever connections take with them', async () => {
    await fc.assert(
      fc.asyncProperty(STEPS, async (steps) => {
        const { server, publisher } = publishing()
        const results: Promise<Published>[] = []
        const restore = () => {
          if (server.isConnected) return
          server.isConnected = true
          publisher.restored()
        }
        for (const { kind, count } of steps) {
          if (kind === 'publish')
            for (let n = 0; n < count; n++) {
              const address = String(results.length % 3)
              results.push(publisher.publish(event(String(results.length), { address })))
            }
          else if (kind === 'store') server.store(count)
          else if (kind === 'answer') server.answer(count)
          else if (kind === 'lose') server.lose()
          else restore()
          await turn()
        }
        restore()
        while (!publisher.isIdle) {
          server.store(1_000)
          server.answer(1_000)
          await turn()
        }
        const all = await Promise.all(results)
        for (const address of [0, 1, 2]) {
          const isHere = (id: string) => Number(id) % 3 === address
          assert.deepEqual(server.stored.filter(isHere), [...all.keys()].map(String).filter(isHere))
        }
        assert.deepEqual(
          all.map(({ position }) => server.stored[Number(position) - 1]),
          [...all.keys()].map(String)
        )
        publisher.close(new Error('over'))
      })
    )
  })

  it('keeps the order where an engine that has just started refuses some events', async () => {
    const { server, publisher } = publishing()
    const published = FOUR.map((id) => publisher.publish(event(id)))
    await turn()
    server.lose()
    server.isConnected = true
    publisher.restored()
    server.store(1, new NotStoredError('not ready', true))
    server.store(3)
    server.answer(4)
    await serve(server, published)
    assert.deepEqual(server.stored, FOUR)
  })

  it('keeps the order of events that have waited for an engine that then refuses some', async () => {
    const { server, publisher } = publishing()
    server.lose()
    const published = FOUR.map((id) => publisher.publish(event(id)))
    server.isConnected = true
    publisher.restored()
    await turn()
    server.store(1, new NotStoredError('not ready', true))
    server.answer(1)
    await serve(server, published)
    assert.deepEqual(server.stored, FOUR)
  })

  it('sends the rest when the first event is given up for which they wait', async () => {
    const { server, publisher } = publishing()
    const given = publisher.publish(event('a', { timeout: 20 }))
    const published = publisher.publish(event('b'))
    await turn()
    server.lose()
    server.isConnected = true
    publisher.restored()
    await assert.rejects(given, TimeoutError)
    await turn()
    server.store(2)
    server.answer(2)
    await published
    assert.ok(server.stored.includes('b'))
  })

  it('says that an event is a duplicate only where another may have published it', async () => {
    const { server, publisher } = publishing()
    const own = publisher.publish(event('own', { isOwnId: true }))
    const given = publisher.publish(event('given'))
    await turn()
    server.store(2)
    server.lose()
    server.isConnected = true
    publisher.restored()
    for (let n = 0; n < 2; n++) {
      server.store(1)
      server.answer(1)
      await turn()
    }
    assert.deepEqual([(await own).duplicate, (await given).duplicate], [false, true])
    publisher.close(new Error('over'))
  })

  it('ends what its owner gives up, what is refused for good, and all that is left when it is closed', async () => {
    const { server, publisher } = publishing()
    const aborter = new AbortController()
    const given = publisher.publish(event('a', { signal: aborter.signal }))
    const refused = publisher.publish(event('b'))
    const left = publisher.publish(event('c'))
    const settled = Promise.allSettled([given, refused, left])
    await turn()
    aborter.abort()
    server.sent.shift()
    server.store(1, new NotStoredError('the stream is full', false))
    server.answer(1)
    publisher.close(new Error('over'))
    const [one, other, last] = await settled
    assert.equal(one.status === 'rejected' && one.reason.code, 'CANCELED')
    assert.ok(other.status === 'rejected' && other.reason instanceof NotStoredError)
    assert.equal(last.status === 'rejected' && last.reason.message, 'over')
    assert.ok(publisher.isIdle)
    await assert.rejects(publisher.publish(event('d')), /over/)
  })

  it('hears no more of the signal of an event that has ended, however it has ended', async () => {
    const { server, publisher } = publishing()
    const { signal } = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...args: [string, () => void]) => {
      listeners++
      addEventListener.apply(signal, args)
    }
    signal.removeEventListener = (...args: [string, () => void]) => {
      listeners--
      removeEventListener.apply(signal, args)
    }
    const stored = publisher.publish(event('a', { signal }))
    const refused = assert.rejects(publisher.publish(event('b', { signal })), /full/)
    const late = assert.rejects(publisher.publish(event('c', { signal, timeout: 5 })), TimeoutError)
    assert.equal(listeners, 3)
    await turn()
    server.store(1)
    server.store(1, new NotStoredError('the stream is full', false))
    server.answer(2)
    await Promise.all([stored, refused, late])
    assert.equal(listeners, 0)
    publisher.close(new Error('over'))
  })

  it('waits for a stream before the first event of a subject, and fails what has none', async () => {
    const failure = new NotStoredError('no', false)
    const { publisher, server } = publishing(() => Promise.reject(failure))
    await assert.rejects(publisher.publish(event('a')), failure)
    assert.deepEqual(server.sent, [])
    publisher.close(new Error('over'))
  })

  it('settles all events that have waited, also those behind one that is too large', async () => {
    for (let large = 0; large < 40; large++) {
      const { publisher, server } = publishing()
      const published = Array.from({ length: 40 }, (_, n) =>
        publisher.publish(event(String(n), n === large ? { size: 2 * 1024 * 1024 } : {}))
      )
      const settled = Promise.allSettled(published)
      const serving = setInterval(() => {
        server.store(50)
        server.answer(50)
      }, 1)
      const failed = (await settled).flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))
      clearInterval(serving)
      assert.deepEqual(failed, [large])
      assert.equal(server.stored.length, 39)
      assert.ok(publisher.isIdle)
      publisher.close(new Error('over'))
    }
  })

  it('lets no more wait than it may, and frees what has ended', async () => {
    const { publisher, server } = publishing()
    server.lose()
    const many = Array.from({ length: 65_536 }, (_, n) => publisher.publish(event(String(n))))
    const settled = Promise.allSettled(many)
    await assert.rejects(publisher.publish(event('more')), { code: 'OVERLOADED' })
    publisher.failWaiting(new Error('no server'))
    await settled
    assert.ok(publisher.isIdle)
    const next = publisher.publish(event('next'))
    server.isConnected = true
    publisher.restored()
    await serve(server, [next])
    publisher.close(new Error('over'))
  })

  it('lets no more bytes wait than they may be, and counts what has ended once, sent or not', async () => {
    const most = 64 * 1024 * 1024
    const { publisher, server } = publishing()
    const given = new AbortController()
    const sent = assert.rejects(publisher.publish(event('sent', { signal: given.signal })), {
      code: 'CANCELED'
    })
    await turn()
    assert.equal(server.sent.length, 1)
    given.abort()
    await sent
    server.lose()
    for (let time = 0; time < 2; time++) {
      const halves = [most / 2, most / 2].map((size, n) => publisher.publish(event(String(n), { size })))
      const failed = Promise.allSettled(halves)
      await assert.rejects(publisher.publish(event('more', { size: 1 })), { code: 'OVERLOADED' })
      publisher.failWaiting(new Error('no server'))
      assert.deepEqual(
        (await failed).map((one) => one.status === 'rejected' && one.reason.message),
        ['no server', 'no server']
      )
    }
    publisher.close(new Error('over'))
  })
})
