import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressOfCall, addressOfHandler, checkHeaders } from '@elysia-microservices/engine'
import { ANY_CHARACTER, assertOneReading, textsOf } from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { readHeaders, recordOf, whyNoHeader, writeHeaders } from './headers.ts'
import { idOfAnswer, readNest, retained, withId } from './packets.ts'
import { expiring, heardAt } from './properties.ts'
import {
  ADDRESSING,
  answerAddress,
  filterOf,
  inboxOf,
  isInbox,
  isTopic,
  LEVELS,
  matches,
  placeOf,
  readAnswerAddress,
  replyAddress,
  sharedFilter
} from './topics.ts'

const text = fc.string({ unit: ANY_CHARACTER, size: 'max', maxLength: 300 })
const level = fc.stringMatching(/^[a-z0-9.]{0,3}$/)
const topic = fc.array(level, { minLength: 1, maxLength: 6 }).map((levels) => levels.join('/'))
const INBOX = '_elysia/i/abcdefghijkl.1r17-abcdefghijkl-'

describe('an expiry', () => {
  it('is a whole number of seconds, never less than was asked for', () => {
    const seconds = [1, 1_000, 1_001, undefined, 2 ** 40].map((time) => expiring(time).messageExpiryInterval)
    assert.deepEqual(seconds, [1, 1, 2, undefined, undefined])
  })
})

