/** Tests the limits of a server, including wrong types that JavaScript allows. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientLimits, serverLimits } from './limits.ts'
import { serverOptions } from './server-options.ts'

const MEBIBYTE = 1_048_576
const ofConnections = {
  receiveBuffer: 128 * MEBIBYTE,
  sendBuffer: 128 * MEBIBYTE,
  messageSize: 64 * MEBIBYTE,
  incompleteMessage: 30_000
}
const NONE = Number.POSITIVE_INFINITY

describe('limits', () => {
  it('are by default what the documentation says', () => {
    assert.deepEqual(clientLimits(undefined), { ...ofConnections, streamBuffer: MEBIBYTE })
    assert.equal(clientLimits({ streamBuffer: false }).streamBuffer, NONE)
    assert.deepEqual(serverLimits(undefined), {
      ...ofConnections,
      connections: 65_536,
      inFlight: NONE,
      inFlightPerConnection: NONE,
      streams: 65_536,
      headerSize: 65_536,
      idle: 0,
      silence: 300_000,
      age: 0,
      handshake: 10_000
    })
    assert.deepEqual(serverLimits({ inFlight: 'adaptive' }).inFlight, { initial: 50, min: 1, max: 1_000 })
  })

  const numbers = ['connections', 'inFlight', 'inFlightPerConnection', 'streams', 'headerSize'] as const
  const sizes = ['receiveBuffer', 'sendBuffer', 'messageSize'] as const
  const times = ['idle', 'silence', 'age', 'handshake', 'incompleteMessage'] as const
  for (const name of [...numbers, ...sizes, ...times])
    it(`${name} may be 1 or more, or false for no limit, and nothing else`, () => {
      assert.equal(serverLimits({ [name]: 1 })[name], 1)
      assert.equal(serverLimits({ [name]: false })[name], times.includes(name as never) ? 0 : NONE)
      for (const wrong of [0, -1, Number.NaN, 'x', null])
        assert.throws(() => serverLimits({ [name]: wrong }), {
          name: 'OptionError',
          path: `options.limits.${name}`
        })
    })

  it('of adaptive concurrency keep the order of their bounds', () => {
    const bounds = (inFlight: object) => serverLimits({ inFlight }).inFlight
    assert.deepEqual(bounds({ min: 100 }), { initial: 100, min: 100, max: 1_000 })
    assert.deepEqual(bounds({ min: 2_000 }), { initial: 2_000, min: 2_000, max: 2_000 })
    assert.deepEqual(bounds({ max: 10 }), { initial: 10, min: 1, max: 10 })
    assert.deepEqual(bounds({ initial: 1_000 }), { initial: 1_000, min: 1, max: 1_000 })
  })
})

describe('limits.inFlight', () => {
  for (const [inFlight, path] of [
    [null, ''],
    ['fast', ''],
    [true, ''],
    [-1, ''],
    [0, ''],
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

  it('is told with all it may be', () => {
    for (const inFlight of [null, 'fast', true])
      assert.throws(() => serverLimits({ inFlight: inFlight as never }), {
        message: /a number, false, 'adaptive' or \{ initial, min, max \}/
      })
  })

  for (const inFlight of [false, 1, 'adaptive', {}, { max: 3 }, { min: 3, max: 3, initial: 3 }] as const) {
    it(`may be ${JSON.stringify(inFlight)}`, () => {
      serverOptions({ port: 0, limits: { inFlight } })
    })
  }
})
