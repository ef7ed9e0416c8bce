/** Scenarios of headers beside an answer. */
import assert from 'node:assert/strict'
import type { RpcError } from 'elysia-microservices/client'
import type { Scenario } from './case.ts'
import { BYTES, tenant } from './live-controller.ts'

const LATE =
  'set.headers["tenant"] cannot be set any more: the first value of the answer has been sent: use set.trailers'

const isHeaders = (heard: unknown) => Object.hasOwn(Object(heard), 'headers')
const isTrailers = (heard: unknown) => Object.hasOwn(Object(heard), 'trailers')

/** The parts of an answer as a caller has heard them, without the place of the trailers, which come with its last value or behind it. */
function inOrder(heard: readonly unknown[]): unknown[] {
  return [...heard.filter((one) => !isTrailers(one)), heard.filter(isTrailers)]
}

export const answerHeaders: readonly Scenario[] = [
  {
    name: 'gives callers who ask the headers of an answer, before its first value and before its end',
    async run({ client, traits }) {
      tenant.text = traits.headersOfHttp ? 'e' : 'é'
      const begin = { headers: { tenant: tenant.text, 'trace-bin': BYTES } }
      const end = (cost: string) => ({ trailers: { cost } })
      const error = { error: 'PAPER' }
      for (const [form, expected] of [
        ['value', [begin, end('7'), 'one']],
        ['promise', [begin, end('7'), 'one']],
        ['nothing', [begin, end('7')]],
        ['large', [begin, end('7'), 'x'.repeat(100_000)]],
        ['values', [begin, 1, 2, end('8')]],
        ['late', [begin, 1, 2, LATE, end('8')]],
        ['error', [begin, end('7'), error]],
        ['late error', [begin, 1, 2, end('8'), error]]
      ] as const) {
        const heard: unknown[] = []
        const options = {
          onHeaders: (headers: object) => heard.push({ headers: { ...headers } }),
          onTrailers: (trailers: object) => heard.push({ trailers: { ...trailers } })
        }
        const reading = client.send('headed', form, options).forEach((value) => void heard.push(value))
        if (!traits.hasAnswerHeaders) {
          await assert.rejects(reading, { name: 'OptionError', path: 'options.onHeaders', mayHaveRun: false })
          continue
        }
        await reading.catch((failure: RpcError) => heard.push({ error: failure.code }))
        // A service may have sent the end of a stream behind its last value, or with it.
        assert.deepEqual(inOrder(heard), inOrder(expected), form)
        assert.equal(heard.findIndex(isTrailers) > heard.findIndex(isHeaders), true, form)
      }
    }
  },
  {
    name: 'gives the first value of a stream with its headers, and fails the call if its caller cannot read them',
    async run({ client, traits }) {
      if (!traits.hasAnswerHeaders) return
      tenant.text = 'e'
      let heard: unknown
      const onHeaders = (headers: object) => {
        heard = { ...headers }
      }
      assert.equal(await client.request('headed', 'values', { onHeaders }), 1)
      assert.deepEqual(heard, { tenant: 'e', 'trace-bin': BYTES })
      const failing = () => {
        throw new Error('unreadable')
      }
      for (const form of ['value', 'values', 'error'])
        await assert.rejects(client.request('headed', form, { onHeaders: failing }), /unreadable/)
      assert.equal(await client.request('headed', 'value'), 'one')
    }
  }
]
