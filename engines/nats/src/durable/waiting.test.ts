import assert from 'node:assert/strict'
import { it } from 'node:test'
import { headers } from '@nats-io/transport-node'
import type { StoredMessage } from './outgoing-event.ts'
import type { ServerTime } from './server-time.ts'
import { timed } from './waiting.ts'

it('an event waits unless its time has certainly come at the server', () => {
  const time = { earliest: 100, latest: 200 } as ServerTime
  const subjects = [99, 100, 101, 200].map((due) => {
    const event = { waitsFor: 'p', due, headers: headers(), id: 'e' } as unknown as StoredMessage
    return timed(event, time).subject === 'p' ? 'now' : 'later'
  })
  assert.deepEqual(subjects, ['now', 'now', 'later', 'later'])
})
