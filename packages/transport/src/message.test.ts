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

  it('have bytes in Base64, under names that end in -bin', () => {
    const bytes = Uint8Array.of(0, 255)
    const metadata = {
      a: '1',
      'b-bin': bytes,
      'c-bin': [bytes, bytes],
      d: bytes,
      'e-bin': [bytes, 'x'],
      'f-bin': 7
    }
    assert.deepEqual(headersOf(metadata), { a: '1', 'b-bin': 'AP8=', 'c-bin': 'AP8=,AP8=' })
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
