/** Tests a server's limits: their options, the counts of refusals, and the errors of refused calls. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RecordingLogger } from '../testing/service.ts'
import { NO_LIMITS, ServerLimits, type ServerLimitsInit } from './server-limits.ts'

const NONE = Number.POSITIVE_INFINITY

function limited(given: Partial<ServerLimitsInit> = {}) {
  const logger = new RecordingLogger()
  const clock = { now: 0 }
  const limits = new ServerLimits(
    { inFlight: NONE, maxInFlight: 3, maxStreams: 4, maxHeaderSize: 5, logger, ...given },
    () => clock.now,
    () => {}
  )
  return { limits, logger, clock }
}

describe('the limits of a server', () => {
  it('admit everything if there is no limit of the work in flight', () => {
    const { limits } = limited()
    assert.equal(limits.admission, undefined)
    assert.equal(limits.adaptive, undefined)
    assert.deepEqual([limits.maxInFlight, limits.maxStreams, limits.maxHeaderSize], [3, 4, 5])
  })

  it('admit as much as a number says', () => {
    const { limits } = limited({ inFlight: 2 })
    assert.equal(limits.adaptive, undefined)
    assert.equal(limits.admission?.room, 2)
    limits.admission?.began()
    limits.admission?.streamBegan()
    assert.equal(limits.admission?.room, 0)
  })

  it('admit as much as the adaptive limit has found, and streams beside', () => {
    const { limits } = limited({ inFlight: { initial: 7, min: 1, max: 10 } })
    assert.equal(limits.adaptive?.limit, 7)
    limits.admission?.streamBegan()
    limits.admission?.began()
    assert.equal(limits.admission?.room, 6)
    assert.equal(limits.adaptive?.inFlight, 1)
  })

  it('count every refusal by its kind, but log few of them', () => {
    const { limits, logger, clock } = limited()
    const none = { connections: 0, requests: 0, streams: 0, headers: 0, idleConnections: 0, waiting: 0 }
    const before = limits.refusals
    assert.deepEqual(before, none)
    for (let time = 0; time < 3; time++) limits.refused('streams', 'why')
    limits.refused('headers', 'why not')
    assert.deepEqual(limits.refusals, { ...none, streams: 3, headers: 1 })
    assert.deepEqual(before, none)
    assert.deepEqual(logger.lines, ['A stream was refused: why', 'Metadata was refused: why not'])
    clock.now = 10_000
    limits.refused('streams', 'why')
    assert.equal(logger.lines[2], 'A stream was refused: why (and 2 more since the last such line)')
  })

  it('are none for a client that answers calls', () => {
    const { admission, maxInFlight, maxStreams, maxHeaderSize } = NO_LIMITS
    assert.deepEqual([admission, maxInFlight, maxStreams, maxHeaderSize], [undefined, NONE, NONE, NONE])
    NO_LIMITS.refused('streams', 'nobody is told')
  })
})
