import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressOfCall, addressOfHandler } from '@elysia-microservices/engine'
import { assertOneReading, textsOf } from '@elysia-microservices/test-support'
import { queueOf, queueTogether, whyNot } from './subjects.ts'

const NATS = { title: 'NATS', whyNot }
const subjectOfCall = (route: string) => addressOfCall(NATS, route)
const subjectOfHandler = (route: string | undefined) => addressOfHandler(NATS, route)

describe('queue groups', () => {
  it('belong to one service each, also those for requests that are sent together', () => {
    const services = [...textsOf('a -%2\t', 3), 'a-together', 'a%together']
    assertOneReading(
      services.flatMap((name) => [
        [queueOf(name), name, 'alone'],
        [queueTogether(queueOf(name)), name, 'together']
      ])
    )
    for (const name of services) assert.doesNotMatch(queueOf(name), /\s/)
  })
})

describe('subjects', () => {
  for (const route of ['echo', 'orders.total', '{"a":"x","b":1}', '5', 'a-b_c', 'é', '*a', 'a.>b'])
    it(`are the same as the patterns: ${route}`, () => {
      assert.equal(subjectOfCall(route), route)
      assert.equal(subjectOfHandler(route), route)
    })

  for (const route of ['', 'a b', 'a\tb', 'a\nb', '.', 'a.', '.a', 'a..b', 'a'.repeat(2_049)])
    it(`are refused if NATS cannot have them: ${JSON.stringify(route.slice(0, 10))}`, () => {
      for (const subjectOf of [subjectOfCall, subjectOfHandler])
        assert.throws(() => subjectOf(route), {
          name: 'OptionError',
          message: /^NATS cannot carry the pattern/
        })
    })

  for (const route of ['*', '>', 'orders.*', 'orders.>', '*.created'])
    it(`may have wildcards in handlers, but not in calls: ${route}`, () => {
      assert.equal(subjectOfHandler(route), route)
      assert.throws(() => subjectOfCall(route), { name: 'OptionError', message: /write the segments out/ })
    })

  it('are refused for a RegExp', () => {
    assert.throws(() => subjectOfHandler(undefined), { name: 'OptionError', message: /RegExp/ })
  })
})
