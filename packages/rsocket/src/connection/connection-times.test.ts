import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { replaceTimers } from '../testing/timers.ts'
import { ConnectionTimes } from './connection-times.ts'
import type { Session } from './session.ts'

describe('the times of connections', () => {
  it('are looked at until their server stops', async () => {
    let looks = 0
    // Each check iterates over the sessions, which counts the checks.
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
    times.start()
    while (looks === before) await new Promise((resolve) => setTimeout(resolve, 1))
    times.stop()
  })

  it('are looked at four times within the shortest limit there is, and not at all without one', () => {
    const pauses: number[] = []
    const none: ReadonlySet<Session> = new Set()
    const set = globalThis.setInterval
    for (const limits of [
      { idle: 0, silence: 0, age: 0 },
      { idle: 401, silence: 0, age: 0 },
      { idle: 400, silence: 80, age: 0 },
      { idle: 400, silence: 80, age: 8 }
    ]) {
      using _ = replaceTimers({
        setInterval: (task, pause) => {
          pauses.push(pause)
          return set(task, 60_000)
        }
      })
      const times = new ConnectionTimes(none, limits, assert.fail)
      times.start()
      times.start()
      times.stop()
    }
    assert.deepEqual(pauses, [101, 20, 2])
  })
})

describe('a connection of a process that stood still', () => {
  it('is not idle before what has arrived meanwhile is read', (t) => {
    let time = 0
    let look = () => {}
    const set = globalThis.setInterval
    using _ = replaceTimers({
      setInterval: (task) => {
        look = task
        return set(() => {}, 60_000)
      }
    })
    t.mock.method(performance, 'now', () => time)
    const closed: string[] = []
    let isActive = true
    const session = { protocol: {}, takeActivity: () => isActive }
    const sessions = new Set([session]) as never as ReadonlySet<Session>
    const times = new ConnectionTimes(sessions, { idle: 400, silence: 0, age: 0 }, (_session, limit) => {
      closed.push(limit)
    })
    const after = (pause: number) => {
      time += pause
      look()
      return closed
    }
    times.start()
    after(100)
    isActive = false
    assert.deepEqual(after(60_000), [])
    isActive = true
    assert.deepEqual(after(100), [])
    isActive = false
    for (let at = 0; at < 3; at++) assert.deepEqual(after(100), [])
    assert.deepEqual(after(100), ['idle'])
    times.stop()
  })
})

describe('a connection', () => {
  const NONE = { idle: 0, silence: 0, age: 0 }

  /** Makes a connection whose activity the test sets, and checks its times. */
  function watched(limits: Partial<typeof NONE>) {
    const session = {
      active: true,
      protocol: undefined as { handsOver?: boolean } | undefined,
      takeActivity() {
        const wasActive = this.active
        this.active = false
        return wasActive
      }
    }
    const closed: string[] = []
    const sessions = new Set([session]) as never as ReadonlySet<Session>
    const times = new ConnectionTimes(sessions, { ...NONE, ...limits }, (of, limit) => {
      assert.equal(of, session)
      closed.push(limit)
    })
    return { session, closed, look: (now: number) => times.look(now) }
  }

  it('is idle so long after it was last seen active, and is told once', () => {
    const { session, closed, look } = watched({ idle: 100 })
    session.protocol = {}
    for (const now of [1_000, 1_099]) look(now)
    session.active = true
    for (const now of [1_150, 1_249]) look(now)
    assert.deepEqual(closed, [])
    look(1_250)
    assert.deepEqual(closed, ['idle'])
    session.active = true
    for (const now of [1_300, 1_400, 9_999]) look(now)
    assert.deepEqual(closed, ['idle'])
  })

  it('counts from the first look, though it was never seen active', () => {
    const { session, closed, look } = watched({ idle: 100 })
    session.active = false
    look(1_000)
    look(1_099)
    assert.deepEqual(closed, [])
    look(1_100)
    assert.deepEqual(closed, ['idle'])
  })

  it('is silent only as long as it has no protocol', () => {
    const { session, closed, look } = watched({ silence: 100 })
    look(0)
    look(99)
    assert.deepEqual(closed, [])
    session.protocol = {}
    look(100)
    look(500)
    assert.deepEqual(closed, [])
    session.protocol = undefined
    look(501)
    assert.deepEqual(closed, ['silence'])
  })

  it('is never idle or silent without these limits, nor old', () => {
    const { closed, look } = watched({ age: 1e9 })
    for (const now of [0, 1e6, 2e6]) look(now)
    assert.deepEqual(closed, [])
    const ageless = watched({ idle: 1e9 })
    ageless.session.protocol = { handsOver: true }
    for (const now of [0, 10, 1e6]) ageless.look(now)
    assert.deepEqual(ageless.closed, [])
  })

  it('is old within a tenth of its age, if its peer can be told to connect again', (t) => {
    for (const [dice, oldAt] of [
      [0, 900],
      [0.5, 1_000],
      [0.75, 1_050]
    ] as const) {
      t.mock.method(Math, 'random', () => dice)
      const { session, closed, look } = watched({ age: 1_000 })
      session.protocol = { handsOver: true }
      look(0)
      session.active = true
      look(oldAt - 1)
      assert.deepEqual(closed, [])
      session.protocol = {}
      look(oldAt)
      assert.deepEqual(closed, [])
      session.protocol = { handsOver: true }
      look(oldAt)
      look(oldAt + 5_000)
      assert.deepEqual(closed, ['age'])
      t.mock.restoreAll()
    }
  })
})
