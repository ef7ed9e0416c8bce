/** The ends of answers, read back as clients read them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fromBinary, toJson } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { ValueSchema } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { readTrailers } from '../testing/read-trailers.ts'
import { fromBase64, toBase64 } from './base64.ts'
import { CallFailure } from './call-failure.ts'
import { CODES, type ConnectCode } from './codes.ts'
import { endOfStream } from './connect-json.ts'
import { errorInfo, valueDetail } from './details.ts'
import { statusTrailers, trailerBlock } from './grpc-trailers.ts'
import { percentEncoded } from './percent.ts'

const code = fc.constantFrom(...(Object.keys(CODES) as ConnectCode[]))
/** Any text without half surrogates, which UTF-8 cannot carry. */
const text = fc.string({ unit: 'binary', maxLength: 40 })
const failure = fc
  .tuple(
    code,
    text,
    fc.array(
      fc.tuple(text, text).map(([reason, domain]) => errorInfo(reason, domain)),
      { maxLength: 3 }
    )
  )
  .map(([given, message, details]) => new CallFailure(given, message, details))

describe('the end of an answer in gRPC-Web', () => {
  it('is lines of printable ASCII, whatever the failure says', () =>
    fc.assert(
      fc.property(failure, (given) => {
        const trailers = readTrailers(trailerBlock(statusTrailers(given)))
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
    assert.deepEqual([...readTrailers(trailerBlock(statusTrailers()))], [['grpc-status', '0']]))

  it('leaves texts as they are that need no encoding', () => {
    assert.equal(percentEncoded("no item 'tea': try /shop?x=1"), "no item 'tea': try /shop?x=1")
    assert.equal(percentEncoded('100 % ä\n'), '100 %25 %C3%A4%0A')
  })
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

describe('base64', () => {
  it('is read as it was written, with and without padding and in both alphabets', () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const written = toBase64(bytes)
        assert.ok(!written.includes('='))
        const padded = written + '='.repeat((4 - (written.length % 4)) % 4)
        const ofUrl = written.replaceAll('+', '-').replaceAll('/', '_')
        for (const given of [written, padded, ofUrl]) assert.deepEqual(fromBase64(given), bytes)
      })
    ))

  for (const given of ['a', 'a b=', 'ab=c', '***', 'abcde'])
    it(`is not ${given}`, () => assert.equal(fromBase64(given), undefined))
})

describe('a detail', () => {
  it('is read by protobuf-es as it was written', () =>
    fc.assert(
      fc.property(fc.json(), (json) => {
        // An object of protobuf-es cannot have this name.
        fc.pre(!json.includes('__proto__'))
        const { value } = valueDetail(JSON.parse(json))
        const read = toJson(ValueSchema, fromBinary(ValueSchema, value))
        assert.deepEqual(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(JSON.parse(json))))
      })
    ))

  it('is left out by its maker if it is nested deeper than protobuf reads', () => {
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
    assert.throws(() => valueDetail(deep))
  })
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
