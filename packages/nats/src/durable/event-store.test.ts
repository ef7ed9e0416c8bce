import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Publisher } from '@elysia-microservices/transport/engine'
import type { Msg } from '@nats-io/transport-node'
import { headers } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { EventStore } from './event-store.ts'
import type { StoredMessage } from './outgoing-event.ts'

describe('the store of events in JetStream', () => {
  it('knows the confirmation of an event also after the event was sent again', () => {
    const replies: string[] = []
    let receive: (error: null, message: Partial<Msg>) => void = () => {}
    const connection = {
      maxPayload: 1_000_000,
      newStoreInbox: () => '_INBOX.x.',
      subscribe: (_subject: string, _queue: undefined, callback: typeof receive) => {
        receive = callback
      },
      send: (_address: string, _payload: Uint8Array, reply: string) => void replies.push(reply)
    }
    const stored: unknown[][] = []
    const publisher = { stored: (...said: unknown[]) => void stored.push(said) }
    const store = new EventStore(
      connection as unknown as NatsConnection,
      publisher as unknown as Publisher<StoredMessage>
    )
    const event = { address: 'a', payload: new Uint8Array(1), headers: headers() } as unknown as StoredMessage
    for (let time = 0; time < 2; time++) store.append(event, 7)
    const data = new TextEncoder().encode('{"stream":"a","seq":5}')
    for (const subject of replies) {
      receive(null, { subject, data })
      assert.deepEqual(stored, [[7, '5', false]])
    }
  })
})
