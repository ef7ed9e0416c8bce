import assert from 'node:assert/strict'
import { it } from 'node:test'
import { RedisEvent, type Source } from './event.ts'

function eventOf(entry: readonly string[], isAgain = false): RedisEvent {
  const source: Source = { stream: 's', pattern: 'p', isAgain }
  return new RedisEvent(source, '7-1', entry, 1, 0)
}

it('an event that others have stored without an id is identified by its position', () => {
  assert.equal(eventOf(['packet', '{}']).id, '7-1')
  assert.equal(eventOf(['packet', '{}', 'id', 'own']).id, 'own')
})

it('an event has the pattern of its stream, and a redriven one that under which it was published', () => {
  const entry = ['packet', '{}', 'pattern', 'other']
  assert.deepEqual([eventOf(entry).pattern, eventOf(entry, true).pattern], ['p', 'other'])
  assert.equal(eventOf(['packet', '{}'], true).pattern, 'p')
})
