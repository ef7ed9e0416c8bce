/** Tests Protocol.md, "Framing": lengths, headers, metadata, the ignore flag. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { describeFrames } from '../testing/describe-frames.ts'
import {
  frame,
  keepalive,
  metadata,
  request,
  route,
  setup,
  uint24,
  uint32
} from '../testing/rsocket-frames.ts'
import { newRsocketServer, rsocketClient, rsocketServer } from '../testing/rsocket-peer.ts'

describe('Framing Format', () => {
  it('prepends the 24-bit length of the frame, itself excluded, big endian [MUST]', () => {
    const server = rsocketServer({}, { maxBufferSize: 0x010203 })
    server.connection.receive(keepalive('R', Buffer.alloc(0x010203 - 14, 'x')))
    assert.deepEqual([...server.output.sent().subarray(0, 3)], [1, 2, 3])
  })

  it('reads frames whatever their division into chunks [MUST]', () => {
    const bytes = Buffer.concat([
      setup(),
      request(1, 'echo', '"a"'),
      keepalive('R', 'k'),
      request(3, 'echo', '2')
    ])
    const expected = ['PAYLOAD 1 CN "a"', 'KEEPALIVE 0 0 k', 'PAYLOAD 3 CN 2']
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 20, size: 'max' }), (places) => {
        const server = newRsocketServer()
        const ends = [...places, bytes.length].sort((a, b) => a - b)
        const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
        assert.deepEqual(server.on(...chunks), expected)
      })
    )
  })

  it('ends the connection for a length that holds no frame header', () => {
    const server = rsocketServer()
    assert.match(server.on(Buffer.of(0, 0, 5, 0, 0, 0, 0, 0))[0] ?? '', /^ERROR 0 0x101 .*5 bytes/)
    assert.equal(server.ended, true)
  })
})

describe('Max Frame Size', () => {
  it('cuts a message above 16,777,215 bytes into frames that are not [MUST]', async () => {
    const limits = { maxUnsent: 1e9, maxFrameLength: 0xffffff }
    const client = rsocketClient({ ...limits, dataMimeType: 'application/octet-stream' })
    void client.caller.request('big', new Uint8Array(0xffffff))
    const bytes = Buffer.from(client.output.sent())
    const first = bytes.readUIntBE(0, 3)
    assert.equal(first, 0xffffff)
    const second = bytes.readUIntBE(3 + first, 3)
    assert.equal(bytes.length, 3 + first + 3 + second)
  })

  it('never sends an ERROR above 16,777,215 bytes: one that would be is an internal error [MUST]', () => {
    const huge = 'x'.repeat(0x1000000)
    const server = rsocketServer({
      fail: () => {
        throw Object.assign(new Error(), { getError: () => ({ message: huge }) })
      }
    })
    assert.deepEqual(server.on(request(1, 'fail', '1')), [
      'ERROR 1 0x201 {"code":"INTERNAL","message":"Internal server error"}'
    ])
    assert.match(server.logger.lines[0] ?? '', /more than fit into a frame \(16777205\)/)
  })
})

describe('Metadata Optional Header', () => {
  for (const [what, bad] of [
    ['longer than its frame', frame(1, 'REQUEST_RESPONSE', 'M', uint24(2), 'x')],
    ['without its length', frame(1, 'REQUEST_RESPONSE', 'M', 'xx')],
    ['longer than its frame, in a PAYLOAD', frame(1, 'PAYLOAD', 'MN', uint24(9), 'x')],
    [
      'longer than its frame, in a REQUEST_STREAM',
      frame(1, 'REQUEST_STREAM', 'M', uint32(1), uint24(9), 'x')
    ],
    ['longer than its frame, in a REQUEST_CHANNEL', frame(1, 'REQUEST_CHANNEL', 'M', uint32(1), uint24(9))],
    ['longer than its frame, in a REQUEST_FNF', frame(1, 'REQUEST_FNF', 'M', uint24(9))]
  ] as const) {
    it(`answers metadata ${what} with ERROR[CONNECTION_ERROR] and closes [MUST]`, () => {
      const server = rsocketServer()
      assert.match(server.on(bad)[0] ?? '', /^ERROR 0 0x101 /)
      assert.equal(server.ended, true)
    })

    it(`ignores metadata ${what} if the frame has the IGNORE flag [MUST]`, () => {
      const server = rsocketServer()
      const allowed = Buffer.from(bad)
      allowed[7] = (allowed[7] as number) | 0x02
      assert.deepEqual(server.on(allowed, request(3, 'echo', '1')), ['PAYLOAD 3 CN 1'])
      assert.equal(server.ended, false)
    })
  }

  it('answers metadata longer than its frame from the server, too, with ERROR[CONNECTION_ERROR] [MUST]', () => {
    const client = rsocketClient()
    void client.caller.request('a', 1).catch(() => {})
    client.output.sent()
    assert.match(client.on(frame(1, 'PAYLOAD', 'MN', uint24(9), 'x'))[0] ?? '', /^ERROR 0 0x101 /)
    client.connection.close()
  })

  it('reads metadata that fills its frame to the last byte: no data', () => {
    const server = rsocketServer()
    assert.deepEqual(server.on(frame(1, 'REQUEST_RESPONSE', 'M', route('echo'))), ['PAYLOAD 1 CN'])
    assert.deepEqual(
      server.dispatcher.requests.map(({ data }) => data),
      [undefined]
    )
  })

  it('reads metadata of no bytes', () => {
    const server = rsocketServer({ '': () => 'root' })
    assert.deepEqual(server.on(frame(1, 'REQUEST_RESPONSE', 'M', metadata(), '1')), ['PAYLOAD 1 CN "root"'])
  })

  it('writes metadata with its length before the data', () => {
    const client = rsocketClient()
    void client.caller.request('echo', 1)
    const sent = client.output.sent()
    assert.deepEqual(Buffer.from(sent), request(1, 'echo', '1'))
    assert.deepEqual(describeFrames(sent), ['REQUEST_RESPONSE 1 M {echo} 1'])
  })
})

describe('Handling Ignore Flag', () => {
  for (const [what, streamId, type] of [
    ['EXT on the connection', 0, 'EXT'],
    ['EXT on a stream', 1, 'EXT'],
    ['an unknown type on the connection', 0, 0x2a],
    ['an unknown type on a stream', 1, 0x2a],
    ['the reserved type 0', 0, 0x00]
  ] as const) {
    it(`ignores ${what} that may be ignored`, () => {
      const server = rsocketServer()
      assert.deepEqual(server.on(frame(streamId, type, 'I', uint32(1)), request(3, 'echo', '1')), [
        'PAYLOAD 3 CN 1'
      ])
    })

    it(`ends the connection with ERROR[CONNECTION_ERROR] for ${what} that may not`, () => {
      for (const end of [rsocketServer(), rsocketClient()]) {
        assert.match(
          end.on(frame(streamId, type, '', uint32(1)))[0] ?? '',
          /^ERROR 0 0x101 .*may not be ignored/
        )
        assert.equal(end.ended, true)
      }
    })
  }
})
