import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Tracker } from './tracker.ts'

describe('positions of a partition', () => {
  it('commit the lowest event that is not done, and know which later events are done', () => {
    const tracker = new Tracker(10)
    for (const offset of [10, 11, 12, 13]) assert.ok(tracker.came(offset))
    tracker.done(11)
    tracker.done(13)
    assert.deepEqual([tracker.lowest, tracker.end, tracker.open], [10, 14, 2])
    const next = new Tracker(tracker.lowest, tracker.beside)
    assert.deepEqual(
      [10, 11, 12, 13, 14].map((offset) => next.came(offset)),
      [true, false, true, false, true]
    )
  })

  it('need no more memory when 100,000 events are done behind an event that is not', () => {
    const tracker = new Tracker(0)
    for (let offset = 0; offset <= 100_000; offset++) {
      tracker.came(offset)
      if (offset > 0) tracker.done(offset)
    }
    assert.equal(tracker.beside, '1 255t')
    const next = new Tracker(0, tracker.beside)
    assert.ok(next.came(0))
    assert.ok(!next.came(100_000))
    assert.ok(next.came(100_001))
  })

  it('write no more metadata than Kafka accepts beside a position; done events that do not fit run again', () => {
    const tracker = new Tracker(0)
    for (let offset = 0; offset < 20_000; offset++) {
      tracker.came(offset)
      if (offset % 2 === 1) tracker.done(offset)
      else tracker.failed(offset, 25)
    }
    assert.ok(tracker.beside.length < 4_096)
    const next = new Tracker(0, tracker.beside)
    const again = Array.from({ length: 20_000 }, (_, offset) => offset).filter((offset) => next.came(offset))
    assert.ok(again.length < 20_000)
    for (let offset = 0; offset < 20_000; offset += 2) assert.ok(again.includes(offset), String(offset))
  })

  it('say how often events have failed that are not done', () => {
    const tracker = new Tracker(10)
    for (const offset of [10, 11, 12, 13]) tracker.came(offset)
    tracker.failed(10, 1)
    tracker.failed(10, 2)
    tracker.failed(13, 40)
    tracker.failed(11, 5)
    tracker.done(11)
    // An event that is not here cannot fail here.
    tracker.failed(11, 6)
    tracker.failed(14, 1)
    assert.equal(tracker.beside, '1 4*2,2,1*14')
    let next = tracker
    // The counts also pass through a process in which the events have not arrived.
    for (let member = 0; member < 2; member++) next = new Tracker(next.lowest, next.beside)
    assert.deepEqual(
      [10, 11, 12, 13].map((offset) => next.failures(offset)),
      [2, 0, 0, 40]
    )
    for (const offset of [10, 12, 13]) {
      next.came(offset)
      next.done(offset)
    }
    assert.deepEqual([next.beside, next.lowest, next.failures(10)], ['', 14, 0])
  })

  it('are committed when an event fails, and once', () => {
    const tracker = new Tracker(10)
    tracker.came(10)
    assert.equal(tracker.isDirty, false)
    tracker.failed(10, 1)
    assert.equal(tracker.isDirty, true)
  })

  it('go on over events that were not done and that Kafka does not have any more', () => {
    const tracker = new Tracker(10, '1 3')
    assert.equal(tracker.lowest, 10)
    assert.equal(tracker.came(11), false)
    assert.deepEqual([tracker.lowest, tracker.isDirty], [13, true])
  })

  it('ignore malformed metadata beside a position', () => {
    const noise = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.string({ maxLength: 30 }).map((text) => `1 ${text}`),
      fc.constantFrom('1 1,zzzzzzzzzz', '1 ', '1', '2 5', '1 5,', '1 -5', '1 5*', '1 5*1*2', '1 *5')
    )
    fc.assert(
      fc.property(noise, (beside) => {
        const tracker = new Tracker(5, beside)
        // The event at the lowest position is never done, whatever the metadata says.
        assert.ok(tracker.came(5))
      })
    )
  })

  it('lose no event and run none twice, in whatever order events end and partitions move to another member', () => {
    // Offsets need not be consecutive. Each number of the story decides what happens next.
    const story = fc.array(fc.nat(999), { maxLength: 200, size: 'max' })
    const gaps = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 60, maxLength: 60, size: 'max' })
    fc.assert(
      fc.property(story, gaps, (steps, distances) => {
        let at = 0
        const offsets = distances.map((distance) => (at += distance))
        const done = new Map<number, number>()
        let tracker = new Tracker(0)
        let open: number[] = []
        let index = 0
        const end = (offset: number) => {
          open = open.filter((one) => one !== offset)
          done.set(offset, (done.get(offset) ?? 0) + 1)
          tracker.done(offset)
        }
        const take = () => {
          const offset = offsets[index++]
          if (offset === undefined) return
          if (tracker.came(offset)) open.push(offset)
          else assert.ok(done.has(offset), `${offset} was passed over`)
        }
        const goOver = () => {
          // An offset that is not done is open, or has not arrived.
          for (const offset of offsets.slice(0, index)) assert.ok(done.has(offset) || open.includes(offset))
          assert.ok(open.every((offset) => offset >= tracker.lowest))
          tracker = new Tracker(tracker.lowest, tracker.beside)
          index = offsets.findIndex((offset) => offset >= tracker.lowest)
          if (index === -1) index = offsets.length
          open = []
        }
        for (const step of steps) {
          if (step < 550) take()
          else if (step < 970 && open.length > 0) end(open[step % open.length] as number)
          else if (step >= 970) goOver()
        }
        while (index < offsets.length) take()
        for (const offset of [...open]) end(offset)
        assert.deepEqual(
          offsets.map((offset) => done.get(offset)),
          offsets.map(() => 1)
        )
        assert.equal(tracker.beside, '')
      })
    )
  })
})
