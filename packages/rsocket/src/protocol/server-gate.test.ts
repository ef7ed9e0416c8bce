/** Tests when a server accepts requests: as far as its limits have room, with leases, and until it drains. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Admission } from '../limits/admission.ts'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { cancel, entry, keepalive, request, setup } from '../testing/rsocket-frames.ts'
import { newRsocketServer, type ServerUnderTest } from '../testing/rsocket-peer.ts'

const LONG = { lifetime: 1e9 }
const WITH_LEASES = setup({ ...LONG, flags: 'L' })

const roomFor = (maxInFlight: number) =>
  new Admission({ maxInFlight, adaptive: undefined, now: () => 0, afterTurn() {} })

/** Makes a server that shares its room with other connections. */
function sharing(admission: Admission, refused: string[] = []): ServerUnderTest {
  return newRsocketServer(
    {
      limits: {
        ...NO_LIMITS,
        admission,
        refused: (what: string, why: string) => void refused.push(`${what}: ${why}`)
      }
    },
    { never: () => new Promise(() => {}) }
  )
}

const leases = (frames: string[]) => frames.filter((text) => text.startsWith('LEASE'))

describe('the room of a server', () => {
  it('bounds the requests of a client without leases; what is refused is counted', () => {
    const admission = roomFor(1)
    const refused: string[] = []
    const server = sharing(admission, refused)
    assert.deepEqual(server.on(setup(LONG), request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
    admission.began()
    const busy = 'The server is busy: as many requests as limits.inFlight allows (1) are in flight'
    assert.deepEqual(server.on(request(3, 'echo', '1')), [`ERROR 3 0x202 ${busy}`])
    assert.deepEqual(refused, [`requests: ${busy}`])
    assert.equal(admission.waiting, 0)
  })

  it('is shared by the connections with leases there are, and by no other', async () => {
    const admission = roomFor(8)
    const [first, second, third] = [sharing(admission), sharing(admission), sharing(admission)]
    assert.deepEqual(first.on(WITH_LEASES), ['LEASE 0 3600000 ms 8'])
    assert.deepEqual(second.on(WITH_LEASES), [])
    assert.deepEqual(first.on(), ['LEASE 0 3600000 ms 0', 'KEEPALIVE 0 F 0'])
    first.on(keepalive(''))
    assert.deepEqual(await second.later(), ['LEASE 0 3600000 ms 4'])
    third.on(setup(LONG))
    assert.equal(admission.leaseHolders, 2)
    third.connection.close()
    assert.equal(admission.leaseHolders, 2)
    second.connection.close()
    second.connection.close()
    assert.equal(admission.leaseHolders, 1)
    assert.deepEqual(sharing(admission).on(WITH_LEASES), ['LEASE 0 3600000 ms 4'])
    assert.equal(admission.promised, 4)
  })

  it('is not counted for leases where only the connection itself is limited', () => {
    const server = newRsocketServer({ limits: { ...NO_LIMITS, maxInFlight: 3 } })
    assert.deepEqual(server.on(WITH_LEASES), ['LEASE 0 3600000 ms 3'])
    server.connection.close()
  })

  it('is waited for each time that there is none', async () => {
    const admission = roomFor(1)
    const server = sharing(admission)
    admission.began()
    assert.deepEqual(server.on(WITH_LEASES), [])
    for (let id = 1; id < 7; id += 2) {
      admission.ended()
      assert.deepEqual(leases(await server.later()), ['LEASE 0 3600000 ms 1'])
      admission.began()
      assert.equal(server.on(request(id, 'echo', '1'))[0], `PAYLOAD ${id} CN 1`)
      // The end of a request makes the gate ask for room again, but the gate is added to the waiting list only once.
      server.on(request(id + 100, 'echo', '{'))
      assert.equal(admission.waiting, 1)
    }
  })

  it('is not waited for where there is some, nor granted to a connection that has ended or drains', async () => {
    const admission = roomFor(1)
    const [ended, draining] = [sharing(admission), sharing(admission)]
    admission.began()
    ended.on(WITH_LEASES)
    draining.on(WITH_LEASES)
    assert.equal(admission.waiting, 2)
    ended.connection.close()
    draining.connection.drain?.()
    draining.on()
    admission.ended()
    assert.deepEqual([await ended.later(), await draining.later()], [[], []])
    assert.deepEqual(draining.after(100_000), [])
  })
})

describe('a lease', () => {
  it('is renewed at half of its time; then the server sleeps while all that it may take is in flight', () => {
    const server = newRsocketServer(
      { limits: { ...NO_LIMITS, maxInFlight: 2 } },
      { never: () => new Promise(() => {}) }
    )
    server.on(WITH_LEASES, request(1, 'never', '1'))
    assert.equal(server.clock.next, 1_800_000)
    assert.deepEqual(server.after(1_799_999), [])
    // It is not replaced while requests may be on their way under it.
    assert.deepEqual(server.after(1), ['LEASE 0 3600000 ms 0', 'KEEPALIVE 0 F 0'])
    assert.deepEqual(server.on(keepalive('')), ['LEASE 0 3600000 ms 1'])
    server.on(request(3, 'never', '1'))
    assert.deepEqual(server.after(1_800_000), [])
    assert.ok(server.clock.next >= 1e9, 'nothing but the lifetime of the client')
    assert.deepEqual(server.on(cancel(1)), ['LEASE 0 3600000 ms 1'])
  })
})

describe('a server that drains', () => {
  const understanding = setup({
    ...LONG,
    metadata: entry('application/vnd.elysia-microservices.going-away')
  })

  it('tells a client for which it does nothing once, whatever that understands', () => {
    const server = newRsocketServer()
    server.on(understanding)
    assert.equal(server.connection.handsOver, true)
    server.connection.drain?.('enough')
    assert.deepEqual(server.on(), ['ERROR 0 0x102 enough'])
    // The end of any request, even an invalid one, makes the gate check again whether the connection is idle.
    assert.deepEqual(
      server.on(request(1, 'echo', '{')).map((text) => text.slice(0, 13)),
      ['ERROR 1 0x204']
    )
  })

  it('says nothing to a client that is gone', () => {
    const server = newRsocketServer({}, { never: () => new Promise(() => {}) })
    server.on(setup(LONG), request(1, 'never', '1'))
    assert.equal(server.connection.handsOver, false)
    server.connection.drain?.()
    server.connection.close()
    assert.deepEqual(server.on(), [])
    assert.equal(server.connection.inFlight, 0)
  })
})
