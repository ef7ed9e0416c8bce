/** Which events of a batch are tried, and which are left behind unanswered. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Timeouts, VirtualTime } from '@elysia-microservices/test-support'
import {
  ConnectionError,
  EventRefusedError,
  NotStoredError,
  OptionError,
  PayloadTooLargeError
} from '@elysia-microservices/transport/kit'
import { Engine } from '../testing/engine.ts'
import { until } from '../testing/until.ts'
import { publishAll } from './chains.ts'

describe('a batch of events', () => {
  /** Publishes events, named by their data; those named `silent…` are answered when `answer` is called. */
  function begin(events: readonly { data: string; key?: string }[], few: number) {
    const engine = new Engine()
    const silent: (() => void)[] = []
    engine.fail = ({ data }) =>
      String(data).startsWith('silent')
        ? new Promise((resolve) => silent.push(() => resolve({ duplicate: false })))
        : undefined
    let end = () => {}
    const over = new Promise<void>((resolve) => {
      end = resolve
    })
    let isOver = false
    const rows = events.map(({ data, key = null }, index) => ({
      ...{ position: String(index), id: data, pattern: 'a', key, headers: null },
      data: JSON.stringify(data),
      attempts: '0'
    }))
    const outcome = publishAll(rows, engine, { timeout: 2 ** 30, mayGoOn: () => !isOver, over, few })
    return {
      engine,
      outcome,
      end() {
        isOver = true
        end()
      },
      answer: () => silent.splice(0).map((one) => one())
    }
  }

  it('leaves a few behind that are not answered, and tells what becomes of them', async () => {
    const { engine, outcome, end, answer } = begin(
      [{ data: 'silent', key: 'k' }, { data: 'behind', key: 'k' }, { data: 'other' }],
      1
    )
    await until(() => engine.stored.length === 1)
    end()
    const { published, failures, unanswered } = await outcome
    assert.deepEqual([published, failures], [['2'], []])
    assert.deepEqual(
      unanswered.map(({ position }) => position),
      ['0']
    )
    answer()
    assert.deepEqual((await unanswered[0]!.ended).published, ['0'])
    await new Promise(setImmediate)
    assert.deepEqual(published, ['2'], 'Its outcome is the business of who was told of it')
    // Later events of its key are tried in a later round.
    assert.deepEqual(engine.of('a'), ['other'])
  })

  it('waits for all while more than a few are not answered', async () => {
    const { engine, outcome, end, answer } = begin([{ data: 'silent 1' }, { data: 'silent 2' }], 1)
    await until(() => engine.underWay === 2)
    let hasEnded = false
    void outcome.then(() => {
      hasEnded = true
    })
    end()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(hasEnded, false)
    answer()
    const { published, unanswered } = await outcome
    assert.equal(published.length + unanswered.length, 2)
  })

  it('sends no further event when its time is over: those that are committed meanwhile wait for its end', async () => {
    const { engine, outcome, end, answer } = begin(
      [
        { data: 'silent', key: 'k' },
        { data: 'behind', key: 'k' }
      ],
      0
    )
    await until(() => engine.underWay === 1)
    end()
    await new Promise(setImmediate)
    answer()
    assert.deepEqual([(await outcome).published, engine.of('a')], [['0'], []])
  })

  it('waits for an event as long as its time has not come', async () => {
    const { engine, outcome, answer } = begin([{ data: 'silent' }, { data: 'other' }], 16)
    await until(() => engine.stored.length === 1)
    answer()
    assert.deepEqual((await outcome).unanswered, [])
  })

  it('is not waited for without end: an event whose broker never answers fails a second after its time', async () => {
    const never = { publish: () => new Promise<never>(() => {}) }
    const row = { position: '3', id: 'a', pattern: 'p', attempts: '0', key: null, headers: null, data: null }
    using timeouts = new Timeouts(() => 0)
    const patience = { timeout: 5_000, mayGoOn: () => true, over: new Promise<void>(() => {}), few: 0 }
    const { failures } = await publishAll([row], never, patience)
    assert.deepEqual([failures.map(({ position }) => position), timeouts.begun], [['3'], [6_000]])
    assert.match(failures[0]?.reason ?? '', /^TimeoutError/)
  })

  it('sends what was written, and tells what the broker had already', async () => {
    const given: unknown[] = []
    const client = {
      publish: async (...all: unknown[]) => {
        given.push(all)
        return { id: 'a', position: '1', duplicate: true }
      }
    }
    const row = { position: '3', id: 'a', pattern: 'p', attempts: '0' }
    const rows = [
      { ...row, key: 'k', headers: '{"x":"1"}', data: '{"n":1}' },
      { ...row, key: null, headers: null, data: null }
    ]
    const over = new Promise<void>(() => {})
    const { published, duplicates } = await publishAll(rows, client, {
      timeout: 5_000,
      mayGoOn: () => true,
      over,
      few: 0
    })
    assert.deepEqual([published, duplicates], [['3', '3'], 2])
    assert.deepEqual(given, [
      ['p', { n: 1 }, { id: 'a', timeout: 5_000, key: 'k', headers: { x: '1' } }],
      ['p', undefined, { id: 'a', timeout: 5_000 }]
    ])
  })
})

