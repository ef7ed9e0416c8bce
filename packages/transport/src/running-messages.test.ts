/** Tests the messages that a server handles, and how they end. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { IncomingMessage } from './message.ts'
import { endedWithin, RunningMessages } from './running-messages.ts'

const MESSAGE = { pattern: 'p' } as IncomingMessage
const silent = { error() {}, warn() {} }

/** Makes an answer that ends when it is cut, and counts the cuts. */
function newAnswer(running: RunningMessages, isStream = false) {
  const answer = {
    cuts: 0,
    cut() {
      answer.cuts++
      running.end(answer)
    }
  }
  running.begin(answer, isStream)
  return answer
}

describe('running messages', () => {
  it('are counted until they end, once', async () => {
    const running = new RunningMessages()
    const [one, two] = [newAnswer(running), newAnswer(running, true)]
    let finish = () => {}
    const event = new Promise<void>((resolve) => {
      finish = resolve
    })
    let ended = 0
    const isDone = running.event({ event: () => event }, MESSAGE, silent, () => ended++)
    assert.deepEqual([isDone, running.inFlight, running.streams], [false, 3, 1])
    assert.equal(running.event({ event() {} }, MESSAGE, silent), true)
    running.end(one)
    running.end(one)
    running.end(two)
    assert.deepEqual([running.inFlight, running.streams, ended], [1, 0, 0])
    finish()
    await event
    await undefined
    assert.deepEqual([running.inFlight, ended], [0, 1])
  })

  it('count an event that fails, and log why', () => {
    const running = new RunningMessages()
    const logged: unknown[] = []
    const logger = { error: (_line: string, error: unknown) => void logged.push(error), warn() {} }
    const error = new Error('no')
    const event = () => {
      throw error
    }
    assert.equal(running.event({ event }, MESSAGE, logger), true)
    assert.deepEqual([logged, running.inFlight], [[error], 0])
  })

  it('are waited for when their server stops, and those that begin while it does', async () => {
    const running = new RunningMessages()
    const first = newAnswer(running)
    let leave = () => {}
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    let isOver = false
    const drained = running.drained(60_000, left, Promise.reject(new Error('it does not matter')))
    void drained.then(() => {
      isOver = true
    })
    running.end(first)
    const second = newAnswer(running)
    leave()
    await new Promise((resolve) => setTimeout(resolve))
    assert.equal(isOver, false)
    running.end(second)
    assert.equal(await drained, true)
    assert.deepEqual([first.cuts, second.cuts], [0, 0])
    // Resolves at once, because nothing runs.
    assert.equal(await running.drained(60_000), true)
  })

  it('are cut when their time is over; events nobody waits for go on', async () => {
    const running = new RunningMessages()
    const answers = [newAnswer(running), newAnswer(running, true)]
    running.event({ event: () => new Promise(() => {}) }, MESSAGE, silent)
    assert.equal(await running.drained(1), false)
    assert.deepEqual([answers.map(({ cuts }) => cuts), running.inFlight, running.streams], [[1, 1], 1, 0])
    const late = newAnswer(running)
    assert.equal(await running.drained(1, new Promise(() => {})), false)
    assert.equal(late.cuts, 1)
  })

  it('leave no timer behind', async () => {
    const { setTimeout: original } = globalThis
    const delays: unknown[] = []
    globalThis.setTimeout = ((task: () => void, delay: number, ...rest: []) => {
      delays.push(delay)
      return original(task, delay, ...rest)
    }) as typeof setTimeout
    try {
      // A timer that is not cleared would keep this process alive until it fires.
      assert.equal(await endedWithin(Promise.resolve(), Number.POSITIVE_INFINITY), true)
      assert.equal(await endedWithin(Promise.resolve()), true)
      await assert.rejects(endedWithin(Promise.reject(new Error('no')), 60_000), { message: 'no' })
    } finally {
      globalThis.setTimeout = original
    }
    assert.deepEqual(delays, [2 ** 31 - 1, 10_000, 60_000])
  })
})
