/** Tests turns of a simulated event loop, whose time is calculated and not waited for. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TurnLimit } from './turn-limit.ts'

/** A process whose requests take `work` milliseconds each, and whose turns are all alike. */
function simulate() {
  let now = 0
  let end = () => {}
  let ended = 0
  const limit = new TurnLimit(
    () => now,
    (task) => {
      end = task
    },
    () => ended++
  )
  /** Runs a turn in which `requests` requests arrive, after `idle` milliseconds. Returns how many were taken. */
  const turn = (requests: number, work: number, idle = 0): number => {
    now += idle
    let taken = 0
    for (let n = 0; n < requests; n++) {
      if (limit.exhausted) continue
      taken++
      now += work
    }
    end()
    return taken
  }
  return { turn, ended: () => ended }
}

describe('a turn', () => {
  it('takes a burst whole, up to 50 ms of work', () => {
    const { turn } = simulate()
    assert.equal(turn(45, 1, 1_000), 45)
    assert.equal(turn(45, 1, 1_000), 45)
    assert.equal(turn(90, 1, 1_000), 50)
  })

  it('takes requests for 5 ms when there was no idle time before', () => {
    const { turn, ended } = simulate()
    assert.equal(turn(1_000, 0.5, 1_000), 100)
    for (let n = 0; n < 100; n++) assert.equal(turn(100, 0.5, 0.1), 10)
    assert.equal(ended(), 101)
  })

  it('leaves the next what it did not use', () => {
    const { turn } = simulate()
    assert.equal(turn(10, 1, 1_000), 10)
    assert.equal(turn(100, 1), 40)
    // No credit is left, and half a millisecond of idle time adds less than each turn may use anyway.
    assert.equal(turn(100, 0.5, 0.5), 10)
  })

  it('takes one request at least', () => {
    const { turn } = simulate()
    turn(100, 30, 1_000)
    for (let n = 0; n < 10; n++) assert.equal(turn(5, 30, 0.1), 1)
  })

  it('takes everything again when there is idle time', () => {
    const { turn } = simulate()
    turn(1_000, 0.5, 1_000)
    assert.equal(turn(20, 0.5, 0.1), 10)
    for (let n = 0; n < 20; n++) turn(8, 0.5, 2)
    assert.equal(turn(20, 0.5, 2), 20)
  })

  it('takes all requests of a service that is idle for a fifth of its time, long as they are', () => {
    const { turn } = simulate()
    for (let n = 0; n < 100; n++) assert.equal(turn(3, 10, 8), 3)
  })
})
