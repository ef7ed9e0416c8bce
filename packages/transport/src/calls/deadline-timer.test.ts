import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DeadlineTimer } from './deadline-timer.ts'

describe('the timer of a connection', () => {
  it('lets the sockets have a turn first when its process stood still', (t) => {
    let time = 0
    t.mock.method(performance, 'now', () => time)
    const set: { readonly delay: number | undefined; readonly run: () => void }[] = []
    const original = Object.getOwnPropertyDescriptor(globalThis, 'setTimeout') as PropertyDescriptor
    // The timers of Deno are accessors, which `t.mock.method` cannot replace.
    Object.defineProperty(globalThis, 'setTimeout', {
      value: (task: (...given: unknown[]) => void, delay: number | undefined, ...given: unknown[]) =>
        void set.push({ delay, run: () => task(...given) }),
      configurable: true
    })
    try {
      const woken: number[] = []
      const timer = new DeadlineTimer({ wake: (now) => void woken.push(now) })
      timer.wakeAt(60_000)
      time = 61_000
      set.pop()?.run()
      assert.deepEqual(woken.splice(0), [61_000], 'a second late is a busy process')
      timer.wakeAt(120_000)
      time = 121_001
      set.pop()?.run()
      assert.deepEqual([woken, set.map(({ delay = 0 }) => delay)], [[], [0]])
      set.pop()?.run()
      assert.deepEqual(woken, [121_001])
      timer.wakeAt(200_000)
      time = 300_000
      set.pop()?.run()
      assert.deepEqual(woken, [121_001], 'again')
    } finally {
      Object.defineProperty(globalThis, 'setTimeout', original)
    }
  })
})
