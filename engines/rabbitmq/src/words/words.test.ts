import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressOfCall, addressOfHandler, checkHeaders } from '@elysia-microservices/engine'
import { assertOneReading, textsOf } from '@elysia-microservices/test-support'
import { routeMatches } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import type { Received } from '../driver.ts'
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
import { asking, expiring, readReplyOf, replyTo, routeOfMessage, withoutId } from './properties.ts'

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

  it('are as long as RabbitMQ allows, and so are names of users', () => {
    const [longest, longer] = ['x'.repeat(255), 'x'.repeat(256)]
    assert.equal(addressOfHandler(RABBITMQ, longest), longest)
    assert.equal(whyNoHeader(longest, ''), undefined)
    assert.match(whyNoHeader(longer, '') ?? '', /more than 255 bytes/)
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

describe('names', () => {
  it('have the group and the pattern as they are, up to the longest that RabbitMQ allows', () => {
    const [group, pattern] = ['g'.repeat(100), 'p'.repeat(255 - '_elysia.d.'.length - 101)]
    assert.equal(queueOfGroup(group, pattern), `_elysia.d.${group}:${pattern}`)
    assert.match(queueOfGroup(group, `${pattern}p`), /^_elysia\.d\.g{100}:\.[\w-]{43}$/)
    assert.match(queueOfGroup(`${group}g`, 'p'), /^_elysia\.d\.%\.[\w-]{43}:p$/)
  })
})

describe('properties', () => {
  const inbox = inboxOf('abcdefghijkl')
  const received = (content: string, type?: unknown) =>
    ({ content: Buffer.from(content), properties: { type } }) as unknown as Received

  it('of a request name where its answer goes, and that it comes back if nobody takes it', () => {
    const expected = { replyTo: inbox.slice(0, -1), correlationId: '1r7', mandatory: true }
    assert.deepEqual([replyTo(`${inbox}1r7`), replyTo(''), replyTo(undefined)], [expected, {}, {}])
  })

  it('of another message name its sender, who hears if nobody takes it', () => {
    assert.deepEqual(asking('a'), { messageId: 'a', mandatory: true })
    assert.deepEqual(asking('a', false), { messageId: 'a', mandatory: false })
    assert.deepEqual([asking(''), asking(undefined)], [{}, {}])
    const read = [`${inbox}1`, undefined, 'orders', 7].map(readReplyOf)
    assert.deepEqual(read, [`${inbox}1`, '', '?', '?'])
  })

  it('say for how many milliseconds a request is of use, which is at least one', () => {
    const found = [0, 1, 1.5, 2 ** 31 - 1, 2 ** 31, undefined].map((time) => expiring(time).expiration)
    assert.deepEqual(found, ['1', '1', '2', '2147483647', undefined, undefined])
  })

  it('name the route of a message, or its packet does; one without either is refused', () => {
    const packet = '{"pattern":"packed","data":1}'
    assert.equal(routeOfMessage(received(packet, 'typed')), 'typed')
    for (const type of ['', undefined, 7]) assert.equal(routeOfMessage(received(packet, type)), 'packed')
    for (const content of ['{"data":1}', '{"pattern":"a.*"}', 'null'])
      assert.throws(() => routeOfMessage(received(content)), /has no pattern/)
    assert.throws(() => routeOfMessage(received('{')), /is not JSON/)
  })

  it('carry the id of an answer, which its packet then has no more', () => {
    assert.equal(withoutId('{"response":1,"id":"7"}', '7'), '{"response":1}')
    assert.equal(withoutId('{"id":"7"}', '7'), '{}')
    assert.equal(withoutId('{"response":"\\"id\\":\\"7\\""}', '7'), '{"response":"\\"id\\":\\"7\\""}')
    assert.equal(withoutId('{"response":1,"id":"8"}', '7'), '{"response":1,"id":"8"}')
    const bytes = Buffer.from('{"id":"7"}')
    assert.equal(withoutId(bytes, '7'), bytes)
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
    { [PRIORITY]: '-1' },
    { [PRIORITY]: '1.5' },
    { 'x-a': '\ud800' }
  ])
    it(`are refused: ${JSON.stringify(given)}`, () => {
      assert.throws(() => checkHeaders(RABBITMQ, given), {
        name: 'OptionError',
        message: /cannot be a header of RabbitMQ/
      })
    })

  it('with a priority are taken from 0 to 255', () => {
    for (const priority of ['0', '255']) assert.equal(whyNoHeader(PRIORITY, priority), undefined)
  })

  it('are absent if there are none', () => {
    assert.deepEqual(writeHeaders(undefined), {})
    assert.deepEqual(writeHeaders({}), {})
    assert.deepEqual(writeHeaders({ [PRIORITY]: '3' }), { priority: 3 })
    assert.equal(readHeaders(undefined, undefined), undefined)
    assert.equal(readHeaders(null, undefined), undefined)
    assert.deepEqual(readHeaders(undefined, 3), { [PRIORITY]: '3' })
  })

  it('are read from the records of NestJS', () => {
    class RmqRecord {
      readonly data = 1
      readonly options = { headers: { a: 'b' }, priority: 3 }
    }
    assert.deepEqual(recordOf(new RmqRecord()), { data: 1, headers: { a: 'b', [PRIORITY]: '3' } })
    assert.equal(recordOf({ data: 1, options: {} }), undefined)
    assert.equal(recordOf(null), undefined)
    const bare = Object.assign(new RmqRecord(), { options: undefined })
    assert.deepEqual(recordOf(bare), { data: 1, headers: undefined })
    const plain = Object.assign(new RmqRecord(), { options: { headers: { a: 'b' } } })
    assert.deepEqual(recordOf(plain), { data: 1, headers: { a: 'b' } })
  })
})
