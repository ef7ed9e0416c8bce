import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Publisher } from '@elysia-microservices/engine'
import { headers, type Msg } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { Receive } from '../driver.ts'
import { EventStore } from './event-store.ts'
import type { StoredMessage } from './outgoing-event.ts'

/** A store, and lists of what it has told its connection (reply addresses) and its publisher (confirmed events). */
function setting() {
  const replies: string[] = []
  const stored: string[] = []
  const open = new Map<number, StoredMessage>()
  let receive: Receive = () => {}
  const connection = {
    isConnected: true,
    maxPayload: 1_000_000,
    newStoreInbox: () => 'inbox.',
    subscribe: (_subject: string, _queue: undefined, callback: Receive) => {
      receive = callback
    },
    send: (_subject: string, _words: Uint8Array, reply: string) => void replies.push(reply)
  }
  const publisher = {
    sentEvent: (number: number) => open.get(number),
    stored: (number: number, position: string | undefined, isDuplicate: boolean) => {
      open.delete(number)
      stored.push(`${number} at ${position}${isDuplicate ? ', as before' : ''}`)
    },
    missing: (number: number) => void stored.push(`${number} has no stream`),
    refused: (number: number, error: Error, passes: boolean) =>
      void stored.push(`${number} ${error.name}${passes ? ' that passes' : ''}: ${error.message}`)
  }
  const store = new EventStore(
    connection as unknown as NatsConnection,
    publisher as unknown as Publisher<StoredMessage>
  )
  const append = (number: number, more: Partial<StoredMessage> = {}) => {
    const payload = new Uint8Array(1)
    const head = { pattern: 'p', address: 'p', id: 'x', isOwnId: true, timeout: 0, signal: undefined }
    const event = open.get(number) ?? { ...head, payload, size: 1, headers: headers(), ...more }
    open.set(number, event)
    store.append(event, number)
  }
  /** An answer to the last event. */
  const answer = (text: string, code?: number, subject = replies.at(-1) as string) => {
    const data = new TextEncoder().encode(text)
    const own = code === undefined ? undefined : headers(code, 'said')
    receive(null, { subject, data, headers: own } as unknown as Msg)
  }
  const confirm = (subject: string, position: number) =>
    answer(`{"stream":"p","seq":${position}}`, undefined, subject)
  return { store, replies, stored, append, confirm, answer }
}

describe('EventStore', () => {
  it('accepts a confirmation that arrives after the event was sent again, once', () => {
    const { replies, stored, append, confirm } = setting()
    append(7)
    append(7)
    for (const reply of replies) {
      confirm(reply, 3)
      assert.deepEqual(stored, ['7 at 3'])
    }
  })

  it('accepts the confirmation of the second time, if there is no other', () => {
    const { replies, stored, append, confirm } = setting()
    append(7)
    append(7)
    confirm(replies[1] as string, 3)
    assert.deepEqual(stored, ['7 at 3'])
  })

  it('accepts no confirmation with another secret', () => {
    const { replies, stored, append, confirm } = setting()
    append(7)
    append(8)
    const [reply] = replies
    confirm((reply as string).replace(/-.*-/, '-guessed-'), 3)
    assert.deepEqual(stored, [])
  })

  it('lacks a stream only if the server says that nobody listens', () => {
    for (const [text, code, expected] of [
      ['', 503, ['7 has no stream']],
      ['', undefined, []],
      ['', 404, []],
      ['x', 503, []],
      ['{"pattern":"p"}', undefined, []]
    ] as const) {
      const { stored, append, answer } = setting()
      append(7)
      answer(text, code)
      assert.deepEqual(stored, expected, `${code} '${text}'`)
    }
  })

  it('tells an event that is stored from one that was before, that waits, and that waited before', () => {
    for (const [said, expected] of [
      [{ stream: 'p', seq: 3 }, '7 at 3'],
      [{ stream: 'p', seq: 3, duplicate: true }, '7 at 3, as before'],
      [{ stream: 'elysia-later', seq: 3 }, '7 at undefined'],
      [
        { error: { code: 400, err_code: 10_071, description: 'wrong last sequence: 3' } },
        '7 at undefined, as before'
      ]
    ] as const) {
      const { stored, append, answer } = setting()
      append(7)
      answer(JSON.stringify(said))
      assert.deepEqual(stored, [expected])
    }
  })

  it('tells refusals that pass from those that stay, and from events that are wrong', () => {
    for (const [code, description, expected] of [
      [503, 'no leader', 'NotStoredError that passes'],
      [429, 'too many requests', 'NotStoredError that passes'],
      [409, 'duplicate message id is in process', 'NotStoredError that passes'],
      [409, 'message ids differ', 'NotStoredError'],
      [400, 'header invalid', 'EventRefusedError'],
      [503, 'insufficient storage resources available', 'NotStoredError'],
      [400, 'maximum messages exceeded', 'NotStoredError']
    ] as const) {
      const { stored, append, answer } = setting()
      append(7, { waitsFor: undefined })
      answer(JSON.stringify({ error: { code, err_code: 1, description } }))
      const [line = ''] = stored
      assert.ok(
        line.startsWith(
          `7 ${expected}: NATS does not store the event 'p': it says '${description}' (${code})`
        ),
        line
      )
      assert.equal(line.includes('is full'), /insufficient|maximum/.test(description))
    }
  })

  it('names the pattern of an event that cannot wait, not where it would wait', () => {
    const { stored, append, answer } = setting()
    append(7, { address: '_ELYSIA.LATER.orders', waitsFor: 'orders', due: Date.now() + 1e6 })
    answer('{"error":{"code":503,"err_code":1,"description":"no leader"}}')
    assert.match(stored[0] ?? '', /the event 'orders'/)
  })

  it('takes an event that fills a message of the server, and none that is larger by a byte', () => {
    const { store, replies, append } = setting()
    assert.equal(store.maxPayload, 1_000_000 - 4_096)
    // Headers take 12 bytes if there are none.
    append(1, { payload: new Uint8Array(1_000_000 - 12) })
    assert.equal(replies.length, 1)
    assert.throws(() => append(2, { payload: new Uint8Array(1_000_000 - 11) }), {
      name: 'PayloadTooLargeError',
      message: /1000001/
    })
    assert.equal(replies.length, 1)
  })
})