describe('topics', () => {
  it('of any text are refused with a reason, or can be published to', () => {
    fc.assert(
      fc.property(fc.oneof(text, topic, fc.stringMatching(/^[+#/a$]{0,6}$/)), (route) => {
        try {
          assert.ok(isTopic(addressOfCall(ADDRESSING, route)))
        } catch (error) {
          assert.ok(error instanceof OptionError)
          assert.match(error.message, /^MQTT cannot carry the pattern '[\s\S]*': ./)
        }
      })
    )
  })

  it('have no more bytes and levels than servers allow', () => {
    const longest = 'x'.repeat(65_000)
    assert.deepEqual([isTopic(longest), isTopic(`${longest}x`)], [true, false])
    assert.equal(addressOfHandler(ADDRESSING, longest), longest)
    const deepest = Array.from({ length: 190 }, () => 'a').join('/')
    assert.equal(addressOfHandler(ADDRESSING, deepest), deepest)
    for (const pattern of [`${longest}x`, `${deepest}/a`])
      assert.throws(() => addressOfHandler(ADDRESSING, pattern), /more than 65000 bytes or 190 levels/)
    for (const no of ['', 'a/+', 'a#', 'a\u0001', '\ufffe']) assert.equal(isTopic(no), false, no)
  })

  it('match filters as the specification says', () => {
    for (const [filter, given, isMatch] of [
      ['a/+', 'a/b', true],
      ['a/+', 'a', false],
      ['a/+', 'a/', true],
      ['a/+', 'a/b/c', false],
      ['a/#', 'a', true],
      ['a/#', 'a/b/c', true],
      ['#', 'a/b', true],
      ['a/b', 'a/c', false],
      ['a/b', 'b/b', false],
      ['a/+', 'b/c', false],
      ['+/b', 'a/c', false],
      ['a/#', 'b/c', false],
      ['+/+', '/a', true],
      ['+', '/a', false],
      ['#', '$SYS/a', false],
      ['+/a', '$SYS/a', false],
      ['$SYS/#', '$SYS/a', true]
    ] as const)
      assert.equal(matches(filter, given), isMatch, `${filter} ${given}`)
  })

  it('match themselves, also with a wildcard in place of a level', () => {
    fc.assert(
      fc.property(topic, fc.nat(), (given, at) => {
        const levels = given.split('/')
        const index = at % levels.length
        assert.ok(matches(given, given))
        assert.ok(matches(levels.with(index, '+').join('/'), given))
        assert.ok(matches([...levels.slice(0, index), '#'].join('/'), given))
      })
    )
  })

  it('have the more specific pattern first, whatever the order', () => {
    const sorted = ['a/b', '$share/g/a/b', 'a/+', 'a/#', '+/b', '#']
    const given = [...sorted].reverse().sort(LEVELS.compare)
    assert.deepEqual(given, sorted)
  })

  it('are subscribed to in groups', () => {
    assert.equal(sharedFilter('a/+', 'orders'), '$share/orders/a/+')
    assert.equal(sharedFilter('a/+', 'a/b'), '$share/a%2Fb/a/+')
    assert.equal(sharedFilter('a/+', undefined), 'a/+')
    const queues = textsOf('a/%2F+#', 3)
    assertOneReading(
      queues.flatMap((queue) =>
        ['a', 'a/a', 'F/a'].map((one) => [sharedFilter(one, queue), one, queue] as const)
      )
    )
    assert.equal(sharedFilter('$share/g/a/+', 'orders'), '$share/g/a/+')
    assert.equal(sharedFilter('$share/g/a/+', 'orders', '_elysia/t/'), '$share/g/_elysia/t/a/+')
    assert.equal(filterOf('$share/g/a/+'), 'a/+')
  })

  it('of this library are hidden from handlers', () => {
    for (const pattern of [
      '_elysia/everyone',
      'a/reply',
      '$SYS/a',
      'a#',
      '#/a',
      '',
      'a.*',
      '>',
      '$share/g',
      'a\u0001'
    ])
      assert.throws(() => addressOfHandler(ADDRESSING, pattern), OptionError, pattern)
    for (const pattern of ['a', '/', 'a//b', '+', '#', '{"a":"b.*"}', '$share/g/#', 'a.b'])
      assert.equal(addressOfHandler(ADDRESSING, pattern), pattern)
    for (const pattern of ['+', 'a/#', '$share/g/a'])
      assert.throws(() => addressOfCall(ADDRESSING, pattern), OptionError)
  })
})

describe('addresses', () => {
  it('of inboxes have a topic and correlation data', () => {
    for (const prefix of [undefined, 'web']) {
      const inbox = inboxOf('abcdefghijkl', prefix)
      assert.ok(isInbox(`${inbox}1r1-a-`))
      assert.deepEqual(placeOf(`${inbox}1r1`), { topic: inbox.slice(0, -1), token: '1r1' })
      assert.ok(!isInbox(inbox))
    }
  })

  it('in a request are accepted only if they are inboxes or allowed', () => {
    const own = ['devices/+/answers']
    assert.equal(
      replyAddress('a', '_elysia/i/abcdefghijkl', Buffer.from('1r1'), own),
      '_elysia/i/abcdefghijkl.1r1'
    )
    assert.deepEqual(readAnswerAddress(replyAddress('a', 'a/reply', undefined, own)), {
      topic: 'a/reply',
      correlation: ''
    })
    assert.deepEqual(readAnswerAddress(replyAddress('a', 'devices/7/answers', Buffer.from([0, 255]), own)), {
      topic: 'devices/7/answers',
      correlation: 'AP8='
    })
    assert.equal(replyAddress('a', '_elysia/everyone', undefined, ['#']), 'topic _elysia/everyone')
    fc.assert(
      fc.property(fc.oneof(text, topic), text, (responseTopic, correlation) => {
        fc.pre(responseTopic !== 'a/reply')
        const address = replyAddress('a', responseTopic, Buffer.from(correlation), own)
        const asker = readAnswerAddress(address)
        assert.ok(!isInbox(address))
        assert.ok(asker === undefined || matches('devices/+/answers', asker.topic))
      })
    )
  })

  it('of senders are read from messages at inboxes, and one that is no inbox leads nowhere', () => {
    const heard = (correlation: string, responseTopic?: string) =>
      heardAt('_elysia/i/abcdefghijkl', Buffer.from(''), {
        retain: false,
        properties: {
          correlationData: Buffer.from(correlation),
          ...(responseTopic !== undefined && { responseTopic })
        }
      })
    const address = '_elysia/i/abcdefghijkl.7'
    for (const [correlation, responseTopic, reply] of [
      ['7', undefined, ''],
      ['7 8', undefined, ''],
      ['7 8', '_elysia/i/mnopqrstuvwx', '_elysia/i/mnopqrstuvwx.8'],
      ['7 8', 'anywhere', '?'],
      ['7', 'anywhere', '?']
    ] as const)
      assert.deepEqual(
        [heard(correlation, responseTopic).address, heard(correlation, responseTopic).reply],
        [address, reply]
      )
  })

  it('of answers to NestJS and devices can hold any topic and correlation data', () => {
    fc.assert(
      fc.property(topic, fc.base64String(), (given, correlation) => {
        assert.deepEqual(readAnswerAddress(answerAddress({ topic: given, correlation })), {
          topic: given,
          correlation
        })
      })
    )
  })
})

describe('headers', () => {
  it('are sent as user properties, and read back', () => {
    const { userProperties, ...rest } = writeHeaders({
      a: ['1', '2'],
      b: 'é',
      'mqtt-retain': 'true',
      'mqtt-qos': '0'
    })
    assert.deepEqual(rest, { retain: true, qos: 0, expiry: undefined })
    const packet = { properties: { userProperties }, retain: true } as never
    assert.deepEqual(readHeaders(packet), { a: '1, 2', b: 'é', 'mqtt-retain': 'true' })
    assert.equal(readHeaders({ retain: false } as never), undefined)
  })

  it('are none of MQTT unless they are given, and then an event is confirmed', () => {
    const none = { userProperties: undefined, retain: false, qos: 1, expiry: undefined }
    assert.deepEqual(writeHeaders(undefined), none)
    assert.deepEqual(writeHeaders({}), none)
    assert.deepEqual(writeHeaders({ a: 'b', 'mqtt-retain': 'false', 'mqtt-expiry': '7' }), {
      ...none,
      userProperties: { a: 'b' },
      expiry: 7
    })
  })

  it('say how a message has come, also one without user properties', () => {
    assert.deepEqual(readHeaders({ retain: true }), { 'mqtt-retain': 'true' })
    assert.deepEqual(readHeaders({ retain: false, qos: 1 }), { 'mqtt-qos': '1' })
    assert.equal(readHeaders({ retain: false, qos: 0 }), undefined)
    const properties = { userProperties: { a: 'b' } }
    assert.deepEqual(readHeaders({ retain: false, qos: 2, properties }), { a: 'b', 'mqtt-qos': '2' })
  })

  it('of MQTT have its values, and no header is longer than it can carry', () => {
    const refused = (name: string, values: unknown[]) =>
      values.filter((value) => whyNoHeader(name, value) !== undefined)
    assert.deepEqual(refused('mqtt-retain', ['true', 'false', '', 'yes']), ['', 'yes'])
    assert.deepEqual(refused('mqtt-qos', ['0', '1', '2', '3', '']), ['3', ''])
    const seconds = ['0', '4294967295', '4294967296', '9999999999', '00000000001', '1.5', '']
    assert.deepEqual(refused('mqtt-expiry', seconds), seconds.slice(2))
    const longest = 'x'.repeat(65_535)
    assert.deepEqual(refused('a', [longest, `${longest}x`]), [`${longest}x`])
    assert.deepEqual(
      [longest, `${longest}x`].map((name) => whyNoHeader(name, '') === undefined),
      [true, false]
    )
  })

  it('that MQTT cannot carry are refused', () => {
    for (const headers of [
      { a: '\0' },
      { a: '\ud800' },
      { 'mqtt-expiry': '-1' },
      { 'mqtt-qos': '3' },
      { a: 'x'.repeat(70_000) }
    ])
      assert.throws(() => checkHeaders({ title: 'MQTT', whyNoHeader }, headers), OptionError)
    checkHeaders(
      { title: 'MQTT', whyNoHeader },
      { a: 'é\n', 'mqtt-expiry': '60', 'mqtt-qos': '2', 'mqtt-retain': 'false' }
    )
  })

  it('are read from a NestJS record, which is recognised by the name of its class', () => {
    class MqttRecord {
      readonly data = 1
      constructor(readonly options: object) {}
    }
    const options = {
      qos: 1,
      retain: true,
      properties: { userProperties: { a: 'b' }, messageExpiryInterval: 5 }
    }
    assert.deepEqual(recordOf(new MqttRecord(options)), {
      data: 1,
      headers: { a: 'b', 'mqtt-qos': '1', 'mqtt-retain': 'true', 'mqtt-expiry': '5' }
    })
    assert.deepEqual(recordOf(new MqttRecord({ retain: false })), {
      data: 1,
      headers: { 'mqtt-retain': 'false' }
    })
    assert.deepEqual(recordOf(new MqttRecord({})), { data: 1, headers: undefined })
    assert.equal(recordOf({ data: 1 }), undefined)
    assert.throws(() => recordOf(new MqttRecord({ properties: { responseTopic: 'x' } })), OptionError)
  })
})

describe('packets', () => {
  it('get an id that no other client uses', () => {
    const packet = '{"pattern":"a","data":{"id":"x","b":",\\"id\\":\\"1\\""},"id":"17"}'
    assert.deepEqual(JSON.parse(withId(packet, INBOX)), { ...JSON.parse(packet), id: INBOX })
  })

  it('are read whatever they contain', () => {
    assert.deepEqual(readNest('{"pattern":"a","data":1,"id":"7"}').isRequest, true)
    assert.deepEqual(readNest('{"id":7,"celsius":21}'), { words: '{"id":7,"celsius":21}', isRequest: false })
    assert.deepEqual(readNest(''), { words: '', isRequest: false })
    for (const [packet, isRequest] of [
      ['{"pattern":"a","data":1}', false],
      ['{"pattern":"a","id":"7"}', true],
      ['{"data":1,"id":"7"}', true],
      ['null', false]
    ] as const)
      assert.deepEqual(readNest(packet), { words: packet, isRequest })
    const ids = ['{"id":7}', '{}', 'null', '{', '{"id":"7"}'].map(idOfAnswer)
    assert.deepEqual(ids, [undefined, undefined, undefined, undefined, '7'])
    assert.deepEqual(readNest('21,5'), { words: '{"data":"21,5"}', isRequest: false })
    fc.assert(
      fc.property(text, (given) => {
        const { words } = readNest(given)
        if (words !== '') JSON.parse(words)
        idOfAnswer(given)
      })
    )
    assert.equal(idOfAnswer(`{"id":"${INBOX}"}`), INBOX)
  })

  it('without data make the server delete the retained event', () => {
    assert.equal(retained('{"pattern":"a"}'), '')
    assert.equal(retained('{"pattern":"a","data":null}'), '{"pattern":"a","data":null}')
  })
})