describe('an event that cannot be published', () => {
  /** Publishes events of one key, of which the first one fails. */
  async function failing(error: unknown, attempts = 0) {
    const engine = new Engine()
    engine.fail = ({ data }) => (data === 'first' ? Promise.reject(error) : undefined)
    const rows = ['first', 'second'].map((data, index) => ({
      ...{ position: String(index), id: data, pattern: 'a', key: 'k', headers: null },
      data: JSON.stringify(data),
      attempts: String(attempts)
    }))
    const over = new Promise<void>(() => {})
    const outcome = await publishAll(rows, engine, { timeout: 2 ** 30, mayGoOn: () => true, over, few: 0 })
    const [failure] = outcome.failures
    return { failure, stored: engine.of('a') }
  }

  for (const [what, error] of [
    ['that the broker refuses for ever', new EventRefusedError('no')],
    ['that is too large', new PayloadTooLargeError('the largest event', 1, 2, 'bytes')],
    ['whose data cannot be sent', new OptionError('data', 'no')],
    ['whose key cannot be sent', new OptionError('options.key', 'no')]
  ] as const)
    it(`because of what it is is put aside, and later ones of its key go on: one ${what}`, async () => {
      const { failure, stored } = await failing(error)
      assert.deepEqual([failure?.pause, stored], [null, ['second']])
    })

  for (const [what, error] of [
    ['the broker is lost', new ConnectionError('gone', true)],
    ['the broker is full', new NotStoredError('full', false)],
    ['the client does not fit the broker', new OptionError('options.durable.stream', 'no')],
    ['of what nobody knows', 'a text']
  ] as const)
    it(`because ${what} is tried again, and later ones of its key wait`, async () => {
      const { failure, stored } = await failing(error)
      assert.ok(typeof failure?.pause === 'number' && failure.pause >= 0 && failure.pause <= 100)
      assert.deepEqual(stored, [])
    })

  it('is tried again within ten seconds, however often it has failed', async () => {
    for (let tries = 0; tries < 20; tries++) {
      const { failure } = await failing(new ConnectionError('gone', true), 1_000)
      assert.ok(Number(failure?.pause) <= 10_000)
    }
  })

  it('is one whose client throws, too, and leaves no timer', async () => {
    using time = new VirtualTime()
    const client = {
      publish: () => {
        throw new TypeError('no client')
      }
    }
    const row = { position: '3', id: 'a', pattern: 'p', attempts: '0', key: null, headers: null, data: null }
    const patience = { timeout: 5_000, mayGoOn: () => true, over: new Promise<void>(() => {}), few: 0 }
    const { failures } = await publishAll([row], client, patience)
    assert.deepEqual([failures.map(({ reason }) => reason), time.timers], [['TypeError: no client'], 0])
    await publishAll([row], { publish: async () => ({ id: 'a', position: '', duplicate: false }) }, patience)
    assert.equal(time.timers, 0)
  })

  it('says why in words that PostgreSQL can store, whatever was thrown', async () => {
    const trap = new Proxy(new Error('trap'), {
      get() {
        throw new Error('read')
      }
    })
    for (const error of [new Error('a\0b'), trap, null, Symbol('none')]) {
      const { failure } = await failing(error)
      assert.ok(failure !== undefined && !failure.reason.includes('\0'))
    }
  })
})
