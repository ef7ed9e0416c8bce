/** Tests flushes of several connections, at moments that the tests choose. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Flushable, FlushQueue } from './flush-queue.ts'

function setUp() {
  const tasks: (() => void)[] = []
  const log: string[] = []
  const queue = new FlushQueue((task) => tasks.push(task))
  const connection = (name: string, flush = () => {}): Flushable => ({
    flush() {
      log.push(name)
      flush()
    }
  })
  /** Runs the tasks that wait now; returns their number. */
  const run = () => {
    const now = tasks.splice(0)
    for (const task of now) task()
    return now.length
  }
  return { queue, log, connection, run }
}

describe('the queue of flushes', () => {
  it('flushes all that have asked in one task, in order', () => {
    const { queue, log, connection, run } = setUp()
    for (const name of ['a', 'b', 'c']) queue.add(connection(name))
    assert.deepEqual(log, [])
    assert.equal(run(), 1)
    assert.deepEqual(log, ['a', 'b', 'c'])
    assert.equal(run(), 0)
  })

  it('flushes what asks meanwhile in the next', () => {
    const { queue, log, connection, run } = setUp()
    const later = connection('later')
    queue.add(connection('a', () => queue.add(later)))
    queue.add(connection('b'))
    assert.equal(run(), 1)
    assert.deepEqual(log, ['a', 'b'])
    assert.equal(run(), 1)
    assert.deepEqual(log, ['a', 'b', 'later'])
  })

  it('leaves to others what asks again in each of its flushes', () => {
    const { queue, log, connection, run } = setUp()
    const eager: Flushable = connection('eager', () => queue.add(eager))
    queue.add(eager)
    for (let turn = 1; turn <= 5; turn++) {
      assert.equal(run(), 1)
      assert.equal(log.length, turn)
    }
  })

  it('flushes the others when one throws, and goes on', () => {
    const { queue, log, connection, run } = setUp()
    const failing = connection('failing', () => assert.fail('as a logger may'))
    for (const each of [connection('a'), failing, connection('b'), connection('c')]) queue.add(each)
    assert.throws(run, /as a logger may/)
    assert.equal(run(), 1)
    assert.deepEqual(log, ['a', 'failing', 'b', 'c'])
    queue.add(connection('d'))
    assert.equal(run(), 1)
    assert.equal(log.at(-1), 'd')
  })
})
