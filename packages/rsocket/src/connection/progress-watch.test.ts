import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { promised } from '@elysia-microservices/test-support'
import { ProgressWatch, type WatchedState } from './progress-watch.ts'

const TIMEOUT = 1_000

describe('the watch of an incomplete message', () => {
  const { now } = performance
  let time = 0
  beforeEach(() => {
    time = 0
    performance.now = () => time
  })
  afterEach(() => {
    performance.now = now
  })

  /** @param state returns the connection's state at each check; `undefined`: no message is incomplete */
  function watch(state: () => WatchedState | undefined = () => ({ unsent: 0, isHeldBack: false })) {
    const seen = { stalls: 0 }
    const watch = new ProgressWatch(TIMEOUT, state, () => void seen.stalls++)
    return { watch, seen }
  }

  it('begins with each message, whatever came before', () => {
    const { watch: one, seen } = watch()
    one.incomplete(10, 0)
    one.complete()
    time = 5 * TIMEOUT
    one.incomplete(10, 0)
    time += TIMEOUT - 1
    one.check()
    assert.equal(seen.stalls, 0)
    time += 1
    one.check()
    assert.equal(seen.stalls, 1)
    one.stop()
  })

  it('lets what has arrived while the process stood still be read first', async () => {
    const stalled = promised<void>()
    let stalls = 0
    const state = () => ({ unsent: 0, isHeldBack: false })
    const one = new ProgressWatch(TIMEOUT, state, () => {
      stalls++
      stalled.resolve()
    })
    one.incomplete(10, 0)
    time = TIMEOUT + 60_000
    one.check()
    one.incomplete(5_000, 0)
    one.check()
    assert.equal(stalls, 0)
    time += TIMEOUT + 60_000
    one.check()
    assert.equal(stalls, 0)
    // Nothing arrives in the turn of the socket. The timer of the watch keeps no process alive.
    const alive = setInterval(() => {}, 1_000)
    await stalled.promise
    clearInterval(alive)
    one.stop()
  })

  it('is not put off by single bytes', () => {
    const { watch: one, seen } = watch()
    for (time = 0; time < TIMEOUT; time += 100) one.incomplete(1, 0)
    time = TIMEOUT
    one.check()
    assert.equal(seen.stalls, 1)
    one.stop()
  })

  it('is put off by 1,024 bytes, and by none fewer', () => {
    for (const [more, stalls] of [
      [1023, 1],
      [1024, 0]
    ] as const) {
      time = 0
      const { watch: one, seen } = watch()
      one.incomplete(5_000, 0)
      time = TIMEOUT - 1
      one.incomplete(more, 0)
      time = TIMEOUT
      one.check()
      assert.equal(seen.stalls, stalls)
      one.stop()
    }
  })

  it('is put off by what the peer reads meanwhile, and while it is held back', () => {
    let state = { unsent: 500, isHeldBack: false }
    const { watch: one, seen } = watch(() => state)
    one.incomplete(1, 500)
    state = { unsent: 499, isHeldBack: false }
    time = TIMEOUT
    one.check()
    state = { unsent: 499, isHeldBack: true }
    time = 2 * TIMEOUT
    one.check()
    assert.equal(seen.stalls, 0)
    state = { unsent: 499, isHeldBack: false }
    time = 3 * TIMEOUT
    one.check()
    assert.equal(seen.stalls, 1)
    one.stop()
  })
})
