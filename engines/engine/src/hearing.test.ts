import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Carried } from './carrier.ts'
import { Hearing } from './hearing.ts'
import { unanswered, unreachable } from './unreachable.ts'

it('a message is heard at its place while there is a receiver, whose failure is reported and not thrown', () => {
  const failed: unknown[] = []
  const heard: Carried[] = []
  const hearing = new Hearing({ failed: (error) => void failed.push(error) })
  const message: Carried = { address: 'a.1', words: 'x', reply: '', headers: undefined }
  hearing.hear('a', message)
  assert.equal(hearing.has('a'), false)
  hearing.add('a', (one) => void heard.push(one))
  hearing.hear('a', message)
  hearing.hear('b', message)
  hearing.nobody('a', 'a.2')
  assert.deepEqual(heard, [
    message,
    { address: 'a.2', words: '', reply: '', headers: undefined, isNobody: true }
  ])
  const error = new Error('broken')
  hearing.add('a', () => {
    throw error
  })
  hearing.hear('a', message)
  assert.deepEqual([failed, heard.length], [[error], 2])
  hearing.remove('a')
  hearing.hear('a', message)
  assert.deepEqual([failed.length, hearing.has('a')], [1, false])
})

it('the error of a server that cannot be reached says why, from the text, the code or the name of its cause', () => {
  for (const [cause, why] of [
    [new Error('refused.'), 'refused'],
    [Object.assign(new Error(''), { code: 'ECONNRESET' }), 'ECONNRESET'],
    [new TypeError(''), 'TypeError'],
    [unanswered(5), 'it has not answered within 5 ms']
  ] as const) {
    const error = unreachable('SHOP', 'shop:1', cause, 'start it')
    assert.equal(error.message, `Cannot reach SHOP at shop:1: ${why}; start it`)
    assert.deepEqual([error.mayHaveRun, error.cause, error.retryable], [false, cause, true])
  }
})
