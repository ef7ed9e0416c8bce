import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NatsEvent } from './event.ts'
import { HeldEvents } from './held.ts'
import { AGAIN_STREAM } from './names.ts'
import { readPlace } from './stored.ts'

interface Delivery {
  readonly sequence: number
  readonly deliveries?: number
  readonly delivery?: number
  readonly storedAt?: number
  readonly stream?: string
  readonly epoch?: number
  readonly lease?: number
}

function delivered({
  sequence,
  deliveries = 1,
  delivery = sequence,
  storedAt = 1,
  stream = 's',
  epoch = 0,
  lease = 10_000
}: Delivery): NatsEvent {
  const reply = `$JS.ACK.${stream}.c.${deliveries}.${sequence}.${delivery}.${storedAt}000000.0`
  const place = readPlace(reply)
  assert.ok(place)
  const data = new Uint8Array(10)
  return new NatsEvent({ subject: 'p', reply, data }, data, place, performance.now() + lease, epoch, 'p')
}

describe('the events that a process holds', () => {
  it('are each there once, with what the last delivery says', () => {
    const held = new HeldEvents()
    const first = delivered({ sequence: 5 })
    assert.equal(held.take(first), 'taken')
    const again = delivered({ sequence: 5, deliveries: 2, delivery: 9, epoch: 1, lease: 20_000 })
    assert.equal(held.take(again), 'here')
    assert.deepEqual(
      [first.reply, first.deliveries, first.delivery, first.epoch, first.leasedUntil],
      [again.reply, 2, 9, 1, again.leasedUntil]
    )
    assert.deepEqual([held.count, held.bytes], [1, 10])
    held.done(first)
    assert.deepEqual([held.count, held.bytes, held.take(again)], [0, 0, 'done'])
  })

  it('are others if they were stored at another time, or redriven', () => {
    const held = new HeldEvents()
    held.take(delivered({ sequence: 5 }))
    assert.equal(held.take(delivered({ sequence: 5, stream: AGAIN_STREAM })), 'taken')
    assert.equal(held.count, 2)
    const newer = delivered({ sequence: 5, storedAt: 2 })
    assert.equal(held.take(newer), 'taken')
    assert.deepEqual([held.count, held.bytes], [2, 20])
    held.forget(newer)
    held.forget(newer)
    assert.deepEqual([held.count, held.bytes, held.take(newer)], [1, 10, 'taken'])
  })

  it('count as delivered only if the server that is asked has delivered them before, and to no one else since', () => {
    const held = new HeldEvents()
    for (const one of [
      delivered({ sequence: 1 }),
      delivered({ sequence: 2 }),
      delivered({ sequence: 3, delivery: 11 }),
      delivered({ sequence: 4, epoch: 1 }),
      delivered({ sequence: 5, lease: -1 }),
      delivered({ sequence: 6, stream: AGAIN_STREAM })
    ])
      held.take(one)
    assert.equal(held.countKnown('s', 10, 0), 2)
    assert.equal(held.countKnown('s', 10, 1), 1)
    assert.equal(held.countKnown('s', 11, 0), 3)
  })
})
