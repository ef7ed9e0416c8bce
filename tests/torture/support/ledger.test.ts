/** The ledger must notice every kind of wrong outcome. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConnectionError, TimeoutError } from '@elysia-microservices/transport'
import { Ledger } from './ledger.ts'
import { slope } from './memory.ts'

const runs = (...ids: readonly number[]) =>
  ids.reduce((counts, id) => counts.set(id, (counts.get(id) ?? 0) + 1), new Map<number, number>())

describe('a ledger', () => {
  it('counts requests that succeed, and those that fail with an error of this library', () => {
    const ledger = new Ledger()
    const [good, bad] = [ledger.begin(), ledger.begin()]
    ledger.answered(good, true, good)
    ledger.failed(bad, new TimeoutError('echo', 10))
    assert.deepEqual(ledger.account(runs(good, bad)), {
      requests: 2,
      succeeded: 1,
      failed: 1,
      lost: 0,
      doubled: 0,
      hung: 0
    })
    assert.deepEqual(ledger.untruths(runs(good, bad)), [])
    assert.deepEqual([...ledger.errors], [['TIMEOUT', 1]])
  })

  it('counts as lost a call that got the answer of another, or failed with an error of no class of this library', () => {
    const ledger = new Ledger()
    ledger.answered(ledger.begin(), false, 7)
    ledger.failed(ledger.begin(), new TypeError('oops'))
    assert.equal(ledger.account(runs()).lost, 2)
    assert.deepEqual(ledger.untruths(runs()), [
      'request 1 was answered with 7',
      'request 2 failed with something that is none of our errors: TypeError: oops'
    ])
  })

  it('counts as doubled a request that settles twice, or runs twice unless that is allowed', () => {
    const ledger = new Ledger()
    const id = ledger.begin()
    ledger.answered(id, true, id)
    ledger.failed(id, new TimeoutError('echo', 10))
    assert.equal(ledger.account(runs(id)).doubled, 1)
    assert.equal(ledger.account(runs(id, id)).doubled, 2)
    assert.equal(ledger.account(runs(id, id), true).doubled, 1)
  })

  it('counts as hung a request that has not settled in time', async () => {
    const ledger = new Ledger()
    ledger.begin()
    await ledger.settled(1)
    assert.equal(ledger.account(runs()).hung, 1)
  })

  it('notices if an error says that a request cannot have run, although it ran', () => {
    const ledger = new Ledger()
    const [unsent, lost, answered] = [ledger.begin(), ledger.begin(), ledger.begin()]
    ledger.failed(unsent, new ConnectionError('no', false))
    ledger.failed(lost, new ConnectionError('no', true))
    ledger.answered(answered, true, answered)
    assert.deepEqual(ledger.untruths(runs(lost, answered)), [])
    assert.deepEqual(ledger.untruths(runs(unsent)), [
      '1 requests were answered though their handler never ran',
      '1 requests ran though their error said they cannot have'
    ])
  })
})

describe('the growth of memory', () => {
  it('is the slope of the line that fits the samples best', () => {
    const samples = [0, 1, 2, 3].map((at) => ({ at, mb: 50 + 2 * at + (at % 2 === 0 ? 0.1 : -0.1) }))
    assert.ok(Math.abs((slope(samples) ?? 0) - 2) < 0.1)
    assert.equal(slope(samples.slice(0, 2)), undefined)
  })
})
