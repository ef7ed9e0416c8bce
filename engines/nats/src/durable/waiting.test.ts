import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { headers as newHeaders } from '@nats-io/transport-node'
import type { StoredMessage } from './outgoing-event.ts'
import type { ServerTime } from './server-time.ts'
import {
  checkDue,
  comeHeaders,
  dueIn,
  hastened,
  markFor,
  patternInSubject,
  timed,
  waitingAddress,
  waitingPattern
} from './waiting.ts'

/** Headers of an event, as it is published. */
function headersOf(more: Readonly<Record<string, string>> = {}) {
  const headers = newHeaders()
  headers.set('Nats-Msg-Id', 'e')
  headers.append('x', '1')
  headers.append('x', '2')
  for (const [name, value] of Object.entries(more)) headers.set(name, value)
  return headers
}
const read = (headers: ReturnType<typeof newHeaders>) =>
  Object.fromEntries([...headers].map(([name, values]) => [name, values.join()]))

describe('an event of the future over NATS', () => {
  const time = { earliest: 100, latest: 200 } as ServerTime

  it('waits unless its time has certainly come at the server', () => {
    const subjects = [99, 100, 101, 200].map((due) => {
      const event = { waitsFor: 'p', due, headers: newHeaders(), id: 'e' } as unknown as StoredMessage
      return timed(event, time).subject === 'p' ? 'now' : 'later'
    })
    assert.deepEqual(subjects, ['now', 'now', 'later', 'later'])
  })

  it('with a delay waits as long as is left of it, from the latest time that the server may have', () => {
    using clock = new VirtualTime()
    const dueOf = (left: number) => {
      const steadyDue = clock.now + left
      const event = { waitsFor: 'p', due: 5, steadyDue, headers: newHeaders(), id: 'e' }
      const { subject, headers } = timed(event as unknown as StoredMessage, time)
      return subject === 'p' ? 'now' : dueIn(headers)
    }
    assert.deepEqual([dueOf(-1), dueOf(0), dueOf(0.5), dueOf(1), dueOf(300)], ['now', 'now', 201, 201, 500])
  })

  it('waits where nothing is yet, with the headers of its publisher, and its id where NATS does not look', () => {
    const event = { waitsFor: 'p', due: 1_000, headers: headersOf(), id: 'e' } as unknown as StoredMessage
    const { subject, headers } = timed(event, time)
    assert.match(subject, /^_ELYSIA\.LATER\.[0-9a-f]{32}\.p$/)
    assert.deepEqual(read(headers), {
      x: '1,2',
      'Elysia-Id': 'e',
      'Nats-Schedule': '@at 1970-01-01T00:00:01.000Z',
      'Nats-Schedule-Target': '_ELYSIA.DUE.p',
      'Nats-Expected-Last-Subject-Sequence': '0'
    })
    assert.deepEqual([dueIn(headers), dueIn(newHeaders())], [1_000, undefined])
    assert.equal(event.headers.get('Nats-Msg-Id'), 'e', 'it may be sent again')
  })

  it('is made due by a message that replaces it, if it is still the one that was read', () => {
    const waiting = headersOf({ 'Nats-Schedule': '@at 2030-01-01T00:00:00Z' })
    const { x, ...told } = read(hastened(waiting, 7))
    assert.equal(x, '1,2')
    assert.deepEqual(told, {
      'Nats-Msg-Id': 'e',
      'Nats-Schedule': '@at 1970-01-01T00:00:00Z',
      'Nats-Expected-Last-Subject-Sequence': '7',
      'Nats-Rollup': 'sub'
    })
  })

  it('leaves a mark for as long as ids are known, and has the headers of its publisher and its id again', () => {
    assert.deepEqual(read(markFor(1_001)), { 'Nats-TTL': '2s', 'Nats-Expected-Last-Subject-Sequence': '0' })
    const come = headersOf({ 'Elysia-Id': 'e', 'Elysia-Key': 'k', 'Nats-Scheduler': 's' })
    assert.deepEqual(read(comeHeaders(come, 'own')), { x: '1,2', 'Elysia-Key': 'k', 'Nats-Msg-Id': 'own' })
  })

  it('has an address of its pattern, from which the pattern is read', () => {
    assert.equal(waitingPattern(waitingAddress('a.b')), 'a.b')
    for (const other of ['a.b', '_ELYSIA.LATER', '_ELYSIA.LATERX.a'])
      assert.equal(waitingPattern(other), undefined)
    assert.equal(patternInSubject('_ELYSIA.LATER.0123.a.b'), 'a.b')
  })

  it('is refused for a time that a server cannot count', () => {
    const latest = Date.parse('2262-04-01')
    checkDue(latest)
    assert.throws(() => checkDue(latest + 1), { name: 'OptionError', path: 'options.at' })
  })
})
