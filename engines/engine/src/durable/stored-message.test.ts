/** The message of a stored event, as its handlers get it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { routeOf } from '@elysia-microservices/transport/kit'
import { type StoredEvent, StoredFields, storedMessage } from './stored-message.ts'

function event(given: Partial<StoredEvent> = {}): StoredEvent & { reads: number } {
  const made = {
    reads: 0,
    pattern: 'paid',
    id: 'a',
    key: 'k',
    publishedAt: 1_000,
    position: '7',
    attempt: 1,
    get headers() {
      made.reads++
      return { tenant: 'x', 'elysia-groups': '["billing"]' }
    }
  }
  return Object.defineProperties(made, Object.getOwnPropertyDescriptors(given)) as never
}

describe('a stored event', () => {
  it('is delivered with what is known of it, and its attempt as it was then', () => {
    const one = event({ attempt: 2 })
    const { delivery, data, pattern, route, kind, transport } = storedMessage(
      'shop',
      one,
      '{"data":5}',
      'g',
      'v'
    )
    one.attempt = 3
    assert.deepEqual([kind, transport, data, pattern, route], ['event', 'shop', 5, 'paid', 'paid'])
    const { id, key, publishedAt, position, attempt, redelivered, group } = delivery ?? {}
    assert.deepEqual(
      { id, key, publishedAt, position, attempt, redelivered, group },
      {
        id: 'a',
        key: 'k',
        publishedAt: new Date(1_000),
        position: '7',
        attempt: 2,
        redelivered: true,
        group: 'g'
      }
    )
  })

  it('comes again if it has an earlier attempt, or its engine says so', () => {
    for (const [attempt, redelivered, expected] of [
      [1, undefined, false],
      [1, true, true],
      [2, undefined, true],
      [2, false, true]
    ] as const) {
      const fields = new StoredFields(
        event({ attempt, ...(redelivered !== undefined && { redelivered }) }),
        'g'
      )
      assert.equal(fields.delivery.redelivered, expected)
      assert.equal(fields.delivery, fields.delivery)
    }
  })

  it('has its headers made once, and only when they are read', () => {
    const one = event()
    const fields = new StoredFields(one, 'g')
    assert.equal(one.reads, 0)
    assert.deepEqual(fields.metadata, { tenant: 'x', 'elysia-groups': '["billing"]' })
    assert.equal(fields.metadata, fields.metadata)
    assert.equal(one.reads, 1)
    assert.equal(new StoredFields(event({ headers: undefined }), 'g').metadata, undefined)
  })

  it('may tell a header of this library without making the others', () => {
    const one = event({ own: (name) => `own ${name}` })
    assert.equal(new StoredFields(one, 'g').own('x'), 'own x')
    assert.equal(one.reads, 0)
  })

  it('has the pattern that its publisher wrote, and is refused if its body is not JSON', () => {
    const pattern = { cmd: 'x' }
    const body = JSON.stringify({ pattern, data: 1 })
    const message = storedMessage('shop', event({ pattern: routeOf(pattern) }), body, 'g', 'v')
    assert.equal(message.pattern, JSON.stringify(pattern))
    assert.throws(() => storedMessage('shop', event(), 'no', 'g', 'v'), SyntaxError)
  })
})
