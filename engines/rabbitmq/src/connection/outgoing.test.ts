import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CALLS, EVERYONE, inboxOf } from '../words/names.ts'
import { outgoingOf } from './outgoing.ts'

const REPLY = `${inboxOf('abcdefghijkl')}1`

it('a message to all services does not come back if there are none; a request to one does', () => {
  const { exchange, options } = outgoingOf(undefined, EVERYONE, '{}', REPLY)
  assert.deepEqual([exchange, options.mandatory, options.messageId], [EVERYONE, false, REPLY])
  const request = outgoingOf(undefined, 'p', '{}', REPLY)
  assert.deepEqual([request.exchange, request.key, request.options.mandatory], [CALLS, 'p', true])
})
