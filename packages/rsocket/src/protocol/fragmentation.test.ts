/** Protocol.md, "Fragmentation and Reassembly". */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { describeFrames } from '../testing/describe-frames.ts'
import { cancel, channel, frame, payload, request, requestN, route } from '../testing/rsocket-frames.ts'
import { outcomeOf, rsocketClient, rsocketServer, turn } from '../testing/rsocket-peer.ts'
import { FrameType } from './frame-type.ts'
import { newPayload, type Payload } from './payload.ts'
import { Reassembler } from './reassembly.ts'
import { Wire } from './wire.ts'

const LIMITS = { maxMessageSize: 100_000, maxBufferSize: 1_000_000, maxUnsent: 1_000_000 }

/**
 * Returns the frames that `Wire` makes of one request.
 * @param initialN initial demand of a stream
 */
function cut(maxFrameLength: number, metadata: Uint8Array, data: Uint8Array, initialN?: number): Buffer[] {
  const wire = new Wire(1e9, maxFrameLength)
  const type = initialN === undefined ? FrameType.REQUEST_RESPONSE : FrameType.REQUEST_STREAM
  wire.request(1, type, 0, initialN ?? -1, metadata, data)
  const all = Buffer.from(wire.bytes.written)
  const frames: Buffer[] = []
  for (let at = 0; at < all.length; ) {
    const end = at + 3 + all.readUIntBE(at, 3)
    frames.push(all.subarray(at + 3, end))
    at = end
  }
  return frames
}

const flagsOf = (bytes: Buffer) => bytes.readUInt16BE(4) & 0x3ff

describe('Fragmentation', () => {
  // `size: 'max'` is needed, because fast-check would otherwise make at most 10 bytes, whatever `maxLength` says.
  const bytes = fc.oneof(
    { weight: 1, arbitrary: fc.constant(new Uint8Array()) },
    { weight: 4, arbitrary: fc.uint8Array({ maxLength: 700, size: 'max' }) }
  )
  const anyMessage = fc.tuple(fc.integer({ min: 64, max: 300 }), bytes, bytes)

  it('sends all metadata before any data, in frames that are no longer than they may be [MUST]', () => {
    fc.assert(
      fc.property(anyMessage, ([fragmentSize, metadata, data]) => {
        const frames = cut(fragmentSize, metadata, data)
        const parts = frames.map((bytes) => {
          assert.ok(bytes.length <= fragmentSize)
          const hasMetadata = (flagsOf(bytes) & 0x100) !== 0
          const metadataEnd = hasMetadata ? 9 + bytes.readUIntBE(6, 3) : 6
          return {
            metadata: bytes.subarray(hasMetadata ? 9 : 6, metadataEnd),
            data: bytes.subarray(metadataEnd)
          }
        })
        assert.equal(Buffer.compare(Buffer.concat(parts.map((part) => part.metadata)), metadata), 0)
        assert.equal(Buffer.compare(Buffer.concat(parts.map((part) => part.data)), data), 0)
        const firstData = parts.findIndex((part) => part.data.length > 0)
        const lastMetadata = parts.findLastIndex((part) => part.metadata.length > 0)
        assert.ok(firstData === -1 || lastMetadata <= firstData)
        // Each frame except the last has the full size, and only the first frame may have empty metadata.
        assert.ok((flagsOf(frames[0] as Buffer) & 0x100) !== 0)
        for (const bytes of frames.slice(0, -1)) assert.equal(bytes.length, fragmentSize)
        for (const [index, bytes] of frames.entries())
          if (index > 0 && (flagsOf(bytes) & 0x100) !== 0) assert.ok((parts[index]?.metadata.length ?? 0) > 0)
      })
    )
  })

  it('leaves room for the demand of a stream, which only the first frame has', () => {
    fc.assert(
      fc.property(anyMessage, ([fragmentSize, metadata, data]) => {
        const [first, ...others] = cut(fragmentSize, metadata, data, 7) as [Buffer, ...Buffer[]]
        assert.equal(first.readUInt32BE(6), 7)
        const withoutDemand = Buffer.concat([first.subarray(0, 6), first.subarray(10)])
        for (const bytes of [first, ...others]) assert.ok(bytes.length <= fragmentSize)
        if (others.length > 0) assert.equal(first.length, fragmentSize)
        const contents = [withoutDemand, ...others].map((bytes) =>
          bytes.subarray((flagsOf(bytes) & 0x100) === 0 ? 6 : 9)
        )
        assert.equal(Buffer.compare(Buffer.concat(contents), Buffer.concat([metadata, data])), 0)
      })
    )
  })

  it('sets FOLLOWS on every frame but the last, and after the first sends PAYLOAD frames', () => {
    fc.assert(
      fc.property(anyMessage, ([fragmentSize, metadata, data]) => {
        const frames = cut(fragmentSize, metadata, data)
        for (const [index, bytes] of frames.entries()) {
          assert.equal((flagsOf(bytes) & 0x80) !== 0, index < frames.length - 1)
          assert.equal(flagsOf(bytes) & 0x1f, 0, 'bits that mean nothing')
          assert.equal(
            bytes.readUInt16BE(4) >> 10,
            index === 0 ? FrameType.REQUEST_RESPONSE : FrameType.PAYLOAD
          )
        }
      })
    )
  })

  it('is undone by the other end, whatever the sizes', async () => {
    const unit = fc.constantFrom('a', '"', '\\', '\0', 'é', '€', '😀')
    const text = fc.string({ maxLength: 2_000, unit, size: 'max' })
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 64, max: 500 }),
        fc.integer({ min: 64, max: 500 }),
        fc.array(text, { maxLength: 5 }),
        async (near, far, texts) => {
          const client = rsocketClient({ ...LIMITS, maxFrameLength: near })
          const server = rsocketServer({}, { ...LIMITS, maxFrameLength: far })
          const calls = texts.map((data) => client.caller.request('echo', data))
          server.connection.receive(client.output.sent())
          client.connection.receive(server.output.sent())
          assert.deepEqual(await Promise.all(calls), texts)
        }
      ),
      { numRuns: runs(50) }
    )
  })
})

