import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Delivery, Discard } from '@elysia-microservices/transport/kit'
import { type TransactionalRun, TransactionalRuns } from './transactional-runs.ts'

interface Event {
  readonly pattern: string
  readonly id: string
  isAcknowledged: boolean
}

/** Runs of one handler, and the lines of its log. */
function running() {
  const runs = new TransactionalRuns<Event>()
  const lines: string[] = []
  const logger = { warn: (line: string) => void lines.push(line), error() {} }
  const run = (handle: (run: TransactionalRun<Event>, delivery: Delivery) => void | Promise<void>) => {
    const event = { pattern: 'p', id: 'a', isAcknowledged: true }
    const delivery = {} as Delivery
    const ended = runs.around(delivery, event, logger, () => handle(runs.of(delivery), delivery))
    return { event, delivery, ended }
  }
  return { runs, lines, run }
}

/** A transaction of the run is committed. */
function commit(run: TransactionalRun<Event>): void {
  run.isCommitted = true
  run.event.isAcknowledged = true
}

describe('a run of a transactional handler', () => {
  it('succeeds with its transaction, and not before it', async () => {
    const { run } = running()
    let end = () => {}
    let isOver = false
    const { event, ended } = run((one) => {
      // The handler does not wait for it.
      one.transaction = new Promise<void>((resolve) => {
        end = resolve
      }).then(() => commit(one))
    })
    void ended.then(() => {
      isOver = true
    })
    await new Promise(setImmediate)
    assert.deepEqual([isOver, event.isAcknowledged], [false, false])
    end()
    await ended
    assert.equal(event.isAcknowledged, true)
  })

  it('fails without a transaction, whatever a run before it had, and with the error of one that nobody has awaited', async () => {
    const { run } = running()
    const bare = run(() => {})
    await assert.rejects(bare.ended, /has ended without its transaction: call store\.transaction\(delivery/)
    assert.equal(bare.event.isAcknowledged, false)
    const failed = run((one) => {
      one.transaction = Promise.reject(new Error('rolled back'))
    })
    await assert.rejects(failed.ended, /rolled back/)
  })

  it('fails with the error of its handler, after its transaction has ended', async () => {
    const { run } = running()
    let isEnded = false
    const { ended } = run((one) => {
      one.transaction = new Promise<void>((_, reject) =>
        setImmediate(() => {
          isEnded = true
          reject(new Error('second'))
        })
      )
      throw new Discard('first')
    })
    await assert.rejects(ended, /first/)
    assert.equal(isEnded, true)
  })

  it('is no failure if the event is gone, nor after a commit, which the log tells', async () => {
    const { run, lines } = running()
    const gone = run((one) => {
      one.isGone = true
      throw new Error('another process has it')
    })
    await gone.ended
    assert.deepEqual([gone.event.isAcknowledged, lines], [true, []])
    await run((one) => {
      commit(one)
      throw new Error('too late')
    }).ended
    assert.match(lines.join(), /'p' \(id a\) has failed after its transaction was committed/)
  })

  it('has one transaction, while it runs, for a delivery of this store', async () => {
    const { runs, run } = running()
    const { delivery, ended } = run((one, of) => {
      one.transaction = Promise.resolve()
      assert.throws(() => runs.of(of), /has a transaction already/)
      one.transaction = undefined
      assert.equal(runs.of(of), one)
      commit(one)
      assert.throws(() => runs.of(of), /has a transaction already/)
    })
    await ended
    assert.throws(() => runs.of(delivery), /has ended: await its transaction/)
    for (const other of [undefined, {} as Delivery])
      assert.throws(() => runs.of(other), /which a handler with durable: { transactional: true } has/)
  })
})
