/** The description for the page of `dev` is made, whatever stats() of a user's transport does. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '@elysia-microservices/transport'
import { Description } from './description.ts'

const circle: { circle?: unknown } = {}
circle.circle = circle

const ODD: Record<string, () => unknown> = {
  'it throws': () => {
    throw new Error('no figures')
  },
  'it returns nothing': () => undefined,
  'it returns a text': () => 'figures',
  'it returns a bigint': () => ({ transport: 'own', streams: 1n }),
  'it returns a circle': () => circle,
  'it returns a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }
}

describe('the description of a server tells its patterns, whatever stats() of a transport does', () => {
  const newServer = () =>
    memory().server({ name: 'shop', version: undefined, logger: { error() {}, warn() {} } })

  for (const [what, stats] of Object.entries(ODD))
    it(what, () => {
      const odd = Object.assign(newServer(), { stats })
      const answer = new Description('shop').answer(
        true,
        [odd as never, newServer()],
        [{ kind: 'message', route: 'shop.list' }]
      ) as { transports: { transport: string }[]; handlers: unknown[] }
      assert.deepEqual(
        answer.transports.map(({ transport }) => transport),
        ['memory']
      )
      assert.equal(answer.handlers.length, 1)
    })
})
