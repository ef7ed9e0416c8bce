/** Tests how leases are shared: whose lease is taken back for whom, and when it is granted again. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AdaptiveConcurrency } from '../limits/adaptive-concurrency.ts'
import { Admission } from '../limits/admission.ts'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { entry, event, frame, keepalive, request, setup, uint16 } from '../testing/rsocket-frames.ts'
import { type Handlers, newRsocketServer, type ServerUnderTest } from '../testing/rsocket-peer.ts'
import { ResumableConnections } from './resumable-connections.ts'
import { SERVER_RESUME_DEFAULTS } from './resume.ts'

const OURS = entry('application/vnd.elysia-microservices.going-away')
const ASKS = keepalive('R', 'lease')
const ANSWERS = keepalive('')
const RESUME = frame(0, 'RESUME', '', uint16(1), uint16(0), uint16(5), 'token', new Uint8Array(16))
const TAKEN_BACK = ['LEASE 0 3600000 ms 0', 'KEEPALIVE 0 F 0']
const lease = (requests: number) => [`LEASE 0 3600000 ms ${requests}`]

const roomFor = (maxInFlight: number) =>
  new Admission({ maxInFlight, adaptive: undefined, now: () => 0, afterTurn() {} })

/** Makes a server whose connections share a room, each with the frames that it has sent at its SETUP. */
function connect(admission: Admission, isOurs: boolean, handlers: Handlers = {}): ServerUnderTest {
  const server = newRsocketServer({ limits: { ...NO_LIMITS, admission } }, handlers)
  server.connection.receive(setup({ flags: 'L', lifetime: 1e9, ...(isOurs ? { metadata: OURS } : {}) }))
  return server
}

describe('a lease that is not used', () => {
  it('is taken back for who needs it, and granted again to a client of this library only when it asks', async () => {
    const admission = roomFor(1)
    const idle = connect(admission, true)
    assert.deepEqual(idle.on(), lease(1))
    const busy = connect(admission, true)
    assert.deepEqual([busy.on(), idle.on()], [[], TAKEN_BACK])
    idle.on(ANSWERS)
    assert.deepEqual([await busy.later(), await idle.later()], [lease(1), []])
    assert.deepEqual(busy.on(request(1, 'echo', '1')), ['PAYLOAD 1 CN 1', ...lease(1)])
    assert.deepEqual(idle.after(100_000), [])
    assert.deepEqual(idle.on(ASKS), ['KEEPALIVE 0 0 lease'])
    assert.deepEqual(busy.on(), TAKEN_BACK)
    busy.on(ANSWERS)
    assert.deepEqual(await idle.later(), lease(1))
  })

  it('is taken back for a request without a lease, which is refused until then', async () => {
    const admission = roomFor(1)
    const idle = connect(admission, true)
    const plain = newRsocketServer({ limits: { ...NO_LIMITS, admission } })
    idle.on()
    assert.match(
      plain.on(setup(), request(1, 'echo', '1'))[0] ?? '',
      /^ERROR 1 0x202 The server is busy: .* promised to clients with leases/
    )
    assert.deepEqual(idle.on(), TAKEN_BACK)
    idle.on(ANSWERS)
    assert.deepEqual(plain.on(request(3, 'echo', '1')), ['PAYLOAD 3 CN 1'])
  })

  it('goes round among clients of other libraries, which cannot ask, but ever more slowly', async () => {
    const admission = roomFor(1)
    const [first, second] = [connect(admission, false), connect(admission, false)]
    assert.deepEqual([first.on(), second.on()], [[...lease(1), ...TAKEN_BACK], []])
    first.on(ANSWERS)
    assert.deepEqual(await second.later(), lease(1))
    for (const [loser, winner, pause] of [
      [second, first, 1_000],
      [first, second, 1_000],
      [second, first, 2_000],
      [first, second, 2_000],
      [second, first, 4_000]
    ] as const) {
      assert.deepEqual([winner.after(pause - 1), loser.on()], [[], []])
      assert.deepEqual([winner.after(1), loser.on()], [[], TAKEN_BACK])
      loser.on(ANSWERS)
      assert.deepEqual(await winner.later(), lease(1))
    }
  })

  for (const isOurs of [true, false])
    it(`is replaced behind a resume${isOurs ? ', which asks for a lease' : ', also for a client that cannot ask'}`, async () => {
      const admission = roomFor(2)
      const limits = { ...NO_LIMITS, admission }
      const resumable = new ResumableConnections(
        SERVER_RESUME_DEFAULTS,
        () => () => {},
        () => {}
      )
      const idle = newRsocketServer({ limits, resumable })
      const flags = { flags: 'L', lifetime: 1e9, token: 'token' }
      assert.deepEqual(idle.on(setup(isOurs ? { ...flags, metadata: OURS } : flags)), lease(2))
      const busy = connect(admission, true)
      assert.deepEqual([busy.on(), idle.on()], [[], TAKEN_BACK])
      idle.on(ANSWERS)
      assert.deepEqual([await busy.later(), await idle.later()], [lease(1), []])
      idle.connection.close()
      const next = newRsocketServer({ limits, resumable })
      assert.deepEqual(next.on(RESUME).slice(1), lease(1))
    })

  it('still pays for what was sent before it was taken back', async () => {
    const admission = roomFor(1)
    const first = connect(admission, true)
    connect(admission, true)
    first.on()
    first.on(event(1, 'e', '1'), ANSWERS)
    assert.equal(first.dispatcher.events.length, 1)
    first.on(event(3, 'e', '1'))
    assert.equal(first.dispatcher.events.length, 1)
  })

  it('ends the connection of a client that does not answer', () => {
    const admission = roomFor(1)
    const first = connect(admission, true)
    connect(admission, true)
    first.on()
    assert.deepEqual(first.after(29_999), [])
    assert.match(first.after(1)[0] ?? '', /^ERROR 0 0x101 The client has not answered KEEPALIVE for 30000 ms/)
    first.connection.close()
    assert.equal(admission.promised, 0)
  })
})

describe('a turn in which handlers compute for too long', () => {
  it('refuses further requests, also with a lease, but takes events, whose senders are not told', () => {
    let now = 0
    const adaptive = new AdaptiveConcurrency({ initial: 50, min: 1, max: 50 })
    const admission = new Admission({
      maxInFlight: Number.POSITIVE_INFINITY,
      adaptive,
      now: () => now,
      afterTurn() {}
    })
    const compute = () => {
      now += 60
    }
    const server = connect(admission, true, { compute })
    server.on()
    server.on(request(1, 'compute', '1'))
    assert.match(server.on(request(3, 'compute', '1'))[0] ?? '', /^ERROR 3 0x202 .* compute without a pause/)
    server.on(event(5, 'compute', '1'))
    assert.equal(server.dispatcher.events.length, 1)
    assert.equal(admission.promised, 47)
  })
})
