import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readBatches, writeBatch } from './batch.ts'
import { HEADER, KEY } from './headers.ts'
import { EVERYONE, replyAddress } from './names.ts'
import { type Beside, departureOf, eventFor, messageFor, type Outgoing } from './outgoing.ts'

const NOTHING: Beside = { reply: undefined, headers: undefined, expires: undefined }

/** The place, key, value and headers of a record that is sent. */
function sent({ topic, partition, bytes }: Outgoing) {
  const [record] = readBatches(writeBatch([bytes], 0), 0).records
  return {
    topic,
    partition,
    key: record?.keyText,
    value: record?.value?.toString(),
    headers: record?.headers
  }
}

describe('a message', () => {
  const place = { topic: 'p.reply', partition: 2, token: 'id 1' }
  const client = replyAddress('p', place, [])
  const secret = 'abcdefghijklmnopqrstuvwx'
  const inbox = `_elysia.inbox/3/${secret}.1r17-abcdefghijkl-`

  it('to a client of NestJS is the answer that it waits for, in its partition', () => {
    const answer = JSON.stringify({
      response: { key: 'k', value: 5, headers: { a: 'b' } },
      isDisposed: true,
      id: '1'
    })
    assert.deepEqual(sent(messageFor(client, answer, NOTHING)), {
      ...{ topic: 'p.reply', partition: 2, key: 'k', value: '5' },
      headers: { a: 'b', [HEADER.correlation]: 'id 1', [HEADER.disposed]: '\0' }
    })
  })

  it('to a client of NestJS has an error instead of a value, and says only at the end that it is the last', () => {
    const { value, headers } = sent(
      messageFor(client, JSON.stringify({ err: 'no', response: 1, id: '1' }), NOTHING)
    )
    assert.equal(value, undefined)
    assert.deepEqual(headers, { [HEADER.correlation]: 'id 1', [HEADER.error]: 'no' })
  })

  it('to an inbox has its words as they are, and where the answer goes', () => {
    const { key, ...others } = sent(messageFor(inbox, 'words', { ...NOTHING, reply: 'reply' }))
    assert.equal(key, `${secret}.1r17-abcdefghijkl-`)
    const headers = { [HEADER.reply]: 'reply' }
    assert.deepEqual(others, { topic: '_elysia.inbox', partition: 3, value: 'words', headers })
    assert.deepEqual(sent(messageFor(inbox, 'words', { ...NOTHING, reply: '' })).headers, {})
  })

  it('to everyone is in the first partition, and so is the news that a caller has closed', () => {
    const { topic, partition, value } = sent(messageFor(EVERYONE, 'words', NOTHING))
    assert.deepEqual([topic, partition, value], [EVERYONE, 0, 'words'])
    assert.deepEqual(sent(departureOf('inbox.')), {
      ...{ topic: EVERYONE, partition: 0, key: undefined, value: undefined },
      headers: { [HEADER.gone]: 'inbox.' }
    })
  })

  it('to handlers has the data of its packet, where the answer goes, and when it expires', () => {
    const packet = '{"pattern":"p","data":{"a":1},"id":"1"}'
    for (const words of [packet, Buffer.from(packet)]) {
      const beside = { reply: inbox, headers: { [KEY]: 'k', a: 'b' }, expires: 1.2 }
      const { headers, ...others } = sent(messageFor('p', words, beside))
      assert.deepEqual(others, { topic: 'p', partition: undefined, key: 'k', value: '{"a":1}' })
      assert.deepEqual(
        [headers?.[HEADER.replyTopic], headers?.[HEADER.replyPartition], headers?.[HEADER.correlation]],
        ['_elysia.inbox', '3', `${secret}.1r17-abcdefghijkl-`]
      )
      assert.deepEqual(
        [headers?.[HEADER.expires], headers?.['a'], headers?.[HEADER.words]],
        ['2', 'b', undefined]
      )
    }
    for (const [expires, text] of [
      [0, '1'],
      [undefined, undefined],
      [Number.POSITIVE_INFINITY, undefined]
    ] as const)
      assert.equal(sent(messageFor('p', packet, { ...NOTHING, expires })).headers?.[HEADER.expires], text)
  })

  it('to handlers that is no packet is marked, with its bytes as they are', () => {
    for (const words of ['part', Buffer.from('part')]) {
      const { value, headers } = sent(messageFor('p', words, NOTHING))
      assert.deepEqual([value, headers?.[HEADER.words], headers?.[HEADER.type]], ['part', '1', undefined])
    }
  })

  it('that is an event has no address for an answer', () => {
    const { value, key, headers } = sent(eventFor('p', '{"pattern":"p","data":"x"}', { [KEY]: 7 as never }))
    assert.deepEqual([value, key, headers?.[HEADER.correlation]], ['x', '7', undefined])
  })
})
