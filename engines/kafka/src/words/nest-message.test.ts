import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import { KEY } from './headers.ts'
import { nestMessageOf } from './nest-message.ts'

const keyOf = (key: unknown) => nestMessageOf({ key })?.headers?.[KEY]

describe('data of a client of NestJS', () => {
  it('are a whole message if they have a key or a value, and otherwise only data', () => {
    assert.deepEqual(nestMessageOf({ value: 5 }), { data: 5, headers: undefined })
    assert.deepEqual(nestMessageOf({ key: 'k', value: null }), { data: null, headers: { [KEY]: 'k' } })
    assert.deepEqual(nestMessageOf({ value: Buffer.from('ä') }), { data: 'ä', headers: undefined })
    for (const data of [undefined, null, 5, 'text', {}, { headers: {} }, [1]])
      assert.equal(nestMessageOf(data), undefined)
  })

  it('have keys and headers as texts, as NestJS writes them', () => {
    class Id {
      toString() {
        return 'id 7'
      }
    }
    assert.deepEqual([5, true, { a: 1 }, [1, 2], new Id(), Buffer.from('ä'), ''].map(keyOf), [
      '5',
      'true',
      '{"a":1}',
      '[1,2]',
      'id 7',
      'ä',
      ''
    ])
    for (const none of [undefined, null]) assert.equal(keyOf(none), undefined)
    const headers = { one: 1, several: ['a', 2, { b: 3 }], none: null, missing: undefined }
    assert.deepEqual(nestMessageOf({ value: 1, headers })?.headers, { one: '1', several: 'a, 2, {"b":3}' })
  })

  it('are refused if something of them would not be sent', () => {
    for (const [given, message] of [
      [{ value: 1, partition: 0 }, /data\.partition would not be sent: the key chooses the partition/],
      [{ value: 1, timestamp: '0' }, /data\.timestamp would not be sent: Kafka gives the time/],
      [{ value: 1, other: 2 }, /data\.other would not be sent: put it into value/],
      [{ key: Buffer.from([0xff]) }, /data\.key has bytes that are not a text/],
      [{ value: 1, headers: { a: Buffer.from([0xff]) } }, /data\.headers\.a has bytes/]
    ] as const)
      assert.throws(
        () => nestMessageOf(given),
        (error) => error instanceof OptionError && message.test(error.message)
      )
  })
})
