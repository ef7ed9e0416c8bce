import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { Rest } from './rest.ts'

const HOUR = 3_600_000

describe('the rest of a stream', () => {
  let time: VirtualTime
  let overs: number
  let rest: Rest
  beforeEach(() => {
    time = new VirtualTime()
    overs = 0
    rest = new Rest(() => overs++)
    rest.requested()
  })
  afterEach(() => time[Symbol.dispose]())

  it('is over behind the time at which an event is due, and not before', async () => {
    rest.begin(1_000)
    await time.pass(1_000)
    assert.deepEqual([overs, rest.isResting], [0, true])
    await time.pass(1)
    assert.equal(overs, 1)
  })

  it('lasts until a message comes if nothing is due, and an hour at most if something is', async () => {
    rest.begin(-1)
    await time.pass(10 * HOUR)
    assert.deepEqual([overs, rest.isResting, time.timers], [0, true, 0])
    rest.wake()
    assert.equal(rest.isResting, false)
    rest.requested()
    rest.begin(24 * HOUR)
    await time.pass(HOUR)
    assert.equal(overs, 1)
  })

  it('does not begin if a message has come since the request, whose answer may be older', async () => {
    rest.wake()
    rest.begin(-1)
    assert.equal(rest.isResting, false)
    rest.requested()
    rest.begin(-1)
    assert.equal(rest.isResting, true)
  })

  it('that is broken off has no end of its own', async () => {
    for (const end of [() => rest.wake(), () => rest.stop(), () => rest.begin(-1)]) {
      rest.requested()
      rest.begin(1_000)
      end()
      await time.pass(HOUR)
      assert.deepEqual([overs, time.timers], [0, 0])
    }
  })

  it('is interrupted for a request, and none begins once it is stopped', () => {
    rest.begin(-1)
    rest.interrupt()
    assert.equal(rest.isResting, false)
    rest.begin(-1)
    assert.equal(rest.isResting, true)
    rest.interrupt()
    rest.stop()
    rest.begin(-1)
    assert.equal(rest.isResting, false)
  })
})