describe('Reassembly', () => {
  it('keeps no more than 65,536 messages that are not complete, however small', () => {
    const fragments = new Reassembler<number>(1_000)
    const empty = newPayload(Buffer.alloc(0), 0, 0, 0, 0)
    for (let id = 0; id < 65_536; id++) fragments.add(id, id, empty)
    assert.throws(() => fragments.add(65_536, 65_536, empty), { name: 'ProtocolError', message: /65536/ })
    fragments.drop(0)
    fragments.add(65_536, 65_536, empty)
    assert.equal(fragments.end(1, empty)?.first, 1)
  })

  it('gives back what came, of any number of messages, within one bound for all of them', () => {
    const bytes = fc.uint8Array({ maxLength: 12 })
    const part = fc.record({
      streamId: fc.integer({ min: 1, max: 4 }),
      metadata: fc.option(bytes, { nil: undefined }),
      data: bytes,
      before: fc.nat({ max: 3 }),
      kind: fc.constantFrom('more', 'more', 'end', 'drop')
    })
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 40, size: 'max' }),
        fc.integer({ min: 10, max: 80 }),
        (parts, most) => {
          const fragments = new Reassembler<number>(most)
          const model = new Map<number, { metadata: Buffer | undefined; data: Buffer }>()
          const sizeOf = (streamId: number) => {
            const { metadata, data } = model.get(streamId) ?? { metadata: undefined, data: Buffer.of() }
            return (metadata?.length ?? 0) + data.length
          }
          for (const { streamId, metadata, data, before, kind } of parts) {
            if (kind === 'drop') {
              fragments.drop(streamId)
              model.delete(streamId)
              continue
            }
            const about = metadata ?? new Uint8Array()
            const buffer = Buffer.concat([Buffer.alloc(before), about, data])
            const dataStart = before + about.length
            const start = metadata === undefined ? -1 : before
            const payload = newPayload(buffer, start, start < 0 ? -1 : dataStart, dataStart, buffer.length)
            const known = model.get(streamId)
            assert.equal(fragments.has(streamId), known !== undefined)
            if (known === undefined && kind === 'end') {
              assert.equal(fragments.end(streamId, payload), undefined)
              continue
            }
            const size = [1, 2, 3, 4].reduce((sum, id) => sum + sizeOf(id), about.length + data.length)
            const add = () => {
              if (kind === 'end') return fragments.end(streamId, payload)
              return fragments.add(streamId, known === undefined ? -streamId : 0, payload)
            }
            if (size > most) {
              const message = `${size} bytes are more than limits.messageSize allows (${most})`
              assert.throws(add, { name: 'PayloadTooLargeError', message })
              return
            }
            const whole = add()
            // The result must be a copy, because received chunks are overwritten.
            buffer.fill(0xff)
            const expected = {
              metadata:
                metadata === undefined
                  ? known?.metadata
                  : Buffer.concat([known?.metadata ?? about.subarray(0, 0), about]),
              data: Buffer.concat([known?.data ?? data.subarray(0, 0), data])
            }
            if (kind === 'more') model.set(streamId, expected)
            else {
              model.delete(streamId)
              const { first, payload } = whole as { first: number; payload: Payload }
              const { metadataStart, metadataEnd, dataStart, dataEnd } = payload
              assert.equal(first, -streamId)
              assert.equal(metadataStart >= 0, expected.metadata !== undefined)
              if (metadataStart >= 0)
                assert.deepEqual(
                  Buffer.from(payload.buffer.subarray(metadataStart, metadataEnd)),
                  expected.metadata
                )
              assert.deepEqual(Buffer.from(payload.buffer.subarray(dataStart, dataEnd)), expected.data)
            }
          }
        }
      ),
      { numRuns: runs(300) }
    )
  })

  it('tells no metadata from metadata of no bytes', () => {
    const fragments = new Reassembler<string>(1_000)
    const ofData = (metadataStart: number) => newPayload(Buffer.from('ab'), metadataStart, 0, 0, 2)
    const whole = (metadataStart: number) => {
      fragments.add(1, 'first', ofData(metadataStart))
      return fragments.end(1, ofData(-1))?.payload
    }
    assert.equal(whole(-1)?.metadataStart, -1)
    const { metadataStart, metadataEnd, dataStart, dataEnd } = whole(0) as Payload
    assert.deepEqual([metadataStart, metadataEnd, dataStart, dataEnd], [0, 0, 0, 4])
  })

  it('keeps fragments of different streams apart', () => {
    const server = rsocketServer()
    const begin = (id: number, data: string) => frame(id, 'REQUEST_RESPONSE', 'MF', route('echo'), data)
    assert.deepEqual(
      server.on(
        begin(1, '"a'),
        begin(3, '"b'),
        payload(1, 'NF', '1'),
        payload(3, 'N', '3"'),
        payload(1, 'N', '2"')
      ),
      ['PAYLOAD 3 CN "b3"', 'PAYLOAD 1 CN "a12"']
    )
  })

  it('does not take a PAYLOAD of a channel for the rest of another, and ends with COMPLETE', async () => {
    const server = rsocketServer({
      list: async ({ data }) => {
        const values: unknown[] = []
        for await (const value of data as AsyncIterable<unknown>) values.push(value)
        return values
      }
    })
    server.on(
      channel(1, 'list', 1, '"first"'),
      payload(1, 'NF', '"sec'),
      payload(1, 'N', 'ond"'),
      payload(1, 'NF', '"th'),
      payload(1, 'NC', 'ird"')
    )
    const frames = (await server.later()).filter((text) => !text.startsWith('REQUEST_N'))
    assert.deepEqual(frames, ['PAYLOAD 1 CN ["first","second","third"]'])
  })

  it('of an infinite stream forgets what is whole: its bound is for what is not [MUST]', async () => {
    const client = rsocketClient({ maxMessageSize: 100 })
    const values: unknown[] = []
    client.caller.stream(
      'a',
      1,
      { next: (value) => values.push(value), complete() {}, error: assert.fail },
      { demand: 2 ** 31 - 1 }
    )
    for (let n = 0; n < 100; n++) client.on(payload(1, 'NF', '"0123456789'), payload(1, 'N', '0123456789"'))
    assert.equal(values.length, 100)
    assert.equal(client.ended, false)
  })

  it('is bounded over all streams of a connection, and says what it may be', () => {
    const server = rsocketServer({}, { maxMessageSize: 50 })
    const begin = (id: number) => frame(id, 'REQUEST_RESPONSE', 'MF', route('echo'), 'x'.repeat(10))
    const frames = server.on(begin(1), begin(3), begin(5), begin(7))
    assert.match(frames[0] ?? '', /^ERROR 0 0x101 .*limits\.messageSize allows \(50\)/)
    assert.equal(server.ended, true)
  })

  it('is given up with CANCEL and with ERROR', () => {
    const server = rsocketServer()
    const begin = frame(1, 'REQUEST_RESPONSE', 'MF', route('echo'), '"a')
    assert.deepEqual(server.on(begin, cancel(1), payload(1, 'N', 'b"')), [])
    assert.deepEqual(server.on(request(1, 'echo', '2')), ['PAYLOAD 1 CN 2'])
  })

  it('of an answer goes on when the other side wants no more input of its channel', async () => {
    const client = rsocketClient()
    async function* input() {
      for (let n = 0; ; n++) yield n
    }
    const call = outcomeOf(client.caller.request('a', input()))
    await turn()
    client.on(payload(1, 'NF', '"a'), cancel(1), payload(1, 'NC', 'b"'))
    await turn()
    assert.deepEqual(call, ['"ab"'])
  })

  it('of an answer ends its call once', async () => {
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('a', 1))
    client.on(requestN(1, 1), payload(1, 'NF', '"a'), payload(1, 'NF', 'b'), payload(1, 'NC', 'c"'))
    await turn()
    assert.deepEqual(call, ['"abc"'])
    assert.ok(describeFrames(client.output.sent()).every((text) => !text.startsWith('CANCEL')))
  })
})
