/** Tests Protocol.md, "LEASE Frame" and "Lease Semantics". */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Admission } from '../limits/admission.ts'
import { NO_LIMITS } from '../limits/server-limits.ts'
import {
  cancel,
  channel,
  error,
  event,
  keepalive,
  lease,
  request,
  setup,
  stream
} from '../testing/rsocket-frames.ts'
import {
  newRsocketServer,
  outcomeOf,
  RecordingReceiver,
  rsocketClient,
  turn
} from '../testing/rsocket-peer.ts'
import { HeldLease } from './lease.ts'

/** The frame by which a client of this library asks for a lease. */
const ASKS = 'KEEPALIVE 0 F 0 lease'

const types = (frames: string[]) => frames.map((text) => text.split(' ')[0])

describe('a requester with leases', () => {
  it('sends no request of any kind before a LEASE has come [MUST]', () => {
    const client = rsocketClient({ lease: true })
    const { caller } = client
    void caller.request('a', 1)
    void caller.emit('b', 1)
    caller.stream('c', 1, new RecordingReceiver())
    assert.deepEqual(client.on(), [])
    assert.equal(client.connection.inFlight, 3)
  })

  it('sends no more than the number of requests of the LEASE, in the order of the calls [MUST]', () => {
    const client = rsocketClient({ lease: true })
    for (const name of ['a', 'b', 'c', 'd', 'e']) void client.caller.request(name, 1)
    assert.deepEqual(client.on(lease(1_000, 2)), [
      'REQUEST_RESPONSE 1 M {a} 1',
      'REQUEST_RESPONSE 3 M {b} 1',
      ASKS
    ])
    void client.caller.request('f', 1)
    assert.deepEqual(client.on(), [])
    assert.deepEqual(types(client.on(lease(1_000, 3))), [
      'REQUEST_RESPONSE',
      'REQUEST_RESPONSE',
      'REQUEST_RESPONSE',
      'KEEPALIVE'
    ])
    assert.deepEqual(client.on(lease(1_000, 9)), ['REQUEST_RESPONSE 11 M {f} 1'])
  })

  it('sends none after the time to live has passed [MUST]', () => {
    const client = rsocketClient({ lease: true })
    client.on(lease(1_000, 5))
    client.after(1_000)
    void client.caller.request('a', 1)
    assert.deepEqual(client.on(), [ASKS])
    assert.deepEqual(client.on(lease(1_000, 5)), ['REQUEST_RESPONSE 1 M {a} 1'])
  })

  it('takes a new LEASE in place of the one before, not in addition', () => {
    const client = rsocketClient({ lease: true })
    client.on(lease(1_000, 5), lease(1_000, 1))
    void client.caller.request('a', 1)
    void client.caller.request('b', 1)
    assert.deepEqual(client.on(), ['REQUEST_RESPONSE 1 M {a} 1', ASKS])
  })

  it('sends nothing more when its LEASE is taken back, and asks for another one once a call needs it', () => {
    const client = rsocketClient({ lease: true })
    assert.deepEqual(client.on(lease(1_000, 5), lease(1_000, 0), keepalive('R')), ['KEEPALIVE 0 0'])
    void client.caller.request('a', 1)
    void client.caller.request('b', 1)
    assert.deepEqual(client.on(), [ASKS])
    assert.deepEqual(types(client.on(lease(1_000, 2))), ['REQUEST_RESPONSE', 'REQUEST_RESPONSE'])
  })

  it('uses nothing of it for a call that cannot be sent, or ends while it is encoded', () => {
    const client = rsocketClient({ lease: true })
    client.on(lease(1_000, 1))
    const abort = new AbortController()
    const ended = { toJSON: () => abort.abort() }
    for (const [data, signal] of [
      [Symbol('no data'), undefined],
      [ended, abort.signal]
    ] as const)
      client.caller.request('a', data, { signal }).catch(() => {})
    void client.caller.request('b', 1)
    assert.deepEqual(client.on(), ['REQUEST_RESPONSE 1 M {b} 1'])
  })

  it('needs no lease for REQUEST_N, CANCEL and values of streams there are', () => {
    const client = rsocketClient({ lease: true })
    client.on(lease(1_000, 1))
    const call = client.caller.stream('a', 1, new RecordingReceiver(), { demand: 1 })
    client.on()
    call.request(3)
    call.cancel()
    assert.deepEqual(client.on(), ['REQUEST_N 1 3', 'CANCEL 1'])
  })

  it('gives up calls that wait when their time has passed, their signal aborts or the connection ends', async () => {
    const client = rsocketClient({ lease: true })
    const { caller } = client
    const abort = new AbortController()
    const calls = [
      outcomeOf(caller.request('a', 1, { timeout: 100 })),
      outcomeOf(caller.request('b', 1, { signal: abort.signal })),
      outcomeOf(caller.request('c', 1))
    ]
    client.after(100)
    abort.abort()
    client.connection.close()
    await turn()
    assert.deepEqual(calls.flat(), ['TimeoutError', 'CanceledError', 'ConnectionError'])
    assert.deepEqual(client.on(lease(1_000, 9)), [])
  })

  it('gives calls that wait back when the server goes away, which grants no more leases', async () => {
    const given: string[] = []
    const client = rsocketClient({ lease: true, handOver: ({ name }) => given.push(name) })
    const channel = outcomeOf(client.caller.request('channel', (async function* () {})()))
    await turn()
    for (const name of ['a', 'b', 'c']) void client.caller.request(name, 1)
    client.on(lease(1_000, 2))
    client.on(error(0, 0x102, 'The server is stopping'))
    assert.deepEqual(given, ['b', 'c'])
    // The answers of what was sent still come; a channel has begun, and cannot begin elsewhere.
    assert.equal(client.connection.inFlight, 2)
    assert.deepEqual(channel, [])
    const other = rsocketClient({ lease: true })
    void other.caller.request('a', 1)
    other.on(error(0, 0x102, 'The server is stopping'))
    assert.equal(other.connection.inFlight, 1)
  })

  it('uses no more than it holds, whatever comes in whatever order', () => {
    const step = fc.oneof(
      fc.record({ requests: fc.nat({ max: 5 }), timeToLive: fc.integer({ min: 1, max: 50 }) }),
      fc.integer({ min: 1, max: 30 })
    )
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let now = 0
        const held = new HeldLease(() => now)
        let [left, until] = [0, 0]
        for (const given of steps) {
          if (typeof given === 'number') now += given
          else {
            held.renew(given.timeToLive, given.requests)
            left = given.requests
            until = now + given.timeToLive
          }
          const may = left > 0 && now < until
          assert.equal(held.use(), may)
          if (may) left--
        }
      })
    )
  })
})

