/** The fields of gRPC: status, timeout, message, metadata. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER, runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { fieldOf } from '../http2/hpack/field.ts'
import { isMetadataName, readMetadata, writeMetadata } from './metadata.ts'
import { readPercent, writePercent } from './percent.ts'
import { nameOfStatus, readStatus, statusOfHttp, statusOfReset } from './status.ts'
import { readStatusDetails, writeStatusDetails } from './status-details.ts'
import { readTimeout, writeTimeout } from './timeout.ts'

describe('grpc-timeout', () => {
  const written: readonly (readonly [number, string])[] = [
    [1, '1m'],
    [1.5, '1500u'],
    [0.000_01, '1u'],
    [30_000, '30000m'],
    [99_999_999, '99999999m'],
    [100_000_000, '100000S'],
    [1e12, '16666667M'],
    [1e15, '99999999H']
  ]
  for (const [milliseconds, field] of written)
    it(`of ${milliseconds} ms is ${field}`, () => assert.equal(writeTimeout(milliseconds), field))

  it('is read in every unit', () => {
    const read = { '1n': 1e-6, '7u': 0.007, '8m': 8, '3S': 3_000, '2M': 120_000, '1H': 3_600_000, '0m': 0 }
    for (const [field, milliseconds] of Object.entries(read))
      assert.equal(readTimeout(field), milliseconds, field)
  })

  it('is refused when it is none', () => {
    for (const field of ['', 'm', '1', '-1m', '1.5S', '123456789m', '1ms', '1 m', '٣m', '1h'])
      assert.equal(readTimeout(field), undefined, field)
  })

  it('never becomes shorter, and longer by no more than its unit', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 1e11, noNaN: true }), (milliseconds) => {
        const read = readTimeout(writeTimeout(milliseconds)) as number
        assert.ok(read >= milliseconds * (1 - 1e-9), `${milliseconds} became ${read}`)
        assert.ok(read <= milliseconds * 1.001 + 1, `${milliseconds} became ${read}`)
      }),
      { numRuns: runs(500) }
    )
  })
})

describe('grpc-message', () => {
  it('is read as it was written, whatever the characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER }), (text) => {
        const field = writePercent(text, 10_000)
        assert.match(field, /^[\x20-\x7e]*$/)
        // Half a character becomes U+FFFD.
        assert.equal(readPercent(field), Buffer.from(text).toString())
      }),
      { numRuns: runs(500) }
    )
  })

  it('encodes only what must be', () => {
    assert.equal(writePercent('a: b, "c" {d}~', 100), 'a: b, "c" {d}~')
    assert.equal(writePercent('100 % ü\n', 100), '100 %25 %C3%BC%0A')
  })

  it('is cut between two characters', () => {
    assert.equal(writePercent('aüü', 8), 'a%C3%BC')
    assert.equal(writePercent('abc', 2), 'ab')
  })

  it('that is not encoded as it should be is read as far as it is', () => {
    assert.equal(readPercent('50% of %zz %e4%C3%BC'), '50% of %zz \ufffdü')
  })
})

describe('grpc-status', () => {
  it('is read as a number that gRPC has', () => {
    const read = { '0': 0, '5': 5, '16': 16, '17': 2, '-1': 2, '': 2, '05': 2, '1e0': 2, OK: 2 }
    for (const [field, status] of Object.entries(read)) assert.equal(readStatus(field), status, field)
    assert.deepEqual([nameOfStatus(5), nameOfStatus(99)], ['NOT_FOUND', 'UNKNOWN'])
  })

  it('of answers without one follows from HTTP', () => {
    const read = { 400: 13, 401: 16, 403: 7, 404: 12, 429: 14, 502: 14, 503: 14, 504: 14, 200: 2, 500: 2 }
    for (const [http, status] of Object.entries(read)) assert.equal(statusOfHttp(Number(http)), status, http)
  })

  it('of streams that were reset follows from the code', () => {
    const read = { 0: 13, 1: 13, 2: 13, 5: 2, 7: 14, 8: 1, 11: 8, 12: 7, 13: 13, 14: 2, 4294967295: 2 }
    for (const [code, status] of Object.entries(read)) assert.equal(statusOfReset(Number(code)), status, code)
  })
})

describe('metadata', () => {
  const text = fc.string({ maxLength: 30 }).map((value) => value.trim())
  const bytes = fc.uint8Array({ maxLength: 30 })
  const name = fc
    .stringMatching(/^[0-9a-z_.-]{1,12}$/)
    .filter((one) => isMetadataName(one) && !one.endsWith('-bin'))

  it('is read as it was written', () => {
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.array(text, { minLength: 1, maxLength: 3 }), { maxKeys: 4 }),
        fc.dictionary(name, fc.array(bytes, { minLength: 1, maxLength: 3 }), { maxKeys: 4 }),
        (texts, binaries) => {
          const all = {
            ...texts,
            ...Object.fromEntries(Object.entries(binaries).map(([key, value]) => [`${key}-bin`, value]))
          }
          const fields: string[] = [':status', '200', 'grpc-status', '0', 'te', 'trailers']
          assert.equal(writeMetadata(fields, all), undefined)
          const received = []
          for (let at = 0; at < fields.length; at += 2)
            received.push(fieldOf(fields[at] as string, fields[at + 1] as string))
          assert.deepEqual({ ...readMetadata(received) }, { ...all })
        }
      ),
      { numRuns: runs(300) }
    )
  })

  it('of bytes is read with padding and without, also where a proxy has joined values', () => {
    const read = (value: string) => readMetadata([fieldOf('a-bin', value)])?.['a-bin']
    const one = new Uint8Array([1])
    assert.deepEqual(read('AQ=='), [one])
    assert.deepEqual(read('AQ'), [one])
    assert.deepEqual(read('AQ==, AQ'), [one, one])
    assert.deepEqual(read(''), [new Uint8Array()])
    assert.equal(read('A Q'), undefined)
    assert.equal(read('é'), undefined)
  })

  it('that cannot be sent is named', () => {
    const wrong = [
      [{ Big: ['x'] }, /name "Big"/],
      [{ 'grpc-x': ['x'] }, /name "grpc-x"/],
      [{ te: ['x'] }, /name "te"/],
      [{ ':path': ['x'] }, /name ":path"/],
      [{ a: ['ü'] }, /a: a character/],
      [{ a: ['x\ny'] }, /a: a character/],
      [{ a: [new Uint8Array()] }, /a: it must be text/],
      [{ 'a-bin': ['x'] }, /a-bin: it must be bytes/]
    ] as const
    for (const [metadata, reason] of wrong) assert.match(writeMetadata([], metadata) ?? '', reason)
  })

  it('has no name that objects have', () => {
    const metadata = readMetadata([fieldOf('__proto__', 'x'), fieldOf('constructor', 'y')])!
    assert.deepEqual(Object.keys(metadata), ['__proto__', 'constructor'])
    assert.equal(Object.getPrototypeOf(metadata), null)
  })
})

describe('grpc-status-details-bin', () => {
  it('is read as it was written', () => {
    const detail = fc
      .record({
        type: fc.stringMatching(/^[a-z.A-Z]{1,20}$/),
        value: fc.uint8Array({ maxLength: 300 })
      })
      .map((one) => ({ ...one }))
    fc.assert(
      fc.property(
        fc.nat(2 ** 31 - 1),
        fc.string({ unit: 'grapheme' }),
        fc.array(detail, { maxLength: 5 }),
        (code, message, details) => {
          const read = readStatusDetails(writeStatusDetails({ code, message, details }))
          assert.deepEqual(read, { code, message, details })
        }
      ),
      { numRuns: runs(300) }
    )
  })

  it('is what others write', () => {
    // Of Python’s googleapis-common-protos: code 5, message 'gone', an ErrorInfo with the reason 'NO_ORDER'.
    const bytes = Buffer.concat([
      Buffer.from('0805', 'hex'),
      Buffer.from('1204', 'hex'),
      Buffer.from('gone'),
      Buffer.from('1a36', 'hex'),
      Buffer.from('0a28', 'hex'),
      Buffer.from('type.googleapis.com/google.rpc.ErrorInfo'),
      Buffer.from('120a', 'hex'),
      Buffer.from('0a084e4f5f4f52444552', 'hex')
    ])
    const value = new Uint8Array(Buffer.from('0a084e4f5f4f52444552', 'hex'))
    const status = { code: 5, message: 'gone', details: [{ type: 'google.rpc.ErrorInfo', value }] }
    assert.deepEqual(readStatusDetails(bytes), status)
    assert.deepEqual(Buffer.from(writeStatusDetails(status)), bytes)
  })

  it('is read or refused, whatever comes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const read = readStatusDetails(bytes)
        assert.ok(read === undefined || Array.isArray(read.details))
      }),
      { numRuns: runs(2_000) }
    )
    assert.equal(
      readStatusDetails(Uint8Array.of(0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)),
      undefined
    )
  })
})
