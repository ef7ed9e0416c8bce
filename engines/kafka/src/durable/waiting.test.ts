import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { readBatches, writeBatch } from '../words/batch.ts'
import { writeRecord } from '../words/record.ts'
import { Partitions, Source } from './partition.ts'
import { KafkaEvent } from './stored.ts'
import { WaitingEvents } from './waiting.ts'

const at = (topic: string, partition: number) =>
  new Source('a', { topic, topicId: 'id', partition, next: 0n, metadata: '' })

function eventsOf(source: Source, count: number): KafkaEvent[] {
  const records = Array.from({ length: count }, (_, n) => writeRecord(undefined, String(n)))
  return readBatches(writeBatch(records, 0), 0).records.map((one) => new KafkaEvent(source, one))
}

function taken(waiting: WaitingEvents): KafkaEvent[] {
  const all: KafkaEvent[] = []
  for (let event = waiting.next(); event !== undefined; event = waiting.next()) all.push(event)
  return all
}

describe('events that wait', () => {
  it('are taken in the order of arrival, and events that were put back come first', () => {
    const steps = fc.array(fc.oneof(fc.constant('back' as const), fc.integer({ min: -9, max: 9 })), {
      maxLength: 60,
      size: 'max'
    })
    fc.assert(
      fc.property(steps, (all) => {
        const events = eventsOf(at('a', 0), 600)
        const waiting = new WaitingEvents(() => {}, systemClock)
        const expected: KafkaEvent[] = []
        let held: KafkaEvent[] = []
        let come = 0
        for (const step of all) {
          if (step === 'back') {
            waiting.putBack(held)
            expected.unshift(...held)
            held = []
          } else if (step > 0) {
            for (const event of events.slice(come, come + step)) {
              waiting.add(event)
              expected.push(event)
            }
            come += step
          } else
            for (let n = step; n < 0; n++) {
              const event = waiting.next()
              assert.equal(event, expected.shift())
              if (event !== undefined) held.push(event)
            }
          assert.equal(waiting.isFull('fresh'), expected.length > 0)
        }
        assert.deepEqual(taken(waiting), expected)
      })
    )
  })

  it('are dropped with their partition, and retried events come first', () => {
    const [one, other, again] = [at('a', 0), at('a', 1), at('a.retry-1', 0)]
    const [first, second] = [eventsOf(one, 3), eventsOf(other, 3)]
    const [free] = eventsOf(again, 1) as [KafkaEvent]
    const waiting = new WaitingEvents(() => {}, systemClock)
    for (const event of [...first, ...second]) waiting.add(event)
    const [gone] = eventsOf(at('a.retry-1', 1), 1) as [KafkaEvent]
    for (const event of [gone, free]) waiting.addLater(event, 0)
    waiting.drop(new Set([one, gone.source]))
    assert.deepEqual(taken(waiting), [free, ...second])
  })

  it('do not keep fresh events from being read while they are not due', () => {
    const waiting = new WaitingEvents(() => {}, systemClock)
    for (const event of eventsOf(at('a.retry-1', 0), 1_001)) waiting.addLater(event, 60_000)
    assert.equal(waiting.isFull('again'), true)
    assert.equal(waiting.isFull('fresh'), false)
    const kept = at('a', 0)
    for (const event of eventsOf(kept, 1_001)) waiting.addLater(event, 60_000)
    assert.equal(waiting.isFull('fresh'), true)
    waiting.drop(new Set([kept]))
    assert.equal(waiting.isFull('fresh'), false)
    waiting.stop()
  })

  it('come when they are due, unless their partition was dropped', async () => {
    const [stays, goes] = [at('a.retry-1', 0), at('a.retry-1', 1)]
    const [one] = eventsOf(stays, 1) as [KafkaEvent]
    const [other] = eventsOf(goes, 1) as [KafkaEvent]
    await new Promise<void>((resolve) => {
      const waiting = new WaitingEvents(() => {
        assert.deepEqual(taken(waiting), [one])
        resolve()
      }, systemClock)
      waiting.addLater(other, 1)
      waiting.addLater(one, 5)
      waiting.drop(new Set([goes]))
      assert.equal(waiting.next(), undefined)
    })
  })
})

describe('positions', () => {
  it('are committed one after the other, and a refused commit is repeated', async () => {
    const commits: { readonly next: bigint; end(error?: Error): void }[] = []
    const partitions = new Partitions({
      pattern: 'a',
      clock: systemClock,
      canCommit: () => true,
      commit: ([position]) =>
        new Promise((resolve, reject) => {
          const end = (error?: Error) => (error === undefined ? resolve() : reject(error))
          commits.push({ next: position?.next ?? -1n, end })
        }),
      failed: () => {}
    })
    partitions.add({ topic: 'a', topicId: 'id', partition: 0, next: 0n, metadata: '' })
    const { tracker } = partitions.get('a', 0) as Source
    tracker.came(0)
    tracker.came(1)
    tracker.done(0)
    const first = partitions.commit()
    await new Promise(setImmediate)
    tracker.done(1)
    const second = partitions.commit()
    await new Promise(setImmediate)
    assert.deepEqual(
      commits.map(({ next }) => next),
      [1n]
    )
    commits[0]?.end(new Error('not now'))
    await assert.rejects(first, /not now/)
    await new Promise(setImmediate)
    assert.deepEqual(
      commits.map(({ next }) => next),
      [1n, 2n]
    )
    commits[1]?.end()
    await second
    assert.equal(tracker.isDirty, false)
    partitions.stop()
  })
})
