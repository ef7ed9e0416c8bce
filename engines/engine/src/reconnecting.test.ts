import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { Reconnecting } from './reconnecting.ts'
import { unreachable } from './unreachable.ts'

/** The longest pause that is possible now. */
function ceiling(pauses: Reconnecting): number {
  const random = mock.method(Math, 'random', () => 1)
  try {
    return pauses.pause
  } finally {
    random.mock.restore()
  }
}

describe('pauses before a lost server is looked for', () => {
  it('grow while it is not found, and start again when a connection has held', () => {
    let now = 0
    const clock = mock.method(performance, 'now', () => now)
    try {
      const pauses = new Reconnecting({ minDelay: 100, maxDelay: 2_000 })
      pauses.connected()
      now = 5_000
      pauses.lost()
      assert.equal(ceiling(pauses), 100)
      for (const pause of [200, 400, 800, 1_600, 2_000, 2_000]) {
        pauses.failed()
        assert.equal(ceiling(pauses), pause)
      }
      pauses.connected()
      now += 2_001
      pauses.lost()
      assert.equal(ceiling(pauses), 100)
    } finally {
      clock.mock.restore()
    }
  })

  it('count the connections in a row that have held no longer than the longest pause', () => {
    let now = 0
    const clock = mock.method(performance, 'now', () => now)
    try {
      const pauses = new Reconnecting({ minDelay: 100, maxDelay: 2_000 })
      const lostAfter = (milliseconds: number) => {
        pauses.connected()
        now += milliseconds
        pauses.lost()
        return [pauses.brief, ceiling(pauses)]
      }
      assert.equal(pauses.brief, 0)
      assert.deepEqual([2_000, 1, 2_001, 2_000].map(lostAfter), [
        [1, 200],
        [2, 400],
        [0, 100],
        [1, 200]
      ])
    } finally {
      clock.mock.restore()
    }
  })

  it('go on growing while connections are lost at once', () => {
    const pauses = new Reconnecting({ minDelay: 100, maxDelay: 60_000 })
    for (const pause of [200, 400, 800]) {
      pauses.connected()
      pauses.lost()
      assert.equal(ceiling(pauses), pause)
    }
  })
})

it('a server that cannot be reached is named, with what the driver knows', () => {
  const bare = Object.assign(new Error(''), { code: 'ECONNREFUSED' })
  const { message, mayHaveRun, cause } = unreachable('Redis', 'localhost:1', bare, 'start it')
  assert.equal(message, 'Cannot reach Redis at localhost:1: ECONNREFUSED; start it')
  assert.deepEqual([mayHaveRun, cause], [false, bare])
})
