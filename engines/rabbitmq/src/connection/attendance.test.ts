import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ConnectionError } from '@elysia-microservices/transport/kit'
import { Attendance, isRefusal } from './attendance.ts'
import type { Link } from './link.ts'

/** A queue about which the server says what the test says. */
function queueOf(t: TestContext) {
  const state = { consumers: 1 as number | Error, asked: 0, now: 5_000 }
  t.mock.method(performance, 'now', () => state.now)
  const link = {
    aside: async () => {
      state.asked++
      if (typeof state.consumers !== 'number') throw state.consumers
      return { consumerCount: state.consumers }
    }
  } as unknown as Link
  const attendance = new Attendance(link, 'q')
  const ask = () => new Promise<boolean | Error>((resolve) => attendance.ask(resolve))
  return { state, attendance, ask }
}

describe('the question who consumes a queue', () => {
  it('is asked again when a second has passed since somebody did', async (t) => {
    const { state, ask } = queueOf(t)
    assert.deepEqual([await ask(), await ask(), state.asked], [true, true, 1])
    state.now += 999
    state.consumers = 0
    assert.deepEqual([await ask(), state.asked], [true, 1])
    state.now += 1
    assert.deepEqual([await ask(), await ask(), state.asked], [false, false, 3])
  })

  it('is asked again after a loss', async (t) => {
    const { state, attendance, ask } = queueOf(t)
    await ask()
    attendance.forget()
    await ask()
    assert.equal(state.asked, 2)
  })

  it('is answered in the order of those who ask, also if the answer to a later one is known', async (t) => {
    const { state, attendance } = queueOf(t)
    const told: string[] = []
    await new Promise<void>((resolve) => {
      attendance.ask(() => {
        told.push('first')
        attendance.ask(() => told.push('known by then'))
      })
      attendance.ask(() => {
        told.push('second')
        resolve()
      })
    })
    assert.deepEqual([told, state.asked], [['first', 'known by then', 'second'], 1])
  })

  it('has the answer nobody if there is no queue, and none if the server refuses to tell', async (t) => {
    const { state, ask } = queueOf(t)
    state.consumers = new Error('404 (NOT_FOUND) with message "NOT_FOUND - no queue"')
    assert.equal(await ask(), false)
    const refusal = new Error('403 (ACCESS_REFUSED) with message "ACCESS_REFUSED - access to queue"')
    state.consumers = refusal
    assert.equal(await ask(), refusal)
    assert.deepEqual(
      [refusal, new Error('lost'), new ConnectionError('ACCESS_REFUSED', false)].map(isRefusal),
      [true, false, false]
    )
  })
})
