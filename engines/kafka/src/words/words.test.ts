import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressOfHandler, checkHeaders } from '@elysia-microservices/engine'
import { ANY_CHARACTER, assertOneReading, textsOf } from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { readBatches, writeBatch } from './batch.ts'
import { HEADER, isReserved, whyNoHeader } from './headers.ts'
import {
  ADDRESSING,
  addressAt,
  groupAt,
  groupOfService,
  inboxOf,
  isGroupOf,
  isInbox,
  isTopicName,
  placeOf,
  readAnswer,
  replyAddress,
  retriesOf,
  retryOf
} from './names.ts'
import { writeRecord } from './record.ts'
import { dataOf, nestAnswerOf, packetOf, packetOfNest, readValue, writeValue } from './values.ts'

const text = fc.string({ unit: ANY_CHARACTER, maxLength: 40 })
const name = fc.stringMatching(/^[a-z][\w.-]{0,20}$/).filter((one) => !/\.(reply|dlt|retry-\d+)$/.test(one))

describe('patterns', () => {
  it('are the names of topics', () => {
    for (const pattern of ['orders.placed', 'a', '5', 'A_b-c.d', 'x'.repeat(233)])
      assert.equal(addressOfHandler(ADDRESSING, pattern), pattern)
  })

  it('that Kafka cannot have are refused before anything is sent, with the reason', () => {
    const wrong = ['', '.', '..', 'a b', '{"a":1}', 'a.*', '>', 'ü', 'a/b', 'x'.repeat(234), undefined]
    const ours = ['_elysia.x', '__consumer_offsets', 'a.reply', 'a.dlt', 'a.retry-1']
    for (const pattern of [...wrong, ...ours])
      assert.throws(
        () => addressOfHandler(ADDRESSING, pattern),
        (error: Error) => {
          assert.ok(error instanceof OptionError)
          assert.match(error.message, /^Kafka cannot carry /)
          return true
        }
      )
  })

  it('have topics of their own for failed events, with names that Kafka allows', () => {
    assert.deepEqual(
      [retriesOf('a').length, retriesOf('a')[0], retriesOf('a')[7]],
      [8, 'a.retry-1', 'a.retry-8']
    )
    assert.equal(retryOf('a', 100), 'a.retry-8')
    assert.ok(isTopicName(retryOf('x'.repeat(233), 8)))
  })
})

describe('addresses', () => {
  const secret = 'abcdefghijklmnopqrstuvwx'

  it('name the place of an inbox, and other texts are no address of an inbox', () => {
    const inbox = inboxOf('_elysia.inbox', 3, secret)
    const address = `${inbox}1r17-abcdefghijkl-`
    assert.ok(isInbox(address))
    assert.deepEqual(placeOf(address), {
      topic: '_elysia.inbox',
      partition: 3,
      token: `${secret}.1r17-abcdefghijkl-`
    })
    assert.equal(addressAt(placeOf(address)), address)
    for (const other of [inbox, 'orders/0/x.1', `_elysia.groups/0/${secret}.1`, `>${address}`, `${address} `])
      assert.ok(!isInbox(other), other)
  })

  it('of NestJS clients are accepted only on the topic of answers', () => {
    const place = { topic: 'a.reply', partition: 1, token: 'any id / at all' }
    assert.deepEqual(readAnswer(replyAddress('a', place, [])), place)
    assert.deepEqual(readAnswer(replyAddress('b', place, ['a.reply'])), place)
    for (const wrong of [
      replyAddress('b', place, []),
      replyAddress('a', { ...place, partition: Number.NaN }, []),
      replyAddress('a', { ...place, partition: -1 }, []),
      replyAddress('a', { ...place, topic: '>a.reply' }, [])
    ])
      assert.ok(readAnswer(wrong) === undefined && !isInbox(wrong), wrong)
  })
})

