/** Tests Protocol.md, "Error Frame" and "Handling the Unexpected", for both ends. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  cancel,
  entry,
  error,
  frame,
  payload,
  request,
  requestN,
  setup,
  stream,
  uint32
} from '../testing/rsocket-frames.ts'
import { outcomeOf, RecordingReceiver, rsocketClient, rsocketServer, turn } from '../testing/rsocket-peer.ts'

const ignored: readonly [what: string, bytes: Uint8Array][] = [
  ['a CANCEL on an unknown stream', cancel(77)],
  ['a CANCEL on stream 0', cancel(0)],
  ['an ERROR on an unknown stream', error(77, 0x201, 'x')],
  ['a PAYLOAD on an unknown stream', payload(77, 'NC', '1')],
  ['a PAYLOAD on stream 0', payload(0, 'NC', '1')],
  ['a REQUEST_N on an unknown stream', requestN(77, 1)],
  ['a METADATA_PUSH on a stream', frame(77, 'METADATA_PUSH', 'M', 'x')],
  ['a SETUP', setup()],
  ['a SETUP on a stream', setup({ streamId: 77 })],
  ['a KEEPALIVE on a stream', frame(77, 'KEEPALIVE', 'F', Buffer.alloc(8))],
  ['a RESUME on a stream', frame(77, 'RESUME', '', Buffer.alloc(24))],
  ['a RESUME_OK on a stream', frame(77, 'RESUME_OK', '', Buffer.alloc(8))],
  ['a LEASE nobody asked for', frame(0, 'LEASE', '', uint32(1), uint32(1))],
  ['a RESUME_OK nobody asked for', frame(0, 'RESUME_OK', '', Buffer.alloc(8))],
  ['an EXT that may be ignored', frame(0, 'EXT', 'I', uint32(7), 'x')],
  ['an EXT on a stream that may be ignored', frame(77, 'EXT', 'I', uint32(7), 'x')]
]

const short: readonly [what: string, streamId: number, type: string, length: number, field: string][] = [
  ['KEEPALIVE', 0, 'KEEPALIVE', 8, 'a position'],
  ['LEASE', 0, 'LEASE', 8, 'a lease'],
  ['ERROR', 0, 'ERROR', 4, 'an error code'],
  ['ERROR on a stream', 77, 'ERROR', 4, 'an error code'],
  ['REQUEST_N', 77, 'REQUEST_N', 4, 'a demand'],
  ['REQUEST_STREAM', 77, 'REQUEST_STREAM', 4, 'a demand'],
  ['REQUEST_CHANNEL', 77, 'REQUEST_CHANNEL', 4, 'a demand']
]

describe('Handling the Unexpected, a frame that ends within a field', () => {
  for (const [what, streamId, type, length, field] of short) {
    it(`is answered with ERROR[CONNECTION_ERROR], a ${what} [MUST]`, () => {
      for (let size = 0; size < length; size++) {
        const server = rsocketServer()
        const answers = server.on(frame(streamId, type, '', Buffer.alloc(size)))
        assert.deepEqual(answers, [`ERROR 0 0x101 A frame ends before ${field}`])
        assert.equal(server.ended, true)
      }
    })

    it(`is ignored if it has the IGNORE flag, a ${what} [MUST]`, () => {
      const server = rsocketServer()
      const cut = frame(streamId, type, 'I', Buffer.alloc(length - 1))
      assert.deepEqual(server.on(cut, request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
    })
  }

  it('is no frame that has nothing behind its last field', async () => {
    const server = rsocketServer({ '': () => 'root' })
    assert.deepEqual(server.on(frame(1, 'REQUEST_STREAM', '', uint32(1))), ['PAYLOAD 1 CN "root"'])
    const client = rsocketClient()
    const calls = [client.caller.request('a', 1), client.caller.request('a', 2)]
    client.on(error(1, 0x201, ''))
    await assert.rejects(calls[0] as Promise<unknown>, { name: 'RpcError', code: 'UNKNOWN', message: '' })
    client.on(error(0, 0x101, ''))
    client.connection.close()
    await assert.rejects(calls[1] as Promise<unknown>, {
      message: /the server ended it \(CONNECTION_ERROR\): $/
    })
  })
})

describe('Handling the Unexpected, server', () => {
  for (const [what, bytes] of ignored) {
    it(`ignores ${what} [MUST]`, () => {
      const server = rsocketServer()
      assert.deepEqual(server.on(bytes), [])
      assert.deepEqual(server.on(request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
    })
  }

  for (const code of [0x1, 0x2, 0x3, 0x4]) {
    it(`ignores ERROR[0x${code}], which only servers send [MUST]`, () => {
      const server = rsocketServer()
      assert.deepEqual(server.on(error(0, code, 'x')), [])
      assert.deepEqual(server.on(request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
    })
  }

  it('ignores a request on a stream id in use, and flags that a frame does not have [MUST]', () => {
    const server = rsocketServer({ never: () => new Promise(() => {}) })
    server.on(request(1, 'never', '1'))
    assert.deepEqual(server.on(request(1, 'echo', '2'), stream(1, 'echo', 1, '2')), [])
    assert.equal(server.dispatcher.requests.length, 1)
    const flagged = frame(1, 'CANCEL', 'MFCN')
    assert.deepEqual(server.on(flagged, request(1, 'echo', '3')), ['PAYLOAD 1 CN 3'])
  })

  it('goes on with the connection when requests of any kind fail: their errors have their stream id [MUST]', () => {
    const server = rsocketServer({
      fail: () => {
        throw new Error('secret')
      }
    })
    const frames = server.on(
      request(1, 'fail', '1'),
      request(3, 'nobody', '1'),
      request(5, 'echo', '{'),
      stream(7, 'echo', 0, '1')
    )
    assert.deepEqual(
      frames.map((text) => text.split(' ').slice(0, 3).join(' ')),
      ['ERROR 1 0x201', 'ERROR 3 0x201', 'ERROR 5 0x204', 'ERROR 7 0x204']
    )
    assert.ok(!frames.join().includes('secret'))
    assert.equal(server.ended, false)
  })
})

describe('Handling the Unexpected, client', () => {
  for (const [what, bytes] of ignored) {
    it(`ignores ${what} [MUST]`, async () => {
      const client = rsocketClient()
      const call = outcomeOf(client.caller.request('a', 1))
      client.on()
      assert.deepEqual(client.on(bytes), [])
      client.on(payload(1, 'NC', '1'))
      await turn()
      assert.deepEqual(call, ['1'])
    })
  }

  it('treats a PAYLOAD of REQUEST_RESPONSE without COMPLETE as if it had it [MUST]', async () => {
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('a', 1))
    client.on(payload(1, 'N', '1'), payload(1, 'N', '2'), payload(1, 'C'), error(1, 0x201, 'x'))
    await turn()
    assert.deepEqual(call, ['1'])
    assert.equal(client.connection.inFlight, 0)
  })

  it('is not disturbed by answers to streams that are over [MUST]', () => {
    const client = rsocketClient()
    const receiver = new RecordingReceiver()
    client.caller.stream('a', 1, receiver)
    client.on(
      payload(1, 'N', '1'),
      payload(1, 'C'),
      payload(1, 'N', '2'),
      error(1, 0x201, 'x'),
      payload(1, 'C')
    )
    assert.deepEqual(receiver.seen, ['1', 'complete'])
  })

  it('takes ERROR[CONNECTION_ERROR] for the end of every stream', async () => {
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('a', 1))
    client.on(error(0, 0x101, 'maintenance'))
    assert.equal(client.ended, true)
    client.connection.close()
    await turn()
    assert.deepEqual(call, ['ConnectionError'])
  })

  it("takes this library's own METADATA_PUSH for the word that its server is going away, and no other", async () => {
    let goingAway = 0
    const client = rsocketClient({ goingAway: () => goingAway++ })
    const call = outcomeOf(client.caller.request('a', 1))
    const name = 'application/vnd.elysia-microservices.going-away'
    const others = ['', 'news', name, `.${name.slice(0, -1)}`, entry(`${name}s`), entry('text/x', name)]
    for (const other of others) client.on(frame(0, 'METADATA_PUSH', 'M', other))
    assert.deepEqual([goingAway, client.ended], [0, false])
    client.on(frame(0, 'METADATA_PUSH', 'M', entry(name, 'The server is stopping')))
    client.on(payload(1, 'NC', '1'))
    client.on(error(0, 0x102, 'The server is stopping'))
    assert.deepEqual([goingAway, client.ended], [1, false])
    await turn()
    assert.deepEqual(call, ['1'])
  })

  it('lets its streams end after ERROR[CONNECTION_CLOSE] [MUST]', async () => {
    let goingAway = 0
    const client = rsocketClient({ goingAway: () => goingAway++ })
    const call = outcomeOf(client.caller.request('a', 1))
    client.on(error(0, 0x102, 'bye'))
    client.on(error(0, 0x102, 'bye'))
    assert.deepEqual([goingAway, client.ended], [1, false])
    client.on(payload(1, 'NC', '1'))
    await turn()
    assert.deepEqual(call, ['1'])
  })
})
