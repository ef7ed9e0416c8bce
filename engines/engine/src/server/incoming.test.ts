import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { routeOf } from '@elysia-microservices/transport/kit'
import { contentOf, envelopeOf, patternOf, readableContentOf } from './incoming.ts'

describe('the body of a message', () => {
  it('is a packet if it has a pattern or data; otherwise it is the data itself', () => {
    for (const body of [{ pattern: 'a' }, { data: null }, { pattern: 'a', data: 1, id: '1' }])
      assert.equal(envelopeOf(body), body)
    for (const body of [undefined, null, 1, 'data', [1], {}, { id: '1' }])
      assert.equal(envelopeOf(body), undefined)
    assert.deepEqual(contentOf('{"pattern":"a","data":1}'), { pattern: 'a', data: 1 })
    assert.deepEqual(contentOf('{"id":1}'), { data: { id: 1 } })
    assert.deepEqual(contentOf(''), { data: undefined })
  })

  it('that is not JSON is an error for a handler, and text for a reader', () => {
    assert.throws(() => contentOf('no'), SyntaxError)
    assert.deepEqual(readableContentOf('no'), { data: 'no' })
    assert.deepEqual(readableContentOf(new TextEncoder().encode('{"data":1}')), { data: 1 })
  })
})

it('the pattern of a message is what its sender has written only if it is one of its address', () => {
  const pattern = { cmd: 'x', role: 'y' }
  const address = routeOf(pattern)
  assert.equal(patternOf(pattern, address), JSON.stringify(pattern))
  assert.equal(patternOf({ cmd: 'z' }, address), address)
  assert.equal(patternOf(pattern, 'secret'), 'secret')
  for (const given of ['a', 'b', undefined, 5, null]) assert.equal(patternOf(given, 'a'), 'a')
})
