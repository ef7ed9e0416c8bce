import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ManualClock } from '@elysia-microservices/transport/kit'
import { Counting } from './counting.ts'

/** Looks that end when they are told to. */
class Looks {
  readonly clock = new ManualClock(1_000_000)
  count = 0
  end = (_error?: Error) => {}

  advance(): Promise<void> {
    this.count++
    return new Promise((resolve, reject) => {
      this.end = (error) => (error === undefined ? resolve() : reject(error))
    })
  }
}

it('a publisher with a limit looks through the log a second after the last look has ended, if it publishes then', async () => {
  const looks = new Looks()
  const counting = new Counting(looks, { maxBytes: 1 }, looks.clock)
  const counts: number[] = []
  for (const [pause, error] of [[0], [999], [1, new Error('no right')], [1_000]] as const) {
    await looks.clock.advance(pause)
    counting.published()
    counting.published()
    counts.push(looks.count)
    looks.end(error)
    await looks.clock.advance(0)
  }
  await looks.clock.advance(60_000)
  assert.deepEqual(counts, [1, 1, 2, 3])
  assert.equal(looks.count, 3)
})

it('a publisher without a limit never does', () => {
  const looks = new Looks()
  new Counting(looks, { maxBytes: 0 }, looks.clock).published()
  assert.equal(looks.count, 0)
})

it('looks in time although the clock was set back', async () => {
  const looks = new Looks()
  let passed = 0
  const clock = { now: () => 1_000_000 - 1_000 * passed, passed: () => passed, after: () => () => {} }
  const counting = new Counting(looks, { maxBytes: 1 }, clock)
  counting.published()
  looks.end()
  await new Promise(setImmediate)
  passed += 1_000
  counting.published()
  assert.equal(looks.count, 2)
})
