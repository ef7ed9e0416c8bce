/** Tests the route that is made of a packet's pattern, which must be the same as in Nest. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { isPlainRoute, lookUpRoute, PatternReader } from './route.ts'

describe('the pattern of a packet', () => {
  const cases: [pattern: unknown, text: string, route: string | undefined][] = [
    ['math.sum', 'math.sum', 'math.sum'],
    [undefined, 'undefined', undefined],
    [5, '5', '5'],
    ['5.0', '5.0', '5'],
    ['{"b":1,"a":2}', '{"b":1,"a":2}', lookUpRoute('{"a":2,"b":1}')],
    [{ a: 2, b: 1 }, '{"a":2,"b":1}', lookUpRoute('{"b":1,"a":2}')],
    ['{"a":', '{"a":', '{"a":']
  ]
  for (const [pattern, text, route] of cases) {
    it(`${JSON.stringify(pattern)} has the route ${route}`, () => {
      const reader = new PatternReader()
      assert.deepEqual(reader.read(pattern), { text, route })
      assert.deepEqual(reader.read(pattern), { text, route })
    })
  }

  it('is a text when it cannot be written', () => {
    const unwritable = {
      toJSON() {
        throw new RangeError('as for one that is nested too deeply')
      }
    }
    assert.equal(new PatternReader().read(unwritable).text, '[UNSERIALIZABLE_PATTERN]')
  })

  it('is remembered, but not when it is long, and not for ever', () => {
    const reader = new PatternReader()
    const isRemembered = (text: string) => {
      const before = reader.read(text)
      return reader.read(text) === before
    }
    assert.equal(isRemembered('x'.repeat(256)), true)
    assert.equal(isRemembered('x'.repeat(257)), false)
    const first = reader.read('first')
    for (let n = 0; n < 1_022; n++) reader.read(`pattern ${n}`)
    assert.equal(reader.read('first'), first)
    reader.read('one more')
    assert.notEqual(reader.read('first'), first)
  })

  it('is its own route if its first letter can begin no JSON, which is known without parsing [property]', () => {
    for (const text of ['math.sum', 'Math', 'a', 'z', 'A', 'Z']) assert.equal(isPlainRoute(text), true, text)
    for (const text of ['', 'null', 'false', 'true', 'New', '@', '[', '`', '{', '5', '-1', '"a"'])
      assert.equal(isPlainRoute(text), false, text)
    const anyText = fc.oneof(fc.string(), fc.json(), fc.string({ unit: ANY_CHARACTER }))
    fc.assert(fc.property(anyText, (text) => !isPlainRoute(text) || lookUpRoute(text) === text))
  })
})
