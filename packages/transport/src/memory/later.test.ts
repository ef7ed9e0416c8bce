import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LOOK_AT_CLOCK, ManualClock } from '../durable/clock.ts'
import { Later } from './later.ts'

/** Events that note when they are delivered. */
function setting() {
  const clock = new ManualClock(1_000)
  const later = new Later(clock)
  const fired: [string, number][] = []
  const add = (name: string, due: number) =>
    later.add({ name, due, fire: () => void fired.push([name, clock.now()]) })
  return { clock, later, fired, add }
}

describe('events that wait for their time in memory()', () => {
  it('come in the order of their times, none of them before, also those that are due after several waits', async () => {
    const { clock, later, fired, add } = setting()
    later.wake()
    const far = 1_000 + 2 * LOOK_AT_CLOCK
    for (const [name, due] of [
      ['far', far],
      ['second', 2_000],
      ['first', 1_500]
    ] as const)
      add(name, due)
    assert.equal(clock.waiting, 1)
    await clock.advance(499)
    assert.deepEqual(fired, [])
    await clock.advance(501)
    assert.deepEqual(fired, [
      ['first', 1_500],
      ['second', 2_000]
    ])
    await clock.advance(far - 2_001)
    assert.equal(fired.length, 2)
    await clock.advance(1)
    assert.deepEqual(fired[2], ['far', far])
    assert.equal(clock.waiting, 0)
  })

  it('need no timer while nobody handles events, and come when somebody does again', async () => {
    const { clock, later, fired, add } = setting()
    add('early', 1_500)
    assert.equal(clock.waiting, 0)
    later.wake()
    assert.equal(clock.waiting, 1)
    later.sleep()
    assert.equal(clock.waiting, 0)
    await clock.advance(1_000)
    later.wake()
    await clock.advance(0)
    assert.deepEqual(fired, [['early', 2_000]])
  })

  it('do not come if they are taken', async () => {
    const { clock, later, fired, add } = setting()
    later.wake()
    add('one', 1_500)
    assert.equal(later.take('one')?.name, 'one')
    assert.equal(later.take('one'), undefined)
    await clock.advance(1_000)
    assert.deepEqual([fired, clock.waiting], [[], 0])
  })

  it('come within a minute when the clock is set to their time, though it was far away', async () => {
    const { clock, later, fired, add } = setting()
    later.wake()
    add('far', 3_661_000)
    const now = clock.now.bind(clock)
    clock.now = () => now() + 3_600_000
    await clock.advance(60_000)
    assert.equal(fired.length, 1)
  })
})
