/** The times at which a relay looks for events, and when it stops to send some. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Timeouts } from '@elysia-microservices/test-support'
import { Scene } from '../testing/relay-scene.ts'
import { until } from '../testing/until.ts'
import { CHECK_MARK, FETCH, LEAD, SLEEP } from './statements.ts'

/** Milliseconds of no other timer of a relay. */
const POLL = 7_777
const NEVER = 2 ** 31 - 1

describe('a relay', () => {
  let timeouts: Timeouts
  let scene: Scene
  beforeEach(() => {
    timeouts = new Timeouts((delay) => (delay >= 5 && delay <= 10_000 ? 0 : delay))
  })
  afterEach(async () => {
    await scene.relay.stop()
    timeouts[Symbol.dispose]()
  })

  async function begin(pollInterval: number): Promise<void> {
    scene = new Scene(pollInterval)
    scene.engine.fail = () => Promise.resolve({ duplicate: false })
    await scene.relay.start()
  }
  const times = (milliseconds: number) => timeouts.begun.filter((delay) => delay === milliseconds).length

  it('falls asleep after ten looks in which there was nothing, and looks from then on at intervals', async () => {
    await begin(POLL)
    await until(() => times(POLL) >= 3)
    const asked = scene.pool.asked.map(({ text }) => text)
    const begins = asked.slice(0, asked.indexOf(SLEEP))
    assert.deepEqual([begins.filter((text) => text === FETCH).length, times(20)], [10, 9])
    assert.equal(scene.count(SLEEP), 1, 'it says so once')
    scene.waiting.push('1')
    await until(() => scene.published.length === 1)
    await until(() => times(20) >= 18)
    assert.equal(times(20), 18, 'it looks ten times again')
  })

  it('looks no more often than its interval says while it falls asleep', async () => {
    await begin(5)
    await until(() => times(5) >= 12)
    assert.equal(times(20), 0)
  })

  it('looks at intervals whether another one still leads', async () => {
    scene = new Scene(POLL)
    scene.leads = false
    await scene.relay.start()
    await until(() => scene.count(LEAD) > 3)
    assert.ok(times(POLL) >= scene.count(LEAD) - 2, `${times(POLL)} of ${scene.count(LEAD)}`)
    assert.equal(times(20), 0)
  })

  it('checks the mark less often if that takes long', async (t) => {
    let now = 1_000_000
    t.mock.method(performance, 'now', () => now)
    scene = new Scene(NEVER)
    const { answer } = scene.pool
    scene.pool.answer = (asked) => {
      if (asked.text === CHECK_MARK) now += 1_000
      return answer(asked)
    }
    await scene.relay.start()
    const asleep = () => until(() => scene.isAsleep)
    await asleep()
    for (const [pause, checks] of [
      [60_000, 1],
      [38_999, 1],
      [1, 2]
    ] as const) {
      now += pause
      const looks = scene.count(FETCH)
      scene.pool.notify()
      await until(() => scene.count(FETCH) > looks)
      await asleep()
      assert.equal(scene.count(CHECK_MARK), checks)
    }
  })

  it('sends no further event of a key when it is told to stop', async () => {
    scene = new Scene(POLL)
    scene.key = 'k'
    const answers: (() => void)[] = []
    scene.engine.fail = () => new Promise((resolve) => answers.push(() => resolve({ duplicate: false })))
    scene.waiting.push('1', '2')
    await scene.relay.start()
    await until(() => answers.length === 1)
    const stopped = scene.relay.stop()
    answers[0]?.()
    await stopped
    assert.deepEqual([answers.length, scene.published], [1, ['1']])
  })

  it('waits longer each time before it listens again, until it can', async (t) => {
    t.mock.method(Math, 'random', () => 1)
    scene = new Scene(NEVER)
    const { answer } = scene.pool
    let fails = 3
    scene.pool.answer = (asked) => {
      if (asked.text.startsWith('listen') && fails-- > 0) throw new Error('no right')
      return answer(asked)
    }
    await scene.relay.start()
    await until(() => scene.pool.listening === 1)
    const pauses = () => timeouts.begun.filter((delay) => delay >= 100 && delay < 1_000)
    assert.deepEqual(pauses(), [100, 200, 400])
    timeouts.begun.length = 0
    await until(() => scene.isAsleep)
    scene.pool.lose()
    await until(() => scene.pool.listening === 1)
    assert.deepEqual(pauses(), [100])
  })
})
