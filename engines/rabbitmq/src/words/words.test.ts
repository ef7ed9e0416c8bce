import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressOfCall, addressOfHandler, checkHeaders } from '@elysia-microservices/engine'
import { assertOneReading, textsOf } from '@elysia-microservices/test-support'
import { routeMatches } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { PRIORITY, readHeaders, recordOf, whyNoHeader, writeHeaders } from './headers.ts'
import {
  bindingOf,
  exchangeOf,
  inboxOf,
  isInbox,
  keyOf,
  nestAnswerOf,
  queueOfDead,
  queueOfGroup,
  queueOfInbox,
  queueOfMembers,
  queueOfPause,
  queueOfPaused,
  queueOfRuns,
  queueOfService,
  readNestAnswer,
  replyOf,
  routeOfKey,
  whyNot
} from './names.ts'

const RABBITMQ = { title: 'RabbitMQ', whyNot, whyNoHeader }

const segment = fc
  .oneof(fc.constantFrom('#', '%', '%#', '#a', 'a', 'b'), fc.string({ minLength: 1 }))
  .map(plain)
const route = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join('.'))
const secret = fc.stringMatching(/^[a-z2-7]{12}$/)
const token = fc.stringMatching(/^[!-~]{1,40}$/)

function plain(text: string): string {
  const left = text.replace(/[.*>]/g, 'x')
  return left === '' ? 'x' : left
}

/** Whether a binding matches a key, by the rules of RabbitMQ's topic exchanges. */
function isBound(binding: readonly string[], key: readonly string[]): boolean {
  const [first, ...rest] = binding
  if (first === undefined) return key.length === 0
  if (first === '#') return isBound(rest, key) || (key.length > 0 && isBound(binding, key.slice(1)))
  return key.length > 0 && (first === '*' || first === key[0]) && isBound(rest, key.slice(1))
}

describe('routing keys', () => {
  it('are converted back to their routes', () => {
    fc.assert(fc.property(route, (given) => assert.equal(routeOfKey(keyOf(given)), given)))
  })

  it('match a binding exactly if the pattern matches the route', () => {
    const wild = fc
      .array(fc.oneof(fc.constant('*'), segment), { minLength: 1, maxLength: 4 })
      .chain((head) => fc.constantFrom([...head], [...head, '>'], ['>']))
      .map((segments) => segments.join('.'))
    fc.assert(
      fc.property(wild, route, (pattern, given) => {
        const isTaken = isBound(bindingOf(pattern).split('.'), keyOf(given).split('.'))
        assert.equal(isTaken, routeMatches(pattern, given))
      })
    )
  })

  for (const [given, message] of [
    [undefined, /RegExp/],
    ['a..b', /a segment of it is empty/],
    ['x'.repeat(256), /more than 255 bytes/]
  ] as const)
    it(`are refused for ${String(given).slice(0, 20)}`, () => {
      assert.throws(() => addressOfHandler(RABBITMQ, given), { name: 'OptionError', message })
    })

  it('are refused for calls with wildcards', () => {
    for (const one of ['a.*', '>']) assert.throws(() => addressOfCall(RABBITMQ, one), { name: 'OptionError' })
  })
})

describe('queues', () => {
  it('of inboxes are read from their addresses', () => {
    fc.assert(
      fc.property(secret, token, (given, behind) => {
        const inbox = inboxOf(given)
        const address = inbox + behind
        assert.ok(isInbox(address))
        assert.equal(`${queueOfInbox(address)}.`, inbox)
        assert.equal(replyOf(queueOfInbox(address), behind, []), address)
      })
    )
  })

  it('of NestJS clients are read from the addresses of their answers, and no other address is an inbox', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (name, correlation) => {
        const queue = `amq.rabbitmq.reply-to.${name.replaceAll('\n', '')}`
        assert.deepEqual(readNestAnswer(replyOf(queue, correlation, [])), { queue, correlation })
        const reply = replyOf(name, correlation, [])
        assert.ok(reply === name || isInbox(reply) || name.startsWith('_elysia.n.'))
        assert.ok(!isInbox(nestAnswerOf({ queue, correlation })))
      })
    )
    assert.equal(replyOf('orders', 'x', []), 'orders')
    const forged = replyOf(nestAnswerOf({ queue: 'orders', correlation: 'x' }), 'x', [])
    assert.equal(readNestAnswer(forged), undefined)
    assert.deepEqual(readNestAnswer(replyOf('given', 'x', ['given'])), { queue: 'given', correlation: 'x' })
    assert.equal(replyOf(7, 'x', []), '')
  })

  it('can be read in one way only, and their group is what stands before the colon', () => {
    const groups = [...textsOf('a:%#~.', 3), 'g'.repeat(101), 'g'.repeat(102), 'é'.repeat(60)]
    const patterns = [...textsOf('a:%#', 2), 'a.a', 'p'.repeat(250), 'p'.repeat(251)]
    const named: [name: string, ...parts: string[]][] = []
    for (const group of groups) {
      for (const of of [queueOfDead, queueOfMembers, queueOfPaused, exchangeOf])
        named.push([of(group), of.name, group])
      for (const pattern of patterns) {
        for (const of of [queueOfService, queueOfGroup, queueOfRuns])
          named.push([of(group, pattern), of.name, group, pattern])
        for (const length of ['short', 'long'] as const)
          named.push([queueOfPause(group, pattern, length), length, group, pattern])
      }
    }
    assertOneReading(named)
    // Rights are given by what stands before the colon.
    assertOneReading(
      named.map(([name, , group]) => [name.replace(/^_elysia\.[a-z]+\./, '').split(':')[0] as string, group])
    )
    for (const [name] of named) assert.ok(Buffer.byteLength(name) <= 255)
  })
})

describe('headers', () => {
  it('are read as they were written', () => {
    const name = fc
      .string({ minLength: 1, maxLength: 20 })
      .filter((one) => one !== PRIORITY && one !== '__proto__')
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.string(), { minKeys: 1 }),
        fc.option(fc.nat(255)),
        (given, priority) => {
          const all = priority === null ? given : { ...given, [PRIORITY]: String(priority) }
          let isRefused = false
          try {
            checkHeaders(RABBITMQ, all)
          } catch {
            isRefused = true
          }
          if (isRefused) return
          const written = writeHeaders(all)
          assert.deepEqual({ ...readHeaders(written.headers, written.priority) }, { ...all })
        }
      )
    )
  })

  it('are read whatever they contain', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (given, priority) => void readHeaders(given, priority))
    )
    assert.deepEqual(readHeaders({ a: 1, b: true, c: [1], 'x-death': 'x' }, undefined), { a: '1', b: 'true' })
  })

  for (const given of [
    { CC: 'orders' },
    { bcc: 'x' },
    { [PRIORITY]: '256' },
    { [PRIORITY]: 'high' },
    { 'x-a': '\ud800' }
  ])
    it(`are refused: ${JSON.stringify(given)}`, () => {
      assert.throws(() => checkHeaders(RABBITMQ, given), {
        name: 'OptionError',
        message: /cannot be a header of RabbitMQ/
      })
    })

  it('are read from the records of NestJS', () => {
    class RmqRecord {
      readonly data = 1
      readonly options = { headers: { a: 'b' }, priority: 3 }
    }
    assert.deepEqual(recordOf(new RmqRecord()), { data: 1, headers: { a: 'b', [PRIORITY]: '3' } })
    assert.equal(recordOf({ data: 1, options: {} }), undefined)
  })
})
