/** The ends of answers, read back as clients read them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { CallFailure, CODES, fromBase64, type RpcCode, toBase64 } from '@elysia-microservices/protobuf/rpc'
import fc from 'fast-check'
import { readTrailers } from '../testing/read-trailers.ts'
import { endOfStream } from './connect-json.ts'
import { StreamWire } from './stream-wire.ts'

const GRPC_WEB = { protocol: 'grpc-web', isJson: false, isText: false, contentType: '' } as const
/** The trailers with which gRPC-Web ends an answer. */
const trailersOf = (failure?: CallFailure) =>
  readTrailers(new StreamWire(GRPC_WEB).end([], failure).subarray(5))

const code = fc.constantFrom(...(Object.keys(CODES) as RpcCode[]))
/** Any text without half surrogates, which UTF-8 cannot carry. */
const text = fc.string({ unit: 'binary', maxLength: 40 })
const failure = fc
  .tuple(
    code,
    text,
    fc.array(
      fc.record({
        type: fc.stringMatching(/^[a-z.A-Z]{1,20}$/),
        value: fc.uint8Array({ maxLength: 99 }),
        debug: text
      }),
      { maxLength: 3 }
    )
  )
  .map(([given, message, details]) => new CallFailure(given, message, details))

describe('the end of an answer in gRPC-Web', () => {
  it('is lines of printable ASCII, whatever the failure says', () =>
    fc.assert(
      fc.property(failure, (given) => {
        const trailers = trailersOf(given)
        assert.equal(trailers.get('grpc-status'), String(CODES[given.code].number))
        assert.equal(decodeURIComponent(trailers.get('grpc-message') ?? ''), given.message)
        const status = fromBase64(trailers.get('grpc-status-details-bin') ?? '')
        assert.deepEqual(
          status && status.length > 0 ? detailsIn(status) : [],
          given.details.map(({ type, value }) => [`type.googleapis.com/${type}`, [...value]])
        )
      })
    ))

  it('is its status alone if the call has succeeded', () =>
    assert.deepEqual([...trailersOf()], [['grpc-status', '0']]))
})

describe('the end of an answer in Connect', () => {
  it('is JSON with the failure, its details in base64, and trailers', () =>
    fc.assert(
      fc.property(failure, fc.array(fc.tuple(text, text), { maxLength: 4 }), (given, trailers) => {
        const end = JSON.parse(new TextDecoder().decode(endOfStream(trailers, given)))
        assert.equal(end.error.code, given.code)
        assert.equal(end.error.message ?? '', given.message)
        assert.deepEqual(
          (end.error.details ?? []).map((one: { type: string; value: string }) => [one.type, one.value]),
          given.details.map(({ type, value }) => [type, toBase64(value)])
        )
        const pairs = Object.entries<string[]>(end.metadata ?? {}).flatMap(([name, values]) =>
          values.map((value) => `${name}\n${value}`)
        )
        assert.deepEqual(pairs.toSorted(), trailers.map(([name, value]) => `${name}\n${value}`).toSorted())
      })
    ))

  it('is an empty object if the call has succeeded', () =>
    assert.equal(new TextDecoder().decode(endOfStream([])), '{}'))
})

/** The details in a `google.rpc.Status`: the type and bytes of each. */
function detailsIn(status: Uint8Array): [string, number[]][] {
  const reader = new BinaryReader(status)
  const found: [string, number[]][] = []
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag()
    if (field !== 3) {
      reader.skip(wire, field)
      continue
    }
    const any = new BinaryReader(reader.bytes())
    let type = ''
    let value: number[] = []
    while (any.pos < any.len) {
      const [inner] = any.tag()
      if (inner === 1) type = any.string()
      else value = [...any.bytes()]
    }
    found.push([type, value])
  }
  return found
}
