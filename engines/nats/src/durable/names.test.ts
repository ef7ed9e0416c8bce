import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER, assertOneReading, textsOf } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { checkDurableSubject, consumerName, idFromHeader, idToHeader, streamName } from './names.ts'

const id = fc.string({ unit: ANY_CHARACTER, minLength: 1 }).filter((text) => !/\p{Cs}/u.test(text))

describe('an id in a header', () => {
  it('is read back unchanged, and has no characters that NATS would trim or split at', () => {
    fc.assert(
      fc.property(id, (given) => {
        const value = idToHeader(given)
        assert.match(value, /^[!-~]+$/)
        assert.equal(idFromHeader(value), given)
      })
    )
  })

  it('of another program is read without an error, and different ids stay different', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (one, other) => {
        if (one !== other && !/[^!-~]/.test(one + other))
          assert.notEqual(idFromHeader(one), idFromHeader(other))
      })
    )
  })
})

describe('the names of streams and consumers', () => {
  const patterns = textsOf('a_-*>~', 3)

  it('are those of the patterns as far as these are plain, up to a hundred characters', () => {
    // Another name would be another stream, beside the one that keeps the events of before.
    for (const length of [1, 99, 100]) assert.equal(streamName('a'.repeat(length)), 'a'.repeat(length))
    assert.match(streamName('a'.repeat(101)), /^a{100}__[0-9a-f]{32}$/)
    assert.equal(consumerName('billing', 'orders.placed'), 'billing_orders_placed')
  })

  it('can be read in one way only', () => {
    const groups = textsOf('a_-~', 3)
    const subjects = [...textsOf('a-*', 2), 'a.a', 'a.-', '-.a', 'a'.repeat(101)]
    assertOneReading(
      groups.flatMap((group) => subjects.map((one) => [consumerName(group, one), group, one] as const))
    )
    const hashed = patterns.map((one) => streamName(one))
    assertOneReading([...patterns, ...hashed].map((one) => [streamName(one), one] as const))
  })
})

describe('the name of a consumer', () => {
  it('differs for different groups or patterns', () => {
    const part = fc.stringMatching(/^[a-c_~-]{1,3}$/)
    const subject = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'))
    fc.assert(
      fc.property(part, subject, part, subject, (group, pattern, otherGroup, otherPattern) => {
        if (group === otherGroup && pattern === otherPattern) return
        assert.notEqual(consumerName(group, pattern), consumerName(otherGroup, otherPattern))
      })
    )
  })
})

describe('the pattern of a durable event', () => {
  it('begins with a text that is not one of NATS', () => {
    for (const pattern of ['*.happened', '>', '$JS.x', '_x.y'])
      assert.throws(() => checkDurableSubject(pattern), {
        name: 'OptionError',
        message: /first part must be a text/
      })
    for (const pattern of ['a', 'a.*', 'a.>']) checkDurableSubject(pattern)
  })
})
