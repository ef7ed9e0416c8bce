import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type OutboxRelayOptions, relayOptions } from './options.ts'

const GIVEN = { sql: () => {}, client: { publish: async () => {} } } as unknown as OutboxRelayOptions

describe('the options of a relay', () => {
  it('have defaults', () => {
    const { batch, pollInterval, publishTimeout, schema } = relayOptions(GIVEN)
    assert.deepEqual(
      [batch, pollInterval, publishTimeout, schema],
      [500, 500, 10_000, 'elysia_microservices']
    )
    assert.equal(relayOptions({ ...GIVEN, batch: 100_000 }).batch, 100_000)
  })

  for (const [name, value] of [
    ['batch', 0],
    ['batch', 1.5],
    ['batch', 100_001],
    ['pollInterval', 0],
    ['publishTimeout', 0],
    ['publishTimeout', 'soon'],
    ['client', {}],
    ['logger', 1],
    ['schema', 'no schema'],
    ['retries', 3]
  ] as const)
    it(`are refused with ${name}: ${JSON.stringify(value)}`, () => {
      assert.throws(() => relayOptions({ ...GIVEN, [name]: value }), {
        name: 'OptionError',
        message: new RegExp(name)
      })
    })
})