describe('a responder with leases', () => {
  const leased = () =>
    newRsocketServer({ limits: { ...NO_LIMITS, maxInFlight: 2 } }, { never: () => new Promise(() => {}) })

  for (const [kind, third] of [
    ['REQUEST_RESPONSE', request(5, 'never', '1')],
    ['REQUEST_STREAM', stream(5, 'never', 1, '1')],
    ['REQUEST_CHANNEL', channel(5, 'never', 1, '1')]
  ] as const) {
    it(`answers a ${kind} that no LEASE covers with ERROR[REJECTED], and does not process it [MUST]`, () => {
      const server = leased()
      assert.deepEqual(types(server.on(setup({ flags: 'L', lifetime: 1e9 }))), ['LEASE'])
      server.on(request(1, 'never', '1'), request(3, 'never', '1'))
      assert.match(server.on(third).find((text) => text.startsWith('ERROR')) ?? '', /^ERROR 5 0x202 /)
      assert.equal(server.dispatcher.requests.length, 2)
    })
  }

  it('drops an event that no LEASE covers', () => {
    const server = leased()
    server.on(
      setup({ flags: 'L', lifetime: 1e9 }),
      request(1, 'never', '1'),
      request(3, 'never', '1'),
      event(5, 'e', '1')
    )
    assert.equal(server.dispatcher.events.length, 0)
  })

  it('grants again when requests have ended', () => {
    const server = leased()
    server.on(setup({ flags: 'L', lifetime: 1e9 }), request(1, 'never', '1'), request(3, 'never', '1'))
    const granted = server.on(cancel(1), cancel(3)).filter((text) => text.startsWith('LEASE'))
    assert.ok(granted.length > 0)
    assert.deepEqual(
      server.on(request(5, 'echo', '5')).filter((text) => !text.startsWith('LEASE')),
      ['PAYLOAD 5 CN 5']
    )
  })

  it('waits for room once, however many requests it refuses meanwhile', async () => {
    const admission = new Admission({ maxInFlight: 1, adaptive: undefined, now: () => 0, afterTurn() {} })
    admission.began()
    const server = newRsocketServer({ limits: { ...NO_LIMITS, admission } })
    assert.deepEqual(server.on(setup({ flags: 'L', lifetime: 1e9 })), [])
    assert.deepEqual(types(server.on(request(1, 'echo', '1'), request(3, 'echo', '1'))), ['ERROR', 'ERROR'])
    assert.equal(admission.waiting, 1)
    admission.ended()
    assert.deepEqual(types(await server.later()), ['LEASE'])
  })

  it('takes what it has granted, whatever begins elsewhere, and grants again when there is room', async () => {
    const admission = new Admission({ maxInFlight: 1, adaptive: undefined, now: () => 0, afterTurn() {} })
    const server = newRsocketServer({ limits: { ...NO_LIMITS, admission } })
    assert.deepEqual(types(server.on(setup({ flags: 'L', lifetime: 1e9 }))), ['LEASE'])
    assert.equal(admission.room, 0)
    admission.began()
    assert.deepEqual(types(server.on(request(1, 'echo', '1'))), ['PAYLOAD'])
    admission.ended()
    assert.deepEqual(types(await server.later()), ['LEASE'])
    assert.deepEqual(types(server.on(request(3, 'echo', '1')))[0], 'PAYLOAD')
  })

  it('refuses what is too much without leases, too, where concurrency is limited', () => {
    const server = leased()
    assert.deepEqual(server.on(setup({ lifetime: 1e9 })), [])
    assert.match(
      server.on(request(1, 'never', '1'), request(3, 'never', '1'), request(5, 'never', '1'))[0] ?? '',
      /^ERROR 5 0x202 .* as many requests in flight as limits\.inFlightPerConnection allows \(2\)/
    )
  })

  it('sends LEASE frames only to a client that has set the lease flag', () => {
    const server = newRsocketServer({ limits: { ...NO_LIMITS, maxInFlight: 1 } })
    assert.deepEqual(server.on(setup({ lifetime: 1e9 })), [])
    assert.deepEqual(server.after(1_000_000), [])
  })
})
