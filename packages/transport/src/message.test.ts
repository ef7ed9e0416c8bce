/** Tests the fields of a message that its handler gets. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IncomingMessage } from './message.ts'

const headersOf = (metadata: unknown) =>
  new IncomingMessage({
    ...{ transport: 'memory', kind: 'request', pattern: 'p', route: 'p', data: 1 },
    metadata
  } as const).headers

describe('the headers of a message', () => {
  it('are the metadata that came, if they are texts', () => {
    const metadata = { tenant: 'a' }
    assert.equal(headersOf(metadata), metadata)
    for (const none of [undefined, null, 'tenant', 5, [], ['a']]) assert.deepEqual(headersOf(none), {})
  })

  it('are texts, whatever a caller on Nest wire has written', () => {
    const metadata: unknown = JSON.parse('{"a":"1","b":2,"c":{"d":"e"},"f":null,"__proto__":"g","h":["i"]}')
    const headers = headersOf(metadata)
    assert.deepEqual(Object.entries(headers), [
      ['a', '1'],
      ['__proto__', 'g']
    ])
    assert.equal(Object.getPrototypeOf(headers), Object.prototype)
  })

  it('are never those of this library, even if another program sends them', () => {
    assert.deepEqual(headersOf({ 'elysia-timeout': '5', a: '1', 'elysia-x': 'y' }), { a: '1' })
    assert.deepEqual(headersOf({ 'elysia-x': 'y' }), {})
  })

  it('nor are those in metadata, which is otherwise as it was sent', () => {
    const metadataOf = (metadata: unknown) =>
      new IncomingMessage({ transport: 'x', kind: 'event', pattern: 'p', route: 'p', data: 1, metadata })
        .metadata
    assert.deepEqual(metadataOf({ 'elysia-x': 'y', a: { b: 1 } }), { a: { b: 1 } })
    for (const sent of [{ a: { b: 1 } }, ['elysia-x'], 'elysia-x', new Uint8Array(2), null, 5, undefined])
      assert.equal(metadataOf(sent), sent)
  })
})
