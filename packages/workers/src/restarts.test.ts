import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Restarts } from './restarts.ts'

const SOON = 9_999
const LATER = 10_000

describe('restarts', () => {
  it('come after pauses whose bound doubles with each quick end, up to 30 s', () => {
    const restarts = new Restarts(() => 1)
    const bounds = Array.from({ length: 11 }, () => restarts.delayAfter(SOON))
    assert.deepEqual(bounds, [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30_000, 30_000])
  })

  it('come soon again after a worker that has lived', () => {
    const restarts = new Restarts(() => 1)
    for (let n = 0; n < 8; n++) restarts.delayAfter(SOON)
    assert.equal(restarts.delayAfter(LATER), 100)
    assert.equal(restarts.isHopeless, false)
    assert.equal(restarts.delayAfter(SOON), 100)
  })

  it('are hopeless after five quick ends in a row, and not before', () => {
    const restarts = new Restarts(() => 0)
    const hopeless = Array.from({ length: 5 }, () => [restarts.delayAfter(SOON), restarts.isHopeless][1])
    assert.deepEqual(hopeless, [false, false, false, false, true])
  })

  it('come after anything from nothing to the bound', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.nat(50),
        (random, ends) => {
          const restarts = new Restarts(() => random)
          const most = new Restarts(() => 1)
          for (let n = 0; n <= ends; n++) {
            const delay = restarts.delayAfter(SOON)
            const bound = most.delayAfter(SOON)
            assert.ok(delay >= 0 && delay <= bound && bound <= 30_000)
          }
        }
      )
    )
  })
})
