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
    stored: (number: number, position: string) => {
      open.delete(number)
      stored.push(`${number} at ${position}`)
    }
  }
  const store = new EventStore(
    connection as unknown as NatsConnection,
    publisher as unknown as Publisher<StoredMessage>
  )
  const append = (number: number) => {
    const payload = new Uint8Array(1)
    const head = { pattern: 'p', address: 'p', id: 'x', isOwnId: true, timeout: 0, signal: undefined }
    const event = open.get(number) ?? { ...head, payload, size: 1, headers: headers() }
    open.set(number, event)
    store.append(event, number)
  }
  const confirm = (subject: string, position: number) => {
    const data = new TextEncoder().encode(`{"stream":"p","seq":${position}}`)
    receive(null, { subject, data } as unknown as Msg)
  }
  return { replies, stored, append, confirm }
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
})
