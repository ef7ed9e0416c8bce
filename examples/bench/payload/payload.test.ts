import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makePayload, payloadBytes, shapeNames, shapes } from './payload.ts'

const overJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('a payload', () => {
  for (const shape of shapeNames) {
    const { value, bytes, isEcho } = makePayload(shape)

    it(`of shape ${shape} is accepted as its own echo, unchanged and over JSON`, () => {
      assert.ok(isEcho(value))
      assert.ok(isEcho(overJson(value)))
    })

    it(`of shape ${shape} has the stated number of bytes`, () => {
      assert.equal(payloadBytes(makePayload(shape)).length, bytes)
      assert.equal(bytes, shapes[shape].defaultBytes ?? bytes)
    })

    for (const wrong of [undefined, null, 0, 'abc', '', {}, [], { type: 'Buffer', data: [1] }, [{ id: 1 }]]) {
      it(`of shape ${shape} does not accept ${JSON.stringify(wrong)} as its echo`, () => {
        assert.equal(isEcho(wrong), false)
      })
    }
  }

  const changed: [shape: 'object' | 'list' | 'binary', what: string, change: (value: never) => unknown][] = [
    ['object', 'another total', (order: object) => ({ ...order, total: 0 })],
    ['object', 'an item less', (order: { items: unknown[] }) => ({ ...order, items: order.items.slice(1) })],
    ['object', 'no customer', (order: object) => ({ ...order, customer: undefined })],
    ['list', 'a row less', (rows: unknown[]) => rows.slice(1)],
    ['list', 'the rows in another order', (rows: unknown[]) => rows.toReversed()],
    ['binary', 'a byte less', (bytes: Uint8Array) => bytes.subarray(1)],
    ['binary', 'zeros', (bytes: Uint8Array) => new Uint8Array(bytes.length)]
  ]
  for (const [shape, what, change] of changed) {
    it(`of shape ${shape} notices ${what}`, () => {
      const { value, isEcho } = makePayload(shape)
      assert.equal(isEcho(change(value as never)), false)
    })
  }

  it('has the given size if its shape has no fixed size', () => {
    for (const shape of ['flat', 'binary', 'large'] as const) assert.equal(makePayload(shape, 77).bytes, 77)
    assert.ok(Math.abs(makePayload('object').bytes - 250) < 40, String(makePayload('object').bytes))
    assert.ok(Math.abs(makePayload('document').bytes - 1024) < 150, String(makePayload('document').bytes))
  })
})
