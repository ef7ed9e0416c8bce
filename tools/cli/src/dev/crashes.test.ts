/** Tests how equal crashes are counted. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Crash, Crashes, STEADY } from './crashes.ts'

const EARLY: Crash = { what: 'code 1 the port is taken', wasReady: false, lived: 0 }
const LATE: Crash = { what: 'code 1 the database said no', wasReady: true, lived: 1_400 }

describe('equal crashes of a program', () => {
  for (const [when, crash] of Object.entries({ 'before it is ready': EARLY, 'after it was ready': LATE }))
    it(`are counted ${when}, also if the program lived longer than before`, () => {
      const crashes = new Crashes()
      const counts = [1, 2, 3].map((n) => crashes.add({ ...crash, lived: n * crash.lived }))
      assert.deepEqual(counts, [1, 2, 3])
    })

  it('start at one again after another crash, after a steady run, and when they are forgotten', () => {
    const crashes = new Crashes()
    const counts = [LATE, LATE, EARLY, LATE, LATE].map((crash) => crashes.add(crash))
    assert.deepEqual(counts, [1, 2, 1, 1, 2])
    assert.equal(crashes.add({ ...LATE, lived: STEADY + 1 }), 1)
    crashes.forget()
    assert.equal(crashes.add(LATE), 1)
  })

  it('make it pointless to say that the program is ready, unless they come before it is', () => {
    const crashes = new Crashes()
    const said = [LATE, LATE, EARLY, EARLY].map((crash) => {
      crashes.add(crash)
      return crashes.followReady
    })
    assert.deepEqual(said, [false, true, false, false])
    crashes.forget()
    assert.equal(crashes.followReady, false)
  })
})
