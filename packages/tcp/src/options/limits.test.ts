/** The limits of a server, from JavaScript too. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serverOptions } from './server-options.ts'

describe('limits.inFlight', () => {
  for (const [inFlight, path] of [
    [null, ''],
    ['fast', ''],
    [true, ''],
    [-1, ''],
    [{ min: 0 }, '.min'],
    [{ min: 5, max: 4 }, '.max'],
    [{ min: 5, initial: 4 }, '.initial'],
    [{ max: 5, initial: 6 }, '.initial']
  ] as const) {
    it(`is not ${JSON.stringify(inFlight)}`, () => {
      assert.throws(() => serverOptions({ port: 0, limits: { inFlight: inFlight as never } }), {
        name: 'OptionError',
        path: `options.limits.inFlight${path}`
      })
    })
  }

  for (const inFlight of [0, 1, 'adaptive', {}, { max: 3 }, { min: 3, max: 3, initial: 3 }] as const) {
    it(`may be ${JSON.stringify(inFlight)}`, () => {
      serverOptions({ port: 0, limits: { inFlight } })
    })
  }
})
