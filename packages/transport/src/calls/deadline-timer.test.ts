import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { promised } from '@elysia-microservices/test-support'
import { DeadlineTimer } from './deadline-timer.ts'

describe('the timer of a connection', () => {
  it('lets the sockets have a turn first when its process stood still', async (t) => {
    let time = 0
    t.mock.method(performance, 'now', () => time)
    const woken: number[] = []
    const wakes = promised<void>()
    const owner = {
      wake(now: number) {
        woken.push(now)
        wakes.resolve()
      }
    }
    const timer = new DeadlineTimer(owner)
    timer.wakeAt(60_000)
    time = 61_000
    timer.fire()
    assert.deepEqual(woken.splice(0), [61_000], 'a second late is a busy process')
    timer.wakeAt(120_000)
    time = 121_001
    timer.fire()
    assert.deepEqual(woken, [])
    await wakes.promise
    await new Promise((resolve) => setTimeout(resolve, 1))
    assert.deepEqual(woken, [121_001])
    timer.stop()
  })

  it('that is stopped in that turn wakes nobody', async (t) => {
    let time = 0
    t.mock.method(performance, 'now', () => time)
    const timer = new DeadlineTimer({ wake: () => assert.fail() })
    timer.wakeAt(60_000)
    time = 90_000
    timer.fire()
    timer.stop()
    await new Promise((resolve) => setTimeout(resolve, 5))
  })
})
