import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Session } from '../connection/session.ts'
import { ConnectionTimes } from './connection-times.ts'

describe('the times of connections', () => {
  it('are looked at until their server stops', async () => {
    let looks = 0
    // Whoever looks asks which connections there are.
    const sessions = {
      [Symbol.iterator]() {
        looks++
        return [].values()
      }
    } as unknown as ReadonlySet<Session>
    const times = new ConnectionTimes(sessions, { idle: 4, silence: 0, age: 0 }, assert.fail)
    times.start()
    while (looks < 3) await new Promise((resolve) => setTimeout(resolve, 1))
    times.stop()
    const before = looks
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(looks, before)
  })
})
