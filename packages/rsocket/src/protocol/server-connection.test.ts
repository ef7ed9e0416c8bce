/** Tests the answering end of RSocket, frame by frame: each rule of the specification that applies, by its section. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import fc from 'fast-check'
import { NO_LIMITS } from '../limits/server-limits.ts'
import type { FakeClock, FakeOutput } from '../testing/peer.ts'
import { entry, frame, metadata, route, setup, uint24, uint32 } from '../testing/rsocket-frames.ts'
import { newRsocketServer, type ServerUnderTest } from '../testing/rsocket-peer.ts'
import { TestDispatcher } from '../testing/service.ts'
import type { ServerConnectionOptions } from './options.ts'

const M = 0x100
const F = 0x80
const C = 0x40
const N = 0x20
const I = 0x200

let dispatcher: TestDispatcher
let output: FakeOutput
let clock: FakeClock

function open(change: Partial<ServerConnectionOptions> = {}): ServerUnderTest {
  dispatcher = new TestDispatcher()
  const server = newRsocketServer({ dispatcher, ...change })
  ;({ output, clock } = server)
  return server
}

const request = (streamId: number, name: string, data: string) =>
  frame(streamId, 'REQUEST_RESPONSE', M, route(name), data)
const stream = (streamId: number, name: string, n: number, data: string) =>
  frame(streamId, 'REQUEST_STREAM', M, uint32(n), route(name), data)
const isEnded = () => output.ended !== undefined
/** Lets promises of handlers settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('Connection Establishment', () => {
  for (const [name, first, code] of [
    ['a frame that is no SETUP', request(1, 'echo', '1'), '0x1'],
    ['a SETUP on a stream above 0', setup({ streamId: 1 }), '0x1'],
    ['a SETUP of another version', setup({ major: 2 }), '0x2'],
    ['a SETUP without keepalive interval', setup({ keepalive: 0 }), '0x1'],
    ['a SETUP without lifetime', setup({ lifetime: 0 }), '0x1'],
    ['a SETUP of an unknown data MIME type', setup({ data: 'text/unknown' }), '0x2'],
    ['a SETUP that wants to resume where that is off', setup({ token: 'token' }), '0x3'],
    ['a RESUME where that is off', frame(0, 'RESUME', 0, Buffer.alloc(6), Buffer.alloc(16)), '0x4'],
    ['a SETUP that ends within a field', frame(0, 'SETUP', 0, Buffer.alloc(8)), '0x101']
  ] as const) {
    it(`answers ${name} with ERROR[${code}] and closes`, () => {
      const [error] = open().on(first)
      assert.match(error ?? '', new RegExp(`^ERROR 0 ${code} `))
      assert.ok(output.ended instanceof Error)
    })
  }

  it('takes requests at once behind SETUP', () => {
    assert.deepEqual(open().on(Buffer.concat([setup(), request(1, 'echo', '"x"')])), ['PAYLOAD 1 CN "x"'])
  })

  it('sends a LEASE if SETUP asks for leases', () => {
    assert.deepEqual(open().on(setup({ flags: 0x40 })), ['LEASE 0 2147483647 ms 2147483647'])
  })

  it('holds frames until the client is authenticated', async () => {
    let admit: (verdict: boolean) => void = () => {}
    const server = open({
      authenticate: () =>
        new Promise((resolve) => {
          admit = resolve
        })
    })
    assert.deepEqual(server.on(setup(), request(1, 'echo', '1'), request(3, 'echo', '2')), [])
    admit(true)
    await settle()
    assert.deepEqual(server.on(), ['PAYLOAD 1 CN 1', 'PAYLOAD 3 CN 2'])
  })

  it('bounds what it holds', () => {
    const server = open({ authenticate: () => new Promise(() => {}), maxBufferSize: 100 })
    server.on(setup(), Buffer.alloc(101))
    assert.ok(output.ended instanceof Error)
  })
})

describe('an RSocket server', () => {
  let server: ServerUnderTest
  beforeEach(() => {
    server = open()
    server.on(setup())
  })
  const on = (...frames: Uint8Array[]) => server.on(...frames)

  it('answers REQUEST_RESPONSE with one PAYLOAD of NEXT and COMPLETE', () => {
    assert.deepEqual(on(request(1, 'echo', '[1,"€"]')), ['PAYLOAD 1 CN [1,"€"]'])
  })

  it('answers with ERROR[APPLICATION_ERROR] what a handler says, and nothing of what it does not', () => {
    assert.deepEqual(on(request(1, 'fail', '1'), request(3, 'bug', '1'), request(5, 'no', '1')), [
      'ERROR 1 0x201 {"code":"E","message":"m","details":{"d":1}}',
      'ERROR 3 0x201 {"code":"INTERNAL","message":"Internal server error"}',
      `ERROR 5 0x201 {"code":"PATTERN_NOT_FOUND","message":"There is no handler for the pattern 'no'"}`
    ])
  })

  it('answers data it cannot read with ERROR[INVALID]', () => {
    const [error] = on(request(1, 'echo', '{'))
    assert.match(error ?? '', /^ERROR 1 0x204 /)
  })

  it('hands REQUEST_FNF to the dispatcher and answers nothing', () => {
    assert.deepEqual(on(frame(1, 'REQUEST_FNF', M, route('event'), '7')), [])
    assert.deepEqual(dispatcher.events, [7])
  })

  it('Flow Control: sends as many values as were asked for, and credits add up', async () => {
    server.connection.receive(stream(1, 'count', 2, '6'))
    await settle()
    assert.deepEqual(on(), ['PAYLOAD 1 N 0', 'PAYLOAD 1 N 1'])
    server.connection.receive(frame(1, 'REQUEST_N', 0, uint32(1)))
    server.connection.receive(frame(1, 'REQUEST_N', 0, uint32(2)))
    await settle()
    assert.deepEqual(on(), ['PAYLOAD 1 N 2', 'PAYLOAD 1 N 3', 'PAYLOAD 1 N 4'])
    server.connection.receive(frame(1, 'REQUEST_N', 0, uint32(0x7fffffff)))
    await settle()
    assert.deepEqual(on(), ['PAYLOAD 1 N 5', 'PAYLOAD 1 C'])
    assert.equal(server.connection.inFlight, 0)
  })

  it('refuses an initial demand of 0, and ignores a REQUEST_N of 0', async () => {
    const [error] = on(stream(1, 'count', 0, '6'))
    assert.match(error ?? '', /^ERROR 1 0x204 /)
    server.connection.receive(stream(3, 'count', 1, '6'))
    server.connection.receive(frame(3, 'REQUEST_N', 0, uint32(0)))
    await settle()
    assert.deepEqual(on(), ['PAYLOAD 3 N 0'])
  })

  it('CANCEL ends the stream, aborts its signal and is answered by nothing', async () => {
    server.connection.receive(stream(1, 'endless', 3, '0'))
    server.connection.receive(request(3, 'wait', '0'))
    await settle()
    output.sent()
    assert.deepEqual(on(frame(1, 'CANCEL', 0), frame(3, 'CANCEL', 0)), [])
    await dispatcher.ended
    assert.equal(dispatcher.waiting[0]!.message.signal.aborted, true)
    dispatcher.waiting[0]!.answer('late')
    await settle()
    assert.deepEqual(on(), [])
    assert.equal(server.connection.inFlight, 0)
  })

  it('Request Channel: answers with REQUEST_N, hands values on, completes', async () => {
    const first = frame(1, 'REQUEST_CHANNEL', M, uint32(5), route('sum'), '1')
    assert.deepEqual(on(first), ['REQUEST_N 1 4'])
    server.connection.receive(frame(1, 'PAYLOAD', N, '2'))
    server.connection.receive(frame(1, 'PAYLOAD', N | C, '3'))
    await settle()
    assert.deepEqual(on(), ['REQUEST_N 1 5', 'PAYLOAD 1 CN 6'])
  })

  it('Request Channel: an ERROR of the requester ends both directions', async () => {
    server.connection.receive(frame(1, 'REQUEST_CHANNEL', M, uint32(5), route('sum'), '1'))
    output.sent()
    assert.deepEqual(on(frame(1, 'ERROR', 0, uint32(0x201), 'no')), [])
    await settle()
    assert.deepEqual(on(), [])
    assert.equal(server.connection.inFlight, 0)
  })

  it('Keepalive Frame: echoes the data of one that asks for it, and no other', () => {
    assert.deepEqual(on(frame(0, 'KEEPALIVE', F, Buffer.alloc(8), 'data')), ['KEEPALIVE 0 0 data'])
    assert.deepEqual(on(frame(0, 'KEEPALIVE', 0, Buffer.alloc(8))), [])
  })

  it('Keepalive Frame: takes a client for dead after the lifetime of its SETUP', () => {
    clock.pass(2_900)
    server.connection.receive(frame(0, 'KEEPALIVE', 0, Buffer.alloc(8)))
    clock.pass(2_900)
    assert.equal(isEnded(), false)
    clock.pass(3_200)
    assert.equal(isEnded(), true)
  })

  it('Fragmentation: puts requests together, all metadata before any data', () => {
    const whole = route('echo').subarray(3)
    const cut = 5
    assert.deepEqual(
      on(
        frame(1, 'REQUEST_RESPONSE', M | F, metadata(whole.subarray(0, cut))),
        frame(1, 'PAYLOAD', M | F | N, metadata(whole.subarray(cut)), '"a'),
        frame(1, 'PAYLOAD', F | N, 'b'),
        frame(1, 'PAYLOAD', N, 'c"')
      ),
      ['PAYLOAD 1 CN "abc"']
    )
  })

  it('Fragmentation: forgets what came when it is cancelled', () => {
    assert.deepEqual(
      on(
        frame(1, 'REQUEST_RESPONSE', M | F, route('echo'), '"a'),
        frame(1, 'CANCEL', 0),
        frame(1, 'PAYLOAD', N, 'c"')
      ),
      []
    )
  })

  it('Fragmentation: is bounded', () => {
    on(frame(1, 'REQUEST_RESPONSE', M | F, route('echo'), 'x'.repeat(600)))
    assert.match(
      on(frame(1, 'PAYLOAD', F | N, 'x'.repeat(600)))[0] ?? '',
      /^ERROR 0 0x101 .*limits\.messageSize/
    )
  })

  it('Metadata: ends the connection with ERROR[CONNECTION_ERROR] if metadata reaches beyond its frame', () => {
    const [error] = on(frame(1, 'REQUEST_RESPONSE', M, uint24(100), 'x'))
    assert.match(error ?? '', /^ERROR 0 0x101 /)
    assert.ok(output.ended instanceof Error)
  })

  it('Metadata: ignores such a frame if it may', () => {
    assert.deepEqual(on(frame(1, 'REQUEST_RESPONSE', M | I, uint24(100), 'x'), request(3, 'echo', '1')), [
      'PAYLOAD 3 CN 1'
    ])
  })

  it('Ignore Flag: ignores unknown frames that allow it, and ends the connection for others', () => {
    assert.deepEqual(on(frame(0, 0x3f, I, uint32(1)), frame(5, 0x2a, I)), [])
    assert.match(on(frame(0, 0x3f, 0, uint32(1)))[0] ?? '', /^ERROR 0 0x101 /)
  })

  for (const [rule, ignored] of [
    ['a request on a stream id of its own parity', request(2, 'echo', '1')],
    ['a CANCEL of an unknown stream', frame(9, 'CANCEL', 0)],
    ['a CANCEL of stream 0', frame(0, 'CANCEL', 0)],
    ['an ERROR of an unknown stream', frame(9, 'ERROR', 0, uint32(0x201), 'x')],
    ['a PAYLOAD of an unknown stream', frame(9, 'PAYLOAD', N, '1')],
    ['a PAYLOAD of stream 0', frame(0, 'PAYLOAD', N, '1')],
    ['a REQUEST_N of an unknown stream', frame(9, 'REQUEST_N', 0, uint32(1))],
    ['a METADATA_PUSH on a stream', frame(9, 'METADATA_PUSH', M, 'x')],
    ['a second SETUP', setup()],
    ['an ERROR[REJECTED_SETUP]', frame(0, 'ERROR', 0, uint32(3), 'x')],
    ['a SETUP on a stream', frame(9, 'SETUP', 0, Buffer.alloc(24))],
    ['a RESUME_OK', frame(0, 'RESUME_OK', 0, Buffer.alloc(8))],
    ['a RESUME_OK on a stream', frame(9, 'RESUME_OK', 0, Buffer.alloc(8))]
  ] as const) {
    it(`Handling the Unexpected: ignores ${rule}`, () => {
      assert.deepEqual(on(ignored, request(11, 'echo', '1')), ['PAYLOAD 11 CN 1'])
      assert.equal(output.ended, undefined)
    })
  }

  it('Handling the Unexpected: ignores a request on a stream id that is in use', async () => {
    on(request(1, 'wait', '"first"'), request(1, 'wait', '"second"'))
    assert.equal(dispatcher.waiting.length, 1)
  })

  it('Resuming Operation: answers RESUME after SETUP with ERROR[CONNECTION_ERROR]', () => {
    assert.match(on(frame(0, 'RESUME', 0, Buffer.alloc(24)))[0] ?? '', /^ERROR 0 0x101 /)
  })

  it('drains: refuses new requests, lets old ones end, and then says CONNECTION_CLOSE, once', async () => {
    on(request(1, 'wait', '1'), request(3, 'wait', '2'))
    assert.equal(server.connection.drain?.(), true)
    assert.equal(server.connection.drain?.(), true)
    assert.deepEqual(on(request(5, 'echo', '1')), ['ERROR 5 0x202 The server is stopping'])
    dispatcher.waiting[0]!.answer('done')
    await settle()
    assert.deepEqual(on(), ['PAYLOAD 1 CN "done"'])
    assert.equal(output.settlements, 1)
    dispatcher.waiting[1]!.answer('done')
    await settle()
    assert.deepEqual(on(), ['PAYLOAD 3 CN "done"', 'ERROR 0 0x102 The server is stopping'])
    assert.equal(server.connection.drain?.(), true)
    assert.deepEqual(on(request(7, 'echo', '1')), ['ERROR 7 0x202 The server is stopping'])
  })

  it('drains when nothing is in flight: says CONNECTION_CLOSE at once', () => {
    server.connection.drain?.('so it is')
    assert.deepEqual(on(), ['ERROR 0 0x102 so it is'])
  })

  it('drains: a stream that is canceled has ended, and so has a call of its own that is answered', async () => {
    on(request(1, 'wait', '1'))
    const call = server.caller.request('ask', 1)
    on()
    server.connection.drain?.()
    assert.deepEqual(on(frame(1, 'CANCEL', 0)), [])
    assert.deepEqual(on(frame(2, 'PAYLOAD', 0x60, '7')), ['ERROR 0 0x102 The server is stopping'])
    assert.equal(await call, 7)
  })

  it('fails a call of its own that is the first, and is made after the client has left', async () => {
    on(request(1, 'wait', '1'))
    server.connection.close()
    await assert.rejects(server.caller.request('ask', 1), { name: 'ConnectionError' })
  })

  it('drains: tells a client that understands it at once, and says CONNECTION_CLOSE last to it, too', async () => {
    const understanding = open()
    const on = (...frames: Buffer[]) => understanding.on(...frames)
    const composite = entry('application/vnd.elysia-microservices.going-away')
    assert.deepEqual(on(setup({ metadata: composite }), request(1, 'wait', '1')), [])
    understanding.connection.drain?.()
    understanding.connection.drain?.()
    const said = `.application/vnd.elysia-microservices.going-away\0\0\u{16}The server is stopping`
    assert.deepEqual(on(), [`METADATA_PUSH 0 M ${said}`])
    dispatcher.waiting[0]!.answer('done')
    await settle()
    assert.deepEqual(on(), ['PAYLOAD 1 CN "done"', 'ERROR 0 0x102 The server is stopping'])
  })

  it('takes metadata of SETUP that is not composite for nothing, where nobody asks for credentials', () => {
    for (const metadata of ['x', Buffer.of(0xff)]) {
      const client = open()
      assert.deepEqual(client.on(setup({ metadata }), request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
    }
  })

  it('answers a request whose deadline has passed with ERROR[CANCELED], and aborts its signal', () => {
    const name = 'wait'
    const json = '{"elysia-timeout":"50","elysia-later":"x","deadline":"soon","a":"A"}'
    const both = metadata(route(name).subarray(3), Buffer.of(0x85), uint24(json.length), json)
    on(frame(1, 'REQUEST_RESPONSE', M, both, '1'))
    const [{ message }] = dispatcher.waiting as [(typeof dispatcher.waiting)[0]]
    assert.equal(message.timeout, 50)
    assert.deepEqual(message.headers, { deadline: 'soon', a: 'A' })
    clock.pass(49)
    assert.deepEqual(on(), [])
    clock.pass(1)
    assert.match(on()[0] ?? '', /^ERROR 1 0x203 /)
    assert.equal(message.signal.aborted, true)
  })

  it('Per Stream MIME Types: reads a request by its own type and answers by one that is accepted', () => {
    const types = metadata(
      route('echo').subarray(3),
      Buffer.of(0xfa),
      uint24(1),
      Buffer.of(0x86),
      Buffer.of(0xfb),
      uint24(2),
      Buffer.of(0x80, 0x86)
    )
    assert.deepEqual(on(frame(1, 'REQUEST_RESPONSE', M, types, 'raw bytes')), ['PAYLOAD 1 CN raw bytes'])
  })

  it('stops starting handlers while its answers do not leave', () => {
    output.isBlocked = true
    assert.deepEqual(on(request(1, 'echo', '1')), [])
    output.isBlocked = false
    server.connection.resume()
    assert.deepEqual(on(), ['PAYLOAD 1 CN 1'])
  })
})

describe('METADATA_PUSH', () => {
  it('is of no use to a server, and disturbs nothing', () => {
    const server = open()
    const pushed = frame(0, 'METADATA_PUSH', M, 'news')
    assert.deepEqual(server.on(setup(), pushed, request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
    assert.deepEqual(server.logger.lines, [])
  })

  it('is counted as refused if it is longer than metadata may be, and disturbs nothing either', () => {
    const refused: string[] = []
    const server = open({
      limits: {
        ...NO_LIMITS,
        maxHeaderSize: 3,
        refused: (what, message) => refused.push(`${what}: ${message}`)
      }
    })
    const pushed = ['new', 'news'].map((text) => frame(0, 'METADATA_PUSH', M, text))
    assert.deepEqual(server.on(setup(), ...pushed, frame(1, 'REQUEST_RESPONSE', 0, '1')).length, 1)
    assert.deepEqual(refused, ['headers: METADATA_PUSH has 4 bytes; limits.headerSize allows 3'])
    assert.equal(server.ended, false)
  })
})

describe('Lease Semantics', () => {
  it('grants as many requests as may be in flight, and refuses those beyond', async () => {
    const server = open({ limits: { ...NO_LIMITS, maxInFlight: 2 } })
    assert.deepEqual(server.on(setup({ flags: 0x40, lifetime: 1_000_000 })), ['LEASE 0 3600000 ms 2'])
    const frames = server.on(request(1, 'wait', '1'), request(3, 'wait', '2'), request(5, 'wait', '3'))
    assert.deepEqual(frames, ['ERROR 5 0x202 No lease covers the request'])
    dispatcher.waiting[0]!.answer(1)
    await settle()
    assert.deepEqual(server.on(), ['PAYLOAD 1 CN 1', 'LEASE 0 3600000 ms 1'])
  })

  it('renews only when all that was granted has come: the rest may be on its way', () => {
    const server = open({ limits: { ...NO_LIMITS, maxInFlight: 3 } })
    server.on(setup({ flags: 0x40, lifetime: 1_000_000 }))
    const frames = [1, 3, 5].map((streamId) => server.on(request(streamId, 'echo', '1')))
    const [first, second, third] = frames.map((texts) => texts.map((text) => text.split(' ')[0]))
    assert.deepEqual([first, second], [['PAYLOAD'], ['PAYLOAD']])
    assert.deepEqual(third, ['PAYLOAD', 'LEASE'])
  })

  it('counts requests whose data cannot be read', () => {
    const server = open({ limits: { ...NO_LIMITS, maxInFlight: 1 } })
    server.on(setup({ flags: 0x40, lifetime: 1_000_000 }))
    const [error, lease] = server.on(request(1, 'echo', '{'))
    assert.match(error ?? '', /^ERROR 1 0x204 /)
    assert.equal(lease, 'LEASE 0 3600000 ms 1')
  })

  it('takes a request that was sent before its lease expired, however late it arrives', () => {
    const server = open({ limits: { ...NO_LIMITS, maxInFlight: 2 } })
    server.on(setup({ flags: 0x40, lifetime: 1e8 }))
    // The process is busy, so its timers are late.
    clock.time = 1e7
    assert.deepEqual(server.on(request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
  })
})

describe('a server connection under arbitrary bytes', () => {
  it('never throws, and has nothing in flight after its end', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 30, size: 'max' }).map((bytes) => Buffer.from(bytes)),
      fc
        .tuple(
          fc.nat({ max: 5 }),
          fc.nat({ max: 63 }),
          fc.nat({ max: 0x3ff }),
          fc.uint8Array({ maxLength: 30, size: 'max' })
        )
        .map(([streamId, type, flags, body]) => frame(streamId, type, flags, body)),
      fc.constantFrom(setup(), request(1, 'wait', '1'), stream(3, 'count', 2, '5'))
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12, size: 'max' }), fc.boolean(), (pieces, setUp) => {
        const server = open()
        if (setUp) server.connection.receive(setup())
        for (const bytes of pieces) if (output.ended === undefined) server.connection.receive(bytes)
        server.connection.close()
        assert.equal(server.connection.inFlight, 0)
      })
    )
  })
})
