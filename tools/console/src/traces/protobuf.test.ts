import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
import { readLines, readSpans } from './otlp.ts'
import { decodeOtlp } from './protobuf.ts'

type Write = (writer: BinaryWriter) => BinaryWriter

/** A message with fields in the given order. */
const message = (...fields: readonly Write[]) => {
  const writer = new BinaryWriter()
  for (const write of fields) write(writer)
  return writer.finish()
}
const text =
  (number: number, value: string): Write =>
  (w) =>
    w.tag(number, WireType.LengthDelimited).string(value)
const bytes =
  (number: number, value: Uint8Array): Write =>
  (w) =>
    w.tag(number, WireType.LengthDelimited).bytes(value)
const hex = (number: number, value: string) => bytes(number, Buffer.from(value, 'hex'))
const time =
  (number: number, value: bigint): Write =>
  (w) =>
    w.tag(number, WireType.Bit64).fixed64(value)
const varint =
  (number: number, value: number): Write =>
  (w) =>
    w.tag(number, WireType.Varint).uint32(value)
const attribute = (key: string, value: Uint8Array) => message(text(1, key), bytes(2, value))

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const resource = message(bytes(1, attribute('service.name', message(text(1, 'orders')))))
const requestOf = (...records: Uint8Array[]) =>
  message(bytes(1, message(bytes(1, resource), bytes(2, message(...records.map((each) => bytes(2, each)))))))
const SPAN_BYTES = message(
  hex(1, TRACE),
  hex(2, SPAN),
  text(3, 'a state, which is not read'),
  text(5, 'orders.place'),
  varint(6, 2),
  time(7, 1_700_000_000_000_500_000n),
  time(8, 1_700_000_000_002_000_000n),
  bytes(
    9,
    attribute(
      'n',
      message((w) => w.tag(3, WireType.Varint).int64(-7))
    )
  ),
  bytes(
    9,
    attribute(
      'ok',
      message((w) => w.tag(2, WireType.Varint).bool(true))
    )
  ),
  bytes(
    9,
    attribute(
      'share',
      message((w) => w.tag(4, WireType.Bit64).double(0.5))
    )
  ),
  bytes(
    9,
    attribute(
      'list',
      message(bytes(5, message(bytes(1, message(text(1, 'a'))), bytes(1, message(text(1, 'b'))))))
    )
  ),
  bytes(11, message(time(1, 1_700_000_000_001_000_000n), text(2, 'stream.end'))),
  bytes(15, message(text(2, 'no tea'), varint(3, 2)))
)

describe('OTLP as protobuf', () => {
  it('gives the spans that JSON gives', () => {
    assert.deepEqual(readSpans(decodeOtlp('traces', requestOf(SPAN_BYTES, SPAN_BYTES)))[1], {
      trace: TRACE,
      id: SPAN,
      parent: '',
      name: 'orders.place',
      service: 'orders',
      kind: 'server',
      start: 1_700_000_000_000.5,
      duration: 1.5,
      error: 'no tea',
      attributes: [
        ['n', '-7'],
        ['ok', 'true'],
        ['share', '0.5'],
        ['list', 'a, b']
      ],
      logs: [{ at: 1_700_000_000_001, level: 'event', text: 'stream.end' }]
    })
  })

  it('gives the lines that JSON gives', () => {
    const line = message(
      time(11, 1_000_000n),
      text(3, 'INFO'),
      bytes(5, message(text(1, 'hello'))),
      hex(9, TRACE),
      hex(10, SPAN)
    )
    assert.deepEqual(readLines(decodeOtlp('logs', requestOf(line))), [
      { trace: TRACE, span: SPAN, at: 1, level: 'INFO', text: 'hello' }
    ])
  })

  it('skips fields that are not known, or are of another type', () => {
    const odd = message(varint(1, 7), varint(2_000, 7), text(6, 'server'), hex(1, TRACE), hex(2, SPAN))
    assert.equal(readSpans(decodeOtlp('traces', requestOf(odd)))[0]?.trace, TRACE)
  })

  it('refuses what ends too early, groups, and values within values without end', () => {
    const whole = requestOf(SPAN_BYTES)
    for (let length = 1; length < whole.length; length++)
      assert.throws(() => decodeOtlp('traces', whole.subarray(0, length)), TypeError)
    assert.throws(() => decodeOtlp('traces', Uint8Array.of(0x0b, 0x0b, 0x0c, 0x0c)), /the body has a group/)
    let value = message(text(1, 'deep'))
    for (let n = 0; n < 50; n++) value = message(bytes(5, message(bytes(1, value))))
    assert.throws(
      () => decodeOtlp('traces', requestOf(message(bytes(9, attribute('deep', value))))),
      /its messages are nested too deeply/
    )
  })

  it('reads any bytes, or refuses them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400, size: 'max' }), fc.nat(), (noise, at) => {
        const changed = Uint8Array.from(requestOf(SPAN_BYTES))
        changed.set(noise.subarray(0, Math.min(noise.length, 8)), at % (changed.length - 8))
        for (const body of [noise, changed])
          for (const signal of ['traces', 'logs'] as const)
            try {
              const decoded = decodeOtlp(signal, body)
              assert.ok(readSpans(decoded).length <= 1)
              readLines(decoded)
            } catch (error) {
              assert.ok(error instanceof TypeError, String(error))
              assert.match(error.message, /^The body is not OTLP as protobuf: /)
            }
      })
    )
  })
})