describe('values', () => {
  it('come back unchanged between services and clients of this library', () => {
    const json = fc.json({ maxDepth: 3 }).map((one) => JSON.stringify(JSON.parse(one)))
    fc.assert(
      fc.property(fc.option(json, { nil: undefined }), (data) => {
        const { value, type } = writeValue(data)
        assert.equal(readValue(value, type), data)
      })
    )
  })

  it('are read as NestJS reads them if no header gives their type', () => {
    for (const [value, data] of [
      ['5', '"5"'],
      ['text', '"text"'],
      ['{"a":1}', '{"a":1}'],
      ['[1]', '[1]'],
      ['{no', '"{no"'],
      ['true', '"true"'],
      [undefined, undefined]
    ] as const)
      assert.equal(readValue(value, undefined), data)
  })

  it('are read from a packet, and become the same packet again', () => {
    const json = fc.json({ maxDepth: 2 }).map((one) => JSON.stringify(JSON.parse(one)))
    fc.assert(
      fc.property(name, fc.option(json, { nil: undefined }), fc.nat(), (topic, data, number) => {
        const request = packetOf(topic, data, `secret.1r${number}-abc-`)
        assert.equal(dataOf(request, topic, true), data)
        assert.deepEqual(JSON.parse(request), {
          pattern: topic,
          ...(data !== undefined && { data: JSON.parse(data) }),
          id: String(number)
        })
        const event = packetOf(topic, data, undefined)
        assert.equal(dataOf(event, topic, false), data)
      })
    )
  })

  it('become answers as NestJS clients expect them, including a whole record', () => {
    const of = (packet: unknown) => nestAnswerOf(JSON.stringify(packet))
    assert.deepEqual(of({ response: 5, isDisposed: true, id: '1' }), {
      value: '5',
      key: undefined,
      headers: {},
      err: undefined,
      isDisposed: true
    })
    assert.deepEqual(of({ response: { key: 'k', value: { a: 1 }, headers: { x: 1 } }, id: '1' }), {
      value: '{"a":1}',
      key: 'k',
      headers: { x: '1' },
      err: undefined,
      isDisposed: false
    })
    assert.equal(of({ err: { status: 'error' }, isDisposed: true }).err, '{"status":"error"}')
    assert.equal(of({ err: 'no' }).err, 'no')
    assert.equal(of({ isDisposed: true }).value, undefined)
  })

  it('are read from the answers of NestJS services, whatever they contain', () => {
    fc.assert(
      fc.property(
        fc.option(text, { nil: undefined }),
        fc.option(text, { nil: undefined }),
        fc.boolean(),
        text,
        (value, err, isDisposed, id) => {
          const packet = JSON.parse(packetOfNest(value, err, isDisposed, id))
          assert.equal(packet.id, id)
          assert.equal(packet.isDisposed === true, isDisposed || err !== undefined)
          assert.equal('err' in packet, err !== undefined)
        }
      )
    )
  })
})

describe('headers', () => {
  it('of callers come back, without the headers of this library', () => {
    const given = fc.dictionary(
      text.filter((one) => !/^(kafka_|elysia-|ce_)/.test(one)),
      text,
      { maxKeys: 5 }
    )
    fc.assert(
      fc.property(given, (headers) => {
        const own = { [HEADER.type]: 'json', [HEADER.reply]: undefined }
        const [read] = readBatches(writeBatch([writeRecord(undefined, '', own, headers)], 0), 0).records
        assert.equal(read?.header(HEADER.type), 'json')
        assert.equal(read?.header(HEADER.reply), undefined)
        assert.deepEqual(read?.callers ?? {}, { ...headers })
        assert.deepEqual(read?.headers, { ...headers, [HEADER.type]: 'json' })
      })
    )
  })

  it('that Kafka cannot carry, or that belong to this library, are refused', () => {
    for (const headers of [
      { kafka_replyTopic: 'x' },
      { 'elysia-type': 'x' },
      { ce_id: 'x' },
      { a: '\ud800' }
    ])
      assert.throws(() => checkHeaders({ title: 'Kafka', whyNoHeader }, headers), OptionError)
    checkHeaders({ title: 'Kafka', whyNoHeader }, { 'x-a': 'ä', many: ['1', '2'] })
  })

  it('may ask for the headers of the answer', () => {
    const asks = { 'elysia-answer-headers': '1' }
    checkHeaders({ title: 'Kafka', whyNoHeader }, asks)
    const name = Buffer.from('elysia-answer-headers, elysia-answer-headersx elysia-answer')
    assert.deepEqual(
      [isReserved(name, 0, 21), isReserved(name, 23, 45), isReserved(name, 46, 59)],
      [false, true, true]
    )
  })
})

describe('groups of Kafka', () => {
  it('are read in one way only, and are never those of a service', () => {
    const texts = [
      'a',
      'a-server',
      'server',
      '-server',
      'a-client',
      'x.a-server',
      'a.a',
      'a.a-server',
      'a.x.a'
    ]
    const groups = [...new Set([...textsOf('a~-', 2), ...texts.filter((text) => !text.includes('.'))])]
    const named: [name: string, ...parts: string[]][] = []
    for (const group of groups)
      for (const pattern of texts) {
        named.push([groupAt(group, pattern), 'group', group, pattern])
        assert.deepEqual(
          groups.filter((one) => isGroupOf(one, groupAt(group, pattern))),
          [group]
        )
      }
    for (const service of [...texts, 'a.', '.a']) {
      named.push([groupOfService(service), 'service', service])
      for (const group of groups) assert.equal(isGroupOf(group, groupOfService(service)), false)
    }
    assertOneReading(named)
  })
})
