/** Tests when a connection waits for the end of the turn. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TurnWrites } from './turn-writes.ts'

/** Writes until the connection waits for the end of a turn; returns the number of writes. */
function writesUntilWaiting(turns: TurnWrites): number {
  for (let writes = 1; writes <= 100; writes++) if (turns.written(false)) return writes
  return assert.fail('it never waits')
}

describe('the writes of a turn', () => {
  it('are looked at now and then, and wait for the end of no other turn while nothing follows', () => {
    let ended = 0
    const turns = new TurnWrites(() => ended++)
    for (let look = 1; look <= 10; look++) {
      assert.equal(writesUntilWaiting(turns), 16)
      turns.flush()
      assert.equal(ended, look)
    }
  })

  it('never wait where each is for what was read', () => {
    const turns = new TurnWrites(() => {})
    for (let writes = 0; writes < 100; writes++) assert.equal(turns.written(true), false)
  })

  it('wait for the end of each turn once something has followed', () => {
    const turns = new TurnWrites(() => {})
    writesUntilWaiting(turns)
    for (let turn = 0; turn < 10; turn++) {
      turns.collected()
      turns.flush()
      assert.equal(turns.written(false), true)
    }
  })

  it('forgive a few turns in which nothing follows', () => {
    const turns = new TurnWrites(() => {})
    writesUntilWaiting(turns)
    turns.collected()
    turns.flush()
    for (let turn = 0; turn < 3; turn++) {
      assert.equal(turns.written(false), true)
      turns.flush()
    }
    assert.equal(turns.written(false), true)
    turns.collected()
    turns.flush()
    for (let turn = 0; turn < 4; turn++) {
      assert.equal(turns.written(false), true)
      turns.flush()
    }
    assert.equal(writesUntilWaiting(turns), 16)
  })
})
