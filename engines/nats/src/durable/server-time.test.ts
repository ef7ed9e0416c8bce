import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { ServerTime } from './server-time.ts'

const HOUR = 3_600_000

describe('the time of a server', () => {
  it('is that of this process until it is told', async () => {
    using clock = new VirtualTime()
    const time = new ServerTime()
    await clock.pass(HOUR)
    assert.deepEqual([time.earliest, time.latest, time.isStale], [Date.now(), Date.now() + 1, false])
  })

  it('lies between what it was when it was asked and when it has answered, and goes on from there', async () => {
    using clock = new VirtualTime()
    const time = new ServerTime()
    const askedAt = performance.now()
    await clock.pass(50)
    const told = Date.parse('2030-01-01T00:00:00.000Z')
    time.tell('2030-01-01T00:00:00.000999Z', askedAt)
    assert.deepEqual([time.earliest - told, time.latest - told], [0, 51])
    await clock.pass(1_000)
    assert.deepEqual([time.earliest - told, time.latest - told], [1_000, 1_051])
  })

  it('is that of this process if the server tells none', () => {
    using _ = new VirtualTime()
    const time = new ServerTime()
    time.tell(undefined, performance.now())
    assert.equal(time.earliest, Date.now())
  })

  it('is asked for again after a minute, and after each loss of the server', async () => {
    using clock = new VirtualTime()
    const time = new ServerTime()
    time.restored()
    assert.equal(time.isStale, false, 'it is asked for anyway')
    time.tell(undefined, performance.now())
    await clock.pass(60_000)
    assert.equal(time.isStale, false)
    await clock.pass(1)
    assert.equal(time.isStale, true)
    time.tell(undefined, performance.now())
    assert.equal(time.isStale, false)
    time.restored()
    assert.equal(time.isStale, true)
    time.tell(undefined, performance.now())
    assert.equal(time.isStale, false)
  })
})
