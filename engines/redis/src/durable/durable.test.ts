import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NotStoredError, OptionError } from '@elysia-microservices/transport'
import fc from 'fast-check'
import { durableStorage, type RedisDurableOptions } from '../options/durable-options.ts'
import { before, comparePositions, handlerOf, readHandler, timeOf } from '../words/keys.ts'
import { isFull, isGone, notStored, passes } from './errors.ts'
import { deadLetterOf, messageOf, RedisEvent, readDeadLetter } from './event.ts'

const position = fc
  .tuple(fc.nat({ max: 2 ** 46 }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }))
  .map(([time, number]) => `${time}-${number}`)
const text = fc.string({ unit: 'grapheme', minLength: 1 })
const main = { stream: 's', pattern: 'orders.placed', isAgain: false }

describe('positions', () => {
  it('are compared by time and number, and before() returns a lower position', () => {
    fc.assert(
      fc.property(position, position, (one, other) => {
        assert.equal(Math.sign(comparePositions(one, other)), 0 - Math.sign(comparePositions(other, one)))
        assert.ok(one === '0-0' || comparePositions(before(one), one) < 0)
        assert.equal(timeOf(one), Number(one.split('-')[0]))
      })
    )
    assert.equal(before('5-0'), '4-18446744073709551615')
    assert.ok(Number.isNaN(timeOf('5')))
  })
})

describe('handlers', () => {
  it('of a group are read as they were written', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\S+$/), text, (group, pattern) => {
        assert.deepEqual(readHandler(handlerOf(group, pattern)), { group, pattern })
      })
    )
  })
})

describe('an event', () => {
  it('is read as it was stored, and so are its dead letter and the redriven event', () => {
    fc.assert(
      fc.property(
        ...[fc.json(), text, fc.option(text, { nil: undefined }), fc.dictionary(text, text), position],
        (json, id, key, headers, place) => {
          const packet = `{"pattern":"orders.placed","data":${json}}`
          const fields = ['packet', packet, 'id', id, 'headers', JSON.stringify(headers)]
          if (key !== undefined) fields.push('key', key)
          const event = new RedisEvent(main, place, fields, 2, 0)
          const { data, delivery, route, metadata } = messageOf(event, 'g', '')
          const { data: expected } = JSON.parse(packet)
          assert.deepEqual([data, route, delivery?.id, delivery?.key], [expected, 'orders.placed', id, key])
          assert.deepEqual({ ...(metadata as object) }, { ...headers })
          const letter = deadLetterOf(event, 'why', 'orders.*')
          const read = readDeadLetter('7-7', 'g', letter)
          assert.deepEqual(
            [read.letter.id, read.letter.key, read.letter.data, read.letter.attempts, read.handler],
            [id, key, expected, 2, 'orders.*']
          )
          const back = new RedisEvent({ ...main, pattern: 'orders.*', isAgain: true }, '9-9', letter, 1, 0)
          assert.deepEqual([back.pattern, back.position, back.id], ['orders.placed', place, id])
        }
      )
    )
  })

  it('is read whatever the stream contains, except for invalid JSON', () => {
    const field = fc.oneof(fc.constantFrom('packet', 'id', 'key', 'headers', 'pattern', '__proto__'), text)
    fc.assert(
      fc.property(fc.array(fc.tuple(field, fc.oneof(text, fc.json()))), (pairs) => {
        const event = new RedisEvent(main, '1-1', pairs.flat(), 1, 0)
        readDeadLetter('1-1', 'g', pairs.flat())
        assert.equal(event.pattern, 'orders.placed')
        try {
          messageOf(event, 'g', '')
        } catch (error) {
          assert.ok(error instanceof SyntaxError)
        }
      })
    )
  })
})

describe('an error of Redis', () => {
  it('is reported with advice', () => {
    const full = new Error(
      "OOM command not allowed when used memory > 'maxmemory'. script: 29a, on @user_script:3."
    )
    const error = notStored("the event 'a'", full)
    assert.ok(error instanceof NotStoredError && error.retryable)
    assert.match(error.message, /'maxmemory'\.'; its memory is full: raise its maxmemory/)
    assert.ok(isFull(full) && !passes(full))
    assert.equal(notStored('it', new Error('NOPERM no')).retryable, false)
    assert.ok(passes(new Error('LOADING Redis is loading')))
    assert.ok(isGone(new Error('ERR Error running script: -NOGROUP No such key')))
  })
})

describe('the option durable of redis()', () => {
  it('has defaults', () => {
    const defaults = { maxAge: 604_800_000, duplicateWindow: 120_000, ackWait: 30_000, replicas: 1 }
    assert.deepEqual(durableStorage(undefined), defaults)
    assert.deepEqual(durableStorage({ ackWait: 1_000, maxAge: undefined }), { ...defaults, ackWait: 1_000 })
  })

  for (const [options, path, message] of [
    [{ maxage: 1 }, 'options.durable.maxage', /did you mean options.durable.maxAge/],
    [{ maxAge: 0 }, 'options.durable.maxAge', /1 or more, but is 0; false means no limit/],
    [{ maxAge: 200_000.5 }, 'options.durable.maxAge', /a whole number/],
    [{ maxAge: 1_000 }, 'options.durable.duplicateWindow', /longer than maxAge/],
    [{ duplicateWindow: 1 }, 'options.durable.duplicateWindow', /from 100/],
    [{ ackWait: 10 }, 'options.durable.ackWait', /from 500/]
  ] as const)
    it(`refuses ${JSON.stringify(options)}`, () => {
      assert.throws(
        () => durableStorage(options as RedisDurableOptions),
        (error: Error) => error instanceof OptionError && error.path === path && message.test(error.message)
      )
    })
})
