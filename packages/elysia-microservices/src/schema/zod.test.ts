import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { z } from 'zod'
import { standardCheck } from './standard-check.ts'

const fails = async () => {
  throw new Error('no database')
}
const isEven = async (n: number) => n % 2 === 0

describe('a schema of zod with async functions', () => {
  const unhandled: unknown[] = []
  const listener = (error: unknown) => void unhandled.push(error)
  before(() => void process.on('unhandledRejection', listener))
  after(() => void process.off('unhandledRejection', listener))
  const turn = () => new Promise((resolve) => setTimeout(resolve, 5))

  for (const [what, schema, value] of [
    ['itself', z.string().refine(fails), 'x'],
    ['a field', z.object({ a: z.string().refine(fails) }), { a: 'x' }],
    ['an item', z.array(z.object({ a: z.string().refine(fails) })), [{ a: 'x' }]],
    ['a transform', z.string().transform(fails).optional(), 'x'],
    ['one of several', z.union([z.number(), z.string().refine(fails)]), 'x'],
    ['a check of the whole', z.object({ a: z.string() }).superRefine(fails), { a: 'x' }]
  ] as const) {
    it(`leaves no rejection behind where ${what} throws`, async () => {
      await assert.rejects(async () => standardCheck(schema as never)(value), { message: 'no database' })
      await turn()
      assert.deepEqual(unhandled, [])
    })
  }

  it('runs each of them once, and gives value or issue as others do', async () => {
    let runs = 0
    const schema = z.object({
      n: z.coerce.number().refine((n) => {
        runs++
        return isEven(n)
      }, 'odd'),
      m: z.number().refine(async (n) => isEven(n), 'also odd')
    })
    const check = standardCheck(schema)
    assert.deepEqual(await check({ n: '2', m: 2 }), { n: 2, m: 2 })
    assert.equal(runs, 1)
    await assert.rejects(async () => check({ n: 2, m: 3 }), { message: 'also odd' })
  })

  it('is no other: without one nothing waits', () => {
    assert.deepEqual(standardCheck(z.object({ n: z.number() }))({ n: 1 }), { n: 1 })
  })
})
