import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Inboxes } from './inboxes.ts'

describe('inboxes of NATS', () => {
  it('are new each time, for calls or for events, below the prefix of their user', () => {
    const plain = new Inboxes(undefined)
    const own = new Inboxes('orders')
    assert.deepEqual([plain.prefix, own.prefix], ['_INBOX', '_INBOX.orders'])
    assert.match(plain.ofCalls(), /^_INBOX\.calls\.[^.]{20,}\.$/)
    assert.match(own.ofStore(), /^_INBOX\.orders\.store\.[^.]{20,}\.$/)
    assert.notEqual(own.ofStore(), own.ofStore())
  })

  it('are recognised by their prefix, also those of servers, of other users, and of clients that are not ours', () => {
    const inboxes = new Inboxes('orders', ['_ANSWERS.eu', 'replies_'])
    for (const subject of [
      '_INBOX.a',
      '_INBOX_a.b',
      '_R_.x',
      '_R_x',
      '_GR_x',
      '_ANSWERS.eu.a',
      '_ANSWERS.eu_a',
      'replies_a'
    ])
      assert.equal(inboxes.has(subject), true, subject)
    for (const subject of [
      '_INBOX',
      '_INBOXa',
      'orders',
      '$SYS._INBOX.a',
      '_ANSWERS.eua',
      '_INBOX.a b',
      '_INBOX.*',
      '_INBOX.>',
      '_INBOX.a..b',
      '_INBOX.a.'
    ])
      assert.equal(inboxes.has(subject), false, subject)
  })
})
