import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { Recent } from './recent.ts'

it('the latest are remembered, and not many more', () => {
  const numbers = fc.array(fc.nat(50), { maxLength: 200, size: 'max' })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), numbers, (size, keys) => {
      const recent = new Recent<number, number>(size)
      assert.ok(recent.isEmpty)
      for (const [index, key] of keys.entries()) recent.set(key, index)
      assert.equal(recent.isEmpty, keys.length === 0)
      for (const key of keys.slice(-size)) assert.equal(recent.get(key), keys.lastIndexOf(key))
      const known = [...new Set(keys)].filter((key) => recent.get(key) !== undefined)
      assert.ok(known.length <= 2 * size)
    })
  )
})
