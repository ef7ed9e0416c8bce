import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { consumerName, streamName } from './names.ts'
import { readPlace } from './stored.ts'

describe('the place of a stored message', () => {
  it('is read from the subject of its acknowledgement, with and without domain and account', () => {
    const number = fc.integer({ min: 0, max: 2 ** 40 })
    fc.assert(
      fc.property(
        number,
        number,
        number,
        fc.integer({ min: 0, max: 2 ** 42 }),
        number,
        (a, b, c, time, d) => {
          const tail = `events.billing.${a}.${b}.${c}.${time}123456.${d}`
          const expected = {
            stream: 'events',
            deliveries: a,
            sequence: b,
            delivery: c,
            storedAt: time,
            pending: d
          }
          assert.deepEqual(readPlace(`$JS.ACK.${tail}`), expected)
          assert.deepEqual(readPlace(`$JS.ACK.hub.ACCOUNT.${tail}`), expected)
          assert.deepEqual(readPlace(`$JS.ACK.hub.ACCOUNT.${tail}.random`), expected)
        }
      )
    )
  })

  it('has a time also if the clock of the server is set to a time near 1970 or before', () => {
    const at = (time: string) => readPlace(`$JS.ACK.events.billing.1.2.3.${time}.4`)?.storedAt
    assert.deepEqual([at('999'), at('1234567'), at('-1234567')], [0, 1, -1])
  })

  it('is not read from other subjects', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        assert.equal(readPlace(text), undefined)
      })
    )
    assert.equal(readPlace('$JS.ACK.events.billing.a.b.c.d.e'), undefined)
  })
})

describe('names in JetStream', () => {
  it('are allowed by NATS, and differ for different patterns', () => {
    const part = fc.stringMatching(/^[^\s]{1,40}$/u)
    fc.assert(
      fc.property(part, part, (one, other) => {
        assert.match(streamName(one), /^[A-Za-z0-9_-]+$/)
        if (one !== other) assert.notEqual(streamName(one), streamName(other))
      })
    )
    assert.equal(streamName('payments.settled'), 'payments_settled')
    assert.notEqual(streamName('a.b'), streamName('a_b'))
    assert.notEqual(consumerName('a', 'b.c'), consumerName('a_b', 'c'))
  })
})
