/** Tests Protocol.md, "Connection Establishment": which frames each end may send before and after SETUP. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  COMPOSITE,
  cancel,
  error,
  event,
  frame,
  keepalive,
  lease,
  payload,
  request,
  setup,
  uint32
} from '../testing/rsocket-frames.ts'
import { newRsocketClient, newRsocketServer, rsocketClient, rsocketServer } from '../testing/rsocket-peer.ts'

/** The entry in SETUP with which a client says that it understands the announcement of a server that goes away. */
const GOING_AWAY = '{application/vnd.elysia-microservices.going-away: }'
const noResume = Buffer.concat([uint32(0x00010000), Buffer.of(0, 1), Buffer.from('t'), Buffer.alloc(16)])

describe('Connection Establishment, server', () => {
  for (const [first, bytes, code] of [
    ['a request', request(1, 'echo', '1'), 0x1],
    ['an event', event(1, 'echo', '1'), 0x1],
    ['a KEEPALIVE', keepalive('R'), 0x1],
    ['a LEASE', lease(1, 1), 0x1],
    ['a CANCEL', cancel(1), 0x1],
    ['an ERROR', error(0, 0x101, ''), 0x1],
    ['a PAYLOAD', payload(0, 'N'), 0x1],
    ['a METADATA_PUSH', frame(0, 'METADATA_PUSH', 'M', 'x'), 0x1],
    ['a RESUME_OK', frame(0, 'RESUME_OK', '', Buffer.alloc(8)), 0x1],
    ['an EXT that may be ignored', frame(0, 'EXT', 'I', uint32(1)), 0x1],
    ['a SETUP on a stream above 0', setup({ streamId: 1 }), 0x1],
    ['a RESUME on a stream above 0', frame(1, 'RESUME', '', noResume), 0x1],
    ['a SETUP with 0 ms between KEEPALIVE frames', setup({ keepalive: 0 }), 0x1],
    ['a SETUP with a lifetime of 0 ms', setup({ lifetime: 0 }), 0x1],
    ['a SETUP of a version before 1.0', setup({ major: 0, minor: 2 }), 0x2],
    ['a SETUP of version 1.1, which may be incompatible', setup({ minor: 1 }), 0x2],
    ['a SETUP of version 2.0', setup({ major: 2 }), 0x2],
    ['a SETUP of a data MIME type without codec', setup({ data: 'text/unknown' }), 0x2],
    ['a SETUP that asks for resumption where there is none', setup({ token: 'token' }), 0x3],
    ['a RESUME where there is no resumption', frame(0, 'RESUME', '', noResume), 0x4]
  ] as const) {
    it(`answers ${first} as first frame with ERROR[0x${code.toString(16)}] on stream 0, and closes [MUST]`, () => {
      const server = newRsocketServer()
      const answers = server.on(bytes)
      assert.equal(answers.length, 1)
      assert.match(answers[0] ?? '', new RegExp(`^ERROR 0 0x${code.toString(16)} \\S`))
      assert.equal(server.ended, true)
      assert.equal(server.dispatcher.requests.length + server.dispatcher.events.length, 0)
    })
  }

  it('answers nothing that comes behind a refused SETUP [MUST]', () => {
    const server = newRsocketServer()
    const chunk = Buffer.concat([setup({ major: 9 }), request(1, 'echo', '1')])
    assert.deepEqual(server.on(chunk, request(3, 'echo', '1')).length, 1)
    assert.equal(server.dispatcher.requests.length, 0)
  })

  it('says what it does not support, and what it does', () => {
    assert.match(
      newRsocketServer().on(setup({ data: 'text/unknown' }))[0] ?? '',
      /text\/unknown.*application\/json/
    )
    assert.match(newRsocketServer().on(setup({ major: 3, minor: 7 }))[0] ?? '', /3\.7.*1\.0/)
  })

  it('takes requests in the chunk of the SETUP, and in each after it', () => {
    const server = newRsocketServer()
    assert.deepEqual(
      server.on(Buffer.concat([setup(), request(1, 'echo', '"x"')]), request(3, 'echo', '2')),
      ['PAYLOAD 1 CN "x"', 'PAYLOAD 3 CN 2']
    )
  })

  it('closes a connection whose SETUP is not whole within limits.handshake, however slowly it comes', () => {
    const server = newRsocketServer({ handshakeTimeout: 1_000 })
    const bytes = setup()
    for (let at = 0; at < 9; at++) {
      assert.deepEqual(server.on(bytes.subarray(at, at + 1)), [])
      assert.deepEqual(server.after(100), [])
    }
    assert.match(server.after(100)[0] ?? '', /^ERROR 0 0x1 .*limits\.handshake \(1000 ms\)/)
    assert.equal(server.ended, true)
  })

  it('closes a connection about which the authenticate hook never decides', async () => {
    const server = newRsocketServer({ handshakeTimeout: 1_000, authenticate: () => new Promise(() => {}) })
    assert.deepEqual(server.on(setup()), [])
    assert.match(server.after(1_000)[0] ?? '', /^ERROR 0 0x3 .*limits\.handshake \(1000 ms\)/)
    assert.equal(server.ended, true)
  })

  it('keeps a connection that was set up in time', () => {
    const server = newRsocketServer({ handshakeTimeout: 1_000 })
    server.on(setup())
    assert.deepEqual(server.after(1_500), [])
    assert.deepEqual(server.on(request(1, 'echo', '2')), ['PAYLOAD 1 CN 2'])
  })

  it('sends nothing by itself where the SETUP asks for no leases', () => {
    assert.deepEqual(newRsocketServer().on(setup()), [])
  })

  it('sends a LEASE when it has accepted a SETUP with the lease flag [MUST]', () => {
    assert.deepEqual(newRsocketServer().on(setup({ flags: 'L' })), ['LEASE 0 2147483647 ms 2147483647'])
  })

  it('does not interpret a metadata MIME type it does not know: requests then have no route [MUST]', () => {
    const server = newRsocketServer({}, { '': () => 'root' })
    assert.deepEqual(server.on(setup({ metadataType: 'application/x.own' }), request(1, 'echo', '1')), [
      'PAYLOAD 1 CN "root"'
    ])
  })

  it('reads bare routing metadata where SETUP says that metadata is that', () => {
    const server = newRsocketServer()
    const bare = frame(1, 'REQUEST_RESPONSE', 'M', Buffer.of(0, 0, 5, 4), 'echo', '7')
    assert.deepEqual(server.on(setup({ metadataType: 'message/x.rsocket.routing.v0' }), bare), [
      'PAYLOAD 1 CN 7'
    ])
  })

  it('reads data of the MIME type of SETUP', () => {
    const server = newRsocketServer()
    const frames = server.on(setup({ data: 'application/octet-stream' }), request(1, 'echo', 'no JSON'))
    assert.deepEqual(frames, ['PAYLOAD 1 CN no JSON'])
  })

  it('ignores a SETUP after the one it has accepted [MUST]', () => {
    const server = rsocketServer()
    assert.deepEqual(server.on(setup({ major: 2, data: 'text/unknown' }), setup({ flags: 'L' })), [])
    assert.deepEqual(server.on(request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
  })
})

describe('Connection Establishment, client', () => {
  it('sends SETUP on stream 0 before anything else, with version 1.0 and both MIME types [MUST]', () => {
    const client = newRsocketClient({ keepaliveInterval: 20_000, keepaliveLifetime: 90_000 })
    void client.caller.request('a', 1)
    void client.caller.emit('b', 2)
    assert.deepEqual(client.on(), [])
    client.connection.open(client.output)
    assert.deepEqual(client.on(), [
      `SETUP 0 M 1.0 keepalive=20000 lifetime=90000 ${COMPOSITE} application/json ${GOING_AWAY}`,
      'REQUEST_RESPONSE 1 M {a} 1',
      'REQUEST_FNF 3 M {b} 2'
    ])
  })

  it('sets the lease flag, and then waits for a LEASE before any request [MUST]', () => {
    const client = newRsocketClient({ lease: true })
    client.connection.open(client.output)
    assert.match(client.on()[0] ?? '', /^SETUP 0 MC /)
    void client.caller.request('a', 1)
    void client.caller.emit('b', 2)
    assert.deepEqual(client.on(), [])
    assert.deepEqual(client.on(lease(1_000, 2)), ['REQUEST_RESPONSE 1 M {a} 1', 'REQUEST_FNF 3 M {b} 2'])
  })

  it('sends a LEASE of its own behind a SETUP with the lease flag, if it answers requests [MUST]', () => {
    const client = newRsocketClient({ lease: true }, {})
    client.connection.open(client.output)
    assert.deepEqual(client.on().slice(1), ['LEASE 0 2147483647 ms 2147483647'])
  })

  for (const [code, name] of [
    [0x1, 'INVALID_SETUP'],
    [0x2, 'UNSUPPORTED_SETUP'],
    [0x3, 'REJECTED_SETUP'],
    [0x4, 'REJECTED_RESUME'],
    [0x101, 'CONNECTION_ERROR']
  ] as const) {
    it(`takes ERROR[${name}] before any answer for the end, and gives its reason to calls`, async () => {
      const client = rsocketClient()
      const call = client.caller.request('a', 1)
      client.on(error(0, code, 'the reason'))
      assert.equal(client.ended, true)
      client.connection.close()
      await assert.rejects(call, { name: 'ConnectionError', message: new RegExp(`${name}.*the reason`) })
    })
  }

  it('still hears ERROR[CONNECTION_ERROR] once it is established', () => {
    const client = rsocketClient()
    client.on(lease(1, 1), error(0, 0x101, 'over'))
    assert.equal(client.ended, true)
  })

  it('ignores a SETUP [MUST]', () => {
    const client = rsocketClient()
    assert.deepEqual(client.on(setup(), setup({ major: 2 })), [])
    assert.equal(client.ended, false)
  })
})
